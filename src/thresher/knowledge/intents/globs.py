"""Which files a rule applies to: the patterns of `.mdc` and `*.instructions.md`.

A pattern with a slash is relative to the project's folder, one without it fits a name in any folder. `*` and `?` stop
at slashes, `**` does not, `{a,b}` are alternatives, `[ab]` and `[!ab]` are sets, and a pattern after `!` excludes
files.

Invariant: pure; the time grows at most with the length of the pattern times that of the path.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final

from thresher.knowledge.intents.models import Pack

_MOST_PATTERNS: Final = 200
_MOST_ALTERNATIVES: Final = 100
_LONGEST: Final = 500
_LONGEST_PATH: Final = 4_096
_HOMES: Final = {"cursor": ".cursor", "copilot": ".github"}


def applies(pack: Pack, files: Sequence[str]) -> bool:
    """Return whether a pack's rules apply by themselves: always, or because of a file.

    Args:
        pack: The pack; its `always` and `globs` count.
        files: Paths that the message is about: absolute, or relative to the project's folder, with either slash.
    """
    if pack.always:
        return True
    if not pack.globs or not files:
        return False
    wanted = [glob for glob in pack.globs if not glob.startswith("!")]
    unwanted = [glob[1:] for glob in pack.globs if glob.startswith("!")]
    root = _project_of(pack)
    paths = [_inside(file, root) for file in files]
    return any(
        any(fits(glob, path) for glob in wanted) and not any(fits(glob, path) for glob in unwanted) for path in paths
    )


def fits(glob: str, path: str) -> bool:
    """Return whether a path with forward slashes fits a pattern."""
    steps = tuple(path[:_LONGEST_PATH].strip("/").split("/"))
    return any(_steps_fit(pattern, steps) for pattern in _patterns(glob))


def globs_of(value: str | Sequence[str]) -> tuple[str, ...]:
    """Return patterns as written: from a list, or one text with commas between them outside of braces."""
    texts = [value] if isinstance(value, str) else list(value)
    parts = [part.strip().strip("\"'").strip() for text in texts for part in _parts(text, ",")]
    return tuple(dict.fromkeys(part for part in parts if 0 < len(part) <= _LONGEST))[:_MOST_PATTERNS]


def _project_of(pack: Pack) -> str:
    """Return the project's folder, by the place of its rules; empty if that does not say."""
    home = _HOMES.get(pack.form, "")
    return next((parent.parent.as_posix() for parent in pack.path.parents if parent.name == home), "")


def _inside(file: str, root: str) -> str:
    path = file.replace("\\", "/")
    if root and path.startswith(f"{root}/"):
        return path[len(root) + 1 :]
    return path.removeprefix("./")


@lru_cache(maxsize=1_000)
def _patterns(glob: str) -> tuple[tuple[str, ...], ...]:
    """Return the alternatives of a pattern, each as its steps."""
    found: list[tuple[str, ...]] = []
    for text in _alternatives(glob.replace("\\", "/")):
        pattern = text.removeprefix("./")
        if pattern.endswith("/"):
            pattern += "**"
        steps = tuple(step for step in pattern.strip("/").split("/") if step)
        if steps:
            found.append(steps if "/" in pattern else ("**", *steps))
    return tuple(found)


def _alternatives(glob: str) -> list[str]:
    """Return a pattern without braces for each choice, at most 100."""
    found, waiting = list[str](), [glob]
    while waiting and len(found) + len(waiting) <= _MOST_ALTERNATIVES:
        text = waiting.pop(0)
        start = text.find("{")
        end = _closing(text, start)
        if start < 0 or end < 0:
            found.append(text)
            continue
        waiting += [f"{text[:start]}{part}{text[end + 1 :]}" for part in _parts(text[start + 1 : end], ",")]
    return found


def _closing(text: str, start: int) -> int:
    depth = 0
    for place in range(max(start, 0), len(text)):
        depth += {"{": 1, "}": -1}.get(text[place], 0)
        if text[place] == "}" and depth == 0:
            return place
    return -1


def _parts(text: str, mark: str) -> Iterator[str]:
    """Yield the parts between marks outside of braces."""
    depth, begin = 0, 0
    for place, character in enumerate(text):
        depth = max(0, depth + {"{": 1, "}": -1}.get(character, 0))
        if character == mark and depth == 0:
            yield text[begin:place]
            begin = place + 1
    yield text[begin:]


def _steps_fit(pattern: tuple[str, ...], steps: tuple[str, ...]) -> bool:
    """Match step by step, keeping all positions in the pattern that the path so far can reach."""
    places = _opened({0}, pattern)
    for step in steps:
        after = {place if pattern[place] == "**" else place + 1 for place in places if _fits(pattern, place, step)}
        places = _opened(after, pattern)
        if not places:
            return False
    return len(pattern) in places


def _fits(pattern: tuple[str, ...], place: int, step: str) -> bool:
    return place < len(pattern) and (pattern[place] == "**" or _step_fits(pattern[place], step))


def _opened(places: set[int], pattern: tuple[str, ...]) -> set[int]:
    """Return the positions, and those behind a `**`, which can match nothing."""
    found = set(places)
    for place in sorted(places):
        while place < len(pattern) and pattern[place] == "**":
            place += 1
            found.add(place)
    return found


def _step_fits(pattern: str, name: str) -> bool:
    """Match one step with `*`, `?` and sets; a star that fails takes one more character, each position once."""
    at, place, star, mark = 0, 0, -1, 0
    while place < len(name):
        width = _one(pattern, at, name[place]) if at < len(pattern) and pattern[at] != "*" else 0
        if width:
            at, place = at + width, place + 1
        elif at < len(pattern) and pattern[at] == "*":
            star, mark, at = at, place, at + 1
        elif star >= 0:
            mark += 1
            at, place = star + 1, mark
        else:
            return False
    return not pattern[at:].strip("*")


def _one(pattern: str, at: int, character: str) -> int:
    """Return how much of the pattern stands for this character; 0 if it does not fit."""
    if pattern[at] == "?":
        return 1
    if pattern[at] == "[" and (end := pattern.find("]", at + 2)) > 0:
        inside = pattern[at + 1 : end]
        denied = inside[:1] in ("!", "^")
        return (end - at + 1) if _in_set(inside[denied:], character) != denied else 0
    return 1 if pattern[at] == character else 0


def _in_set(inside: str, character: str) -> bool:
    at = 0
    while at < len(inside):
        if inside[at + 1 : at + 2] == "-" and at + 2 < len(inside):
            if inside[at] <= character <= inside[at + 2]:
                return True
            at += 3
        else:
            if inside[at] == character:
                return True
            at += 1
    return False
