"""What the guard says of any text, whatever the dialect."""

from __future__ import annotations

import pytest

from thresher.sqlguard import DIALECTS, Dialect, Limits, Place, Verdict, judge


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    ("sql", "rule"),
    [
        ("", "empty"),
        (" \n\t ", "empty"),
        ("SELECT '\0'", "syntax"),
        ("SELECT '\ud800'", "syntax"),
        ("SELECT 1 " * 20_000, "too_long"),
    ],
    ids=["nothing", "blanks", "NUL", "surrogate", "long"],
)
def test_a_text_that_no_grammar_reads_has_a_verdict(dialect: Dialect, sql: str, rule: str) -> None:
    """No text raises: it is refused under a rule."""
    verdict = judge(sql, dialect)

    assert (verdict.allowed, verdict.rule) == (False, rule)
    assert verdict.reason


def test_a_place_is_counted_in_characters() -> None:
    """Line and column are what an editor shows."""
    verdict = judge("SELECT 'ä',\n  'ö\0'", "sqlite")

    assert verdict.place == Place(offset=16, line=2, column=5, text="\\0")


def test_the_limit_of_characters_is_the_callers() -> None:
    """A shorter limit refuses a shorter text."""
    verdict = judge("SELECT 1", "postgresql", limits=Limits(characters=7))

    assert verdict == Verdict(
        False, "too_long", "The statement has 8 characters; at most 7 are read.", "Ask in several smaller statements."
    )
