"""Only patterns that could match are tried, which does not change the result."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from thresher.knowledge.documents.sources.patterns import patterns_of

PIECES = st.sampled_from(["*", "?", "a", "b", "/", "**", "**/", "[ab]", "[!a]", "!", "\\a", ".c", " "])
LINES = st.lists(st.lists(PIECES, min_size=1, max_size=5).map("".join), min_size=1, max_size=4)
PATHS = st.lists(st.text(alphabet="ab.c", min_size=1, max_size=3), min_size=1, max_size=4).map("/".join)


@given(LINES, PATHS, st.booleans())
def test_the_last_pattern_that_fits_decides(lines: list[str], path: str, folder: bool) -> None:
    """As if each were tried, from the last to the first."""
    rules = patterns_of("\n".join(lines).encode())

    fitting = [pattern.is_exclude for pattern in rules.patterns if pattern.matches(path.encode(), folder)]

    assert rules.decide(path, folder=folder) == (fitting[-1] if fitting else None)


@given(LINES, PATHS)
def test_a_folder_stands_for_what_is_in_it(lines: list[str], path: str) -> None:
    """A pattern that matches a folder above a file matches the file."""
    rules = patterns_of("\n".join(lines).encode())
    steps = path.split("/")
    ways = [("/".join(steps[: count + 1]), count + 1 < len(steps)) for count in range(len(steps))]

    fitting = [
        pattern.is_exclude
        for pattern in rules.patterns
        if any(pattern.matches(way.encode(), folder) for way, folder in ways)
    ]

    assert rules.reach(path) == (fitting[-1] if fitting else False)


@given(st.binary(max_size=300))
def test_no_ignore_file_breaks_it(content: bytes) -> None:
    """Whatever it contains, paths are decided."""
    assert patterns_of(content).decide("docs/a.md", folder=False) in (True, False, None)
