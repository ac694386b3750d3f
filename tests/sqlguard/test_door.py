"""The guard's verdicts on any text, in every dialect."""

from __future__ import annotations

import time

import pytest

from thresher.sqlguard import DIALECTS, Dialect, SqlLocation, StatementLimits, Verdict, judge


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
    """Line and column match those of an editor."""
    verdict = judge("SELECT 'ä',\n  'ö\0'", "sqlite")

    assert verdict.place == SqlLocation(offset=16, line=2, column=5, text="\\0")


def test_the_limit_of_characters_is_the_callers() -> None:
    """A shorter limit refuses a shorter text."""
    verdict = judge("SELECT 1", "postgresql", limits=StatementLimits(characters=7))

    assert verdict == Verdict(
        False, "too_long", "The statement has 8 characters; the limit is 7.", "Split it into smaller statements."
    )


@pytest.mark.parametrize(
    ("dialect", "call"),
    [("sqlite", "zeroblob(1)"), ("sqlite", "zeroblob(zeroblob(1))"), ("mysql", "space(1)"), ("oracle", "lpad(1,1)")],
)
def test_many_calls_that_make_values_are_judged_in_one_pass(dialect: Dialect, call: str) -> None:
    """The time for 100 kB of them is linear in their number, not quadratic."""
    started = time.process_time()

    judge(f"select {', '.join([call] * (90_000 // (len(call) + 2)))}", dialect)

    assert time.process_time() - started < 3
