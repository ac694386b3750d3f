"""Which paths a repository takes: patterns as in `.gitignore`.

Invariant: a pattern without a slash fits a name in any folder, one with a slash is meant from the root, and the last
pattern that fits decides, so that `!` takes back. Patterns that could take long to match are not used.
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


class Rules:
    """Patterns of one file, or of one list.

    Most end in letters that most paths do not end in; one comparison with all of these endings spares trying them.

    Args:
        patterns: In order.
    """

    def __init__(self, patterns: Iterable[Pattern] = ()) -> None:
        self.patterns = tuple(patterns)
        endings = [_ending(pattern.pattern) for pattern in self.patterns]
        self._endings = tuple(ending for ending in endings if ending)
        self._open = tuple(pattern for pattern, ending in zip(self.patterns, endings, strict=True) if not ending)

    def decide(self, path: str, *, folder: bool) -> bool | None:
        """True where the last pattern that fits takes the path, False where it takes it back, None where none fits."""
        name = path.encode("utf-8", "surrogateescape")
        for pattern in reversed(self.patterns if name.endswith(self._endings) else self._open):
            if pattern.matches(name, folder):
                return pattern.is_exclude
        return None

    def reach(self, path: str) -> bool:
        """Whether a file is taken, by itself or by a folder above it."""
        steps = path.split("/")
        ways = [("/".join(steps[: count + 1]), count + 1 < len(steps)) for count in range(len(steps))]
        names = [(way.encode("utf-8", "surrogateescape"), folder) for way, folder in ways]
        ended = any(name.endswith(self._endings) for name, _ in names)
        for pattern in reversed(self.patterns if ended else self._open):
            if any(pattern.matches(name, folder) for name, folder in names):
                return pattern.is_exclude
        return False


class Selection:
    """The files that a person wants of a repository.

    Args:
        include: Patterns of the files to take; empty for all.
        exclude: Patterns of files to leave out, which win.

    Raises:
        InvalidInput: A pattern is broken, or too wild.
    """

    def __init__(self, include: Iterable[str] = (), exclude: Iterable[str] = ()) -> None:
        self._include = _strict(include)
        self._exclude = _strict(exclude)

    def judge(self, path: str) -> Skipped | None:
        """Why a file is left out; None where it is wanted."""
        if self._include.patterns and not self._include.reach(path):
            return Skipped(path, "excluded", "No pattern includes it.")
        if self._exclude.patterns and self._exclude.reach(path):
            return Skipped(path, "excluded", "A pattern excludes it.")
        return None

    def passes_over(self, folder: str) -> bool:
        """Whether nothing below a folder can be wanted."""
        return self._exclude.reach(f"{folder}/") if self._exclude.patterns else False


def rules_of(content: bytes) -> Rules:
    """The patterns of an ignore file; those that are broken, too wild, or too many are passed over."""
    lines = read_ignore_patterns(io.BytesIO(content.removeprefix(b"\xef\xbb\xbf")))
    return Rules(islice(_compiled(lines), _MOST))


def _ending(pattern: bytes) -> bytes:
    """What every path ends in that a pattern fits: what stands behind its last wildcard; empty where nothing does."""
    return _WILD.split(pattern.removeprefix(b"!").rstrip(b"/"))[-1].lstrip(b"/")


def _compiled(lines: Iterable[bytes]) -> Iterator[Pattern]:
    for line in lines:
        if _is_tame(line):
            try:
                yield Pattern(line)
            except (MalformedPattern, re.error):
                continue


def _strict(globs: Iterable[str]) -> Rules:
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
    return Rules(patterns)


def _is_tame(line: bytes) -> bool:
    """Whether no path makes it slow: each star in a step multiplies the time."""
    steps = [re.sub(rb"\*+", b"*", step) for step in line.split(b"/")]
    stars = [step.count(b"*") for step in steps]
    return len(line) <= _LONGEST and max(stars) <= _MOST_STARS and sum(stars) <= _MOST_WILD
