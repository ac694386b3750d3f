"""Path patterns as in `.gitignore`, which select the files of a repository.

Invariant: a pattern without a slash matches a name in any folder, one with a slash is relative to the root, and the
last match decides, so that `!` re-includes. Patterns that could take long to match are not used.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final

from dulwich.ignore import Pattern, read_ignore_patterns
from dulwich.wildmatch import MalformedPattern

from thresher.core import InvalidInput
from thresher.knowledge.documents.models import Skipped

_LONGEST: Final = 500
_MOST: Final = 2_000
_WILD: Final = re.compile(rb"[*?\[\]\\]")
_MOST_STARS: Final = 3
_MOST_WILD: Final = 8


class PathPatterns:
    """Patterns of one file, or of one list.

    Most patterns end in letters that most paths do not end in; one comparison with all these endings saves matching
    them.

    Args:
        patterns: Patterns in order.
    """

    def __init__(self, patterns: Iterable[Pattern] = ()) -> None:
        self.patterns = tuple(patterns)
        endings = [_ending(pattern.pattern) for pattern in self.patterns]
        self._endings = tuple(ending for ending in endings if ending)
        self._open = tuple(pattern for pattern, ending in zip(self.patterns, endings, strict=True) if not ending)

    def decide(self, path: str, *, folder: bool) -> bool | None:
        """True if the last matching pattern takes the path, False if it re-includes it, None if none matches."""
        name = path.encode("utf-8", "surrogateescape")
        for pattern in reversed(self.patterns if name.endswith(self._endings) else self._open):
            if pattern.matches(name, folder):
                return pattern.is_exclude
        return None

    def reach(self, path: str) -> bool:
        """Whether a file is matched, by itself or by a folder above it."""
        steps = path.split("/")
        ways = [("/".join(steps[: count + 1]), count + 1 < len(steps)) for count in range(len(steps))]
        names = [(way.encode("utf-8", "surrogateescape"), folder) for way, folder in ways]
        ended = any(name.endswith(self._endings) for name, _ in names)
        for pattern in reversed(self.patterns if ended else self._open):
            if any(pattern.matches(name, folder) for name, folder in names):
                return pattern.is_exclude
        return False


class PathSelection:
    """The files of a repository that a person selects.

    Args:
        include: Patterns of the files to take; empty for all.
        exclude: Patterns of files to leave out, which take precedence.

    Raises:
        InvalidInput: A pattern is not valid, or too complex.
    """

    def __init__(self, include: Iterable[str] = (), exclude: Iterable[str] = ()) -> None:
        self._include = _strict(include)
        self._exclude = _strict(exclude)

    def exclusion(self, path: str) -> Skipped | None:
        """Why a file is left out; None if it is selected."""
        if self._include.patterns and not self._include.reach(path):
            return Skipped(path, "excluded", "No pattern includes it.")
        if self._exclude.patterns and self._exclude.reach(path):
            return Skipped(path, "excluded", "A pattern excludes it.")
        return None

    def excludes_folder(self, folder: str) -> bool:
        """Whether everything below a folder is excluded."""
        return self._exclude.reach(f"{folder}/") if self._exclude.patterns else False


def patterns_of(content: bytes) -> PathPatterns:
    """The patterns of an ignore file; patterns that are not valid, too complex, or too many are ignored."""
    lines = read_ignore_patterns(io.BytesIO(content.removeprefix(b"\xef\xbb\xbf")))
    return PathPatterns(islice(_compiled(lines), _MOST))


def _ending(pattern: bytes) -> bytes:
    """The text after the last wildcard, which every matching path ends in; may be empty."""
    return _WILD.split(pattern.removeprefix(b"!").rstrip(b"/"))[-1].lstrip(b"/")


def _compiled(lines: Iterable[bytes]) -> Iterator[Pattern]:
    for line in lines:
        if _is_fast(line):
            try:
                yield Pattern(line)
            except (MalformedPattern, re.error):
                continue


def _strict(globs: Iterable[str]) -> PathPatterns:
    patterns: list[Pattern] = []
    for glob in globs:
        line = glob.strip().removeprefix("./").encode()
        made = tuple(_compiled([line])) if line else ()
        if not made or made[0].is_empty:
            raise InvalidInput(
                f"The pattern {glob!r} cannot be used.",
                hint="Patterns are those of .gitignore: `*.md`, `docs/`, `src/**/*.py`, `!docs/old/`.",
            )
        patterns += made
    return PathPatterns(patterns)


def _is_fast(line: bytes) -> bool:
    """Whether the pattern is fast for every path: each star in a step multiplies the time."""
    steps = [re.sub(rb"\*+", b"*", step) for step in line.split(b"/")]
    stars = [step.count(b"*") for step in steps]
    return len(line) <= _LONGEST and max(stars) <= _MOST_STARS and sum(stars) <= _MOST_WILD
