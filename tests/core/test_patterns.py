"""Patterns that are compiled when they are first used."""

from __future__ import annotations

import re

import pytest

from thresher.core import LazyPattern


def test_it_matches_as_a_compiled_pattern_does() -> None:
    """Each method, with its further arguments and the flags."""
    lazy, compiled = LazyPattern(r"a(b+)", re.I), re.compile(r"a(b+)", re.I)
    text = "xAbb ab"

    assert [found.span() for found in lazy.finditer(text)] == [found.span() for found in compiled.finditer(text)]
    assert lazy.findall(text) == compiled.findall(text)
    assert lazy.split(text, 1) == compiled.split(text, 1)
    assert lazy.sub("-", text, count=1) == compiled.sub("-", text, count=1)
    assert (bool(lazy.match(text)), bool(lazy.fullmatch("ABB"))) == (False, True)
    assert (found := lazy.search(text, 3)) is not None
    assert found.group(1) == "b"


def test_a_broken_expression_is_met_at_its_first_use() -> None:
    """Making the pattern compiles nothing."""
    broken = LazyPattern("(")

    with pytest.raises(re.error):
        broken.search("")


def test_it_has_no_other_attributes() -> None:
    """A name that no pattern has is an error, and does not compile the expression."""
    with pytest.raises(AttributeError):
        getattr(LazyPattern("("), "serch")  # noqa: B009 - as a misspelt call does
