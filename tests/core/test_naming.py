"""Names that people give to what they add, and places in a text."""

from __future__ import annotations

import pytest

from thresher.core import InvalidInput, Lines, checked_name


@pytest.mark.parametrize("name", ["shop", "Überblick", "a-b.c_d", "7", "x" * 63])
def test_a_name_that_fits_is_given_back(name: str) -> None:
    """As it was written."""
    assert checked_name(name, "a connection") == name


@pytest.mark.parametrize("name", ["", "-a", "_a", ".a", "a b", "a/b", "a\n", "x" * 64], ids=repr)
def test_what_is_no_name_is_refused_with_what_one_is(name: str) -> None:
    """The thing is called by its name, and what was written is shown in part."""
    with pytest.raises(InvalidInput, match="is no name for a connection") as refused:
        checked_name(name, "a connection")

    assert "up to 63 letters" in refused.value.hint


@pytest.mark.parametrize(("offset", "place"), [(0, (1, 1)), (2, (1, 3)), (3, (2, 1)), (4, (3, 1)), (6, (3, 3))])
def test_places_are_counted_from_one(offset: int, place: tuple[int, int]) -> None:
    """A line feed belongs to the line that it ends."""
    assert Lines("ab\n\ncd").at(offset) == place
