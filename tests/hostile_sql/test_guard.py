"""The guard alone, without a server: no hostile idea passes in any disguise, and plain reads pass in all of theirs."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from tests.hostile_sql.corpus import ENGINES, ideas
from tests.hostile_sql.disguises import EVERYWHERE, disguised
from thresher.sqlguard import Dialect, judge

READS: Final = [
    line for line in Path(__file__).with_name("reads.tsv").read_text(encoding="utf-8").splitlines() if line[0] != "#"
]
SAME: Final = (
    *("as it is", "in capitals", "in mixed case", "over many lines", "with tabs and form feeds"),
    *("with comments for blanks", "with line comments", "behind a comment", "behind a line comment"),
    *("with comments that hold statements", "with a semicolon", "with blanks around"),
)
"""Disguises that do not change the meaning."""


def test_there_are_enough_ideas() -> None:
    """Of each engine, in addition to the general ones."""
    counts = {engine: len(ideas(engine)) for engine in ENGINES}

    assert min(counts.values()) > 120
    assert len({idea.sql for engine in ENGINES for idea in ideas(engine)}) > 500


@pytest.mark.parametrize("engine", ENGINES)
def test_no_idea_passes_in_any_disguise(engine: Dialect) -> None:
    """Whatever the statement is wrapped in, and wherever the function is called."""
    hostile = [idea for idea in ideas(engine) if not idea.allowed]

    passed = [
        (idea.harm, how, sql) for idea in hostile for how, sql in disguised(idea, engine) if judge(sql, engine).allowed
    ]

    assert passed == []


@pytest.mark.parametrize("engine", ENGINES)
def test_a_control_that_only_looks_hostile_passes(engine: Dialect) -> None:
    """A guard that refuses everything would pass the previous test."""
    refused = [
        (idea.sql, verdict.reason)
        for idea in ideas(engine)
        if idea.allowed and not (verdict := judge(idea.filled(), engine)).allowed
    ]

    assert refused == []


@pytest.mark.parametrize("engine", ENGINES)
def test_plain_reads_pass_however_they_are_written(engine: Dialect) -> None:
    """Case, blanks and comments change nothing."""
    refused = [
        (sql, how, verdict.reason)
        for sql in READS
        for how in SAME
        if not (verdict := judge(EVERYWHERE[how](sql), engine)).allowed
    ]

    assert refused == []


@pytest.mark.parametrize("engine", ENGINES)
def test_a_refusal_says_which_rule_and_where(engine: Dialect) -> None:
    """Always a rule; a location, if any, lies inside the text."""
    for idea in ideas(engine):
        verdict = judge(idea.filled(), engine)
        if verdict.allowed:
            continue
        assert verdict.rule, idea.sql
        assert verdict.reason, idea.sql
        if verdict.place is not None:
            assert 0 <= verdict.place.offset <= len(idea.filled()), idea.sql
