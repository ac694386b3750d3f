"""The guard's verdicts against the engines' own, on random statements.

What the guard allows is run in a read-only transaction of a role that could write: it may fail as nonsense, but not as
a write, and must leave no trace. The statements are the same every time, so a failure comes from a change;
`FUZZ_ROUNDS` makes a longer, random run.
"""

from __future__ import annotations

import os
from typing import Final

from hypothesis import HealthCheck, given, settings

from tests.hostile_sql.engines import Live
from tests.hostile_sql.grammar import statements
from tests.hostile_sql.referees import referee
from thresher.sqlguard import judge

LONGER: Final = os.environ.get("FUZZ_ROUNDS", "")
ROUNDS: Final = int(LONGER or 250)
AT_ONCE: Final = 10
"""Statements per round; 10,000 with all rounds and four engines."""


async def test_what_the_guard_lets_through_is_no_write_to_the_engine(live: Live) -> None:
    """And many are allowed, otherwise nothing would be compared."""
    before, allowed, wrong = await live.traces(), 0, list[tuple[str, str]]()

    with referee(live) as ask:

        @settings(
            max_examples=ROUNDS,
            deadline=None,
            derandomize=not LONGER,
            database=None,
            suppress_health_check=list(HealthCheck),
        )
        @given(statements(live.name, AT_ONCE))
        def compare(drawn: list[str]) -> None:
            nonlocal allowed
            let_through = [sql for sql in drawn if judge(sql, live.dialect).allowed]
            allowed += len(let_through)
            wrong.extend((sql, words) for sql in let_through if (words := ask(sql)))

        compare()

    assert wrong == []
    assert allowed > ROUNDS * AT_ONCE / 5
    assert await live.traces() == before
