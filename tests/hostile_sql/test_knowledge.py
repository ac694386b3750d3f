"""The guard with knowledge of the live database: user functions behind names that look like columns."""

from __future__ import annotations

from typing import Final

import pytest

from tests.hostile_sql.corpus import ideas
from tests.hostile_sql.disguises import disguised
from tests.hostile_sql.engines import Live
from thresher.sqlguard import judge

AS_FIELDS: Final = (
    "SELECT i.wipe_row FROM item i",
    "SELECT (i).wipe_row FROM item i",
    "SELECT wipe_row(i) FROM item i",
    "SELECT (SELECT i.wipe_row) FROM item AS i",
    'SELECT i."wipe_row" FROM item i',
    'SELECT I.WIPE_ROW FROM "item" I',
)


@pytest.mark.parametrize("sql", AS_FIELDS)
async def test_a_users_function_is_refused_where_it_is_called_as_a_column(postgresql: Live, sql: str) -> None:
    """PostgreSQL reads `row.function` as `function(row)`."""
    verdict = judge(sql, "postgresql", await postgresql.connector.knowledge())

    assert not verdict.allowed


async def test_a_column_that_bears_no_functions_name_is_read(postgresql: Live) -> None:
    """That rule does not affect plain columns."""
    verdict = judge("SELECT i.name, (i).id FROM item i", "postgresql", await postgresql.connector.knowledge())

    assert verdict.allowed


async def test_what_is_learnt_lets_nothing_more_pass(live: Live) -> None:
    """The live catalog narrows the shipped lists; only what depends on a session setting is decided."""
    knowledge = await live.connector.knowledge()

    passed = [
        sql
        for idea in ideas(live.name)
        if not idea.allowed and "depends on a setting" not in idea.harm
        for _, sql in list(disguised(idea, live.name))[:3]
        if judge(sql, live.dialect, knowledge).allowed
    ]

    assert passed == []
