"""Proves that tenant A sees nothing of tenant B, even where a query forgot its condition.

Two tools: `assert_sealed_off` goes at every tenant table with bare SQL; `without_tenant_conditions` takes
`tenant_id = ...` out of every statement of a `Database`, SQLAlchemy's and the driver's alike, so that a package can
run its own query paths that way and assert that the answers stay the same.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import psycopg
import pytest
from sqlalchemy import event
from sqlalchemy.exc import ProgrammingError

from tests.support.rows import sample_row
from thresher.core import Tenant
from thresher.store import Database
from thresher.store.tables import APPEND_ONLY, TENANT_TABLES, metadata

_CONDITION = re.compile(
    r'((?:"?\w+"?\.)?"?tenant_id"?\s*=\s*(?:%\(\w+\)s|%s|(?:"?\w+"?\.)?"?\w+"?|\d+)(?:::\w+)?)', re.I
)


@dataclass(slots=True)
class Rewritten:
    """What `without_tenant_conditions` did.

    Attributes:
        statements: The statements that lost a condition, as they were run.
    """

    statements: list[str] = field(default_factory=list)

    def rewrite(self, query: Any) -> Any:
        """Make every condition on the tenant hold for all rows; its parameters stay in use."""
        text = query.decode() if isinstance(query, bytes) else query
        if not isinstance(text, str) or not re.search(r"\bwhere\b|\bon\b", text, re.I):
            return query
        changed = _CONDITION.sub(r"(\1 or true)", text)
        if changed != text:
            self.statements.append(changed)
        return changed


@asynccontextmanager
async def without_tenant_conditions(database: Database) -> AsyncIterator[Rewritten]:
    """Within the block every statement of the database runs without its conditions on `tenant_id`."""
    rewritten = Rewritten()

    class Cursor(psycopg.AsyncCursor[Any]):
        async def execute(self, query: Any, params: Any = None, **options: Any) -> Any:
            return await super().execute(rewritten.rewrite(query), params, **options)

        async def executemany(self, query: Any, params_seq: Any, **options: Any) -> Any:
            return await super().executemany(rewritten.rewrite(query), params_seq, **options)

    def use(connection: Any, _record: Any) -> None:
        connection.driver_connection.cursor_factory = Cursor

    engine = database._engine
    await engine.dispose()
    event.listen(engine.sync_engine, "connect", use)
    try:
        yield rewritten
    finally:
        event.remove(engine.sync_engine, "connect", use)
        await engine.dispose()


async def assert_sealed_off(database: Database, tenant: Tenant, other: Tenant) -> None:
    """As `tenant`, bare SQL on every tenant table reads, changes and adds nothing of `other`'s."""
    before = await fingerprint(database, other)
    for table in TENANT_TABLES:
        async with database.transaction(tenant) as connection:
            seen = (await connection.exec_driver_sql(f"select distinct tenant_id from {table}")).scalars().all()
            assert set(seen) <= {tenant.id}, f"{table}: rows of {seen} are seen"
            if table not in APPEND_ONLY:
                await connection.exec_driver_sql(f"update {table} set tenant_id = tenant_id")
                await connection.exec_driver_sql(
                    f"delete from {table} where tenant_id = {other.id} or tenant_id <> {tenant.id}"
                )
        if table in APPEND_ONLY:
            await _assert_no_change(database, tenant, table)
        await _assert_no_insert(database, tenant, other, table)
    assert await fingerprint(database, other) == before


async def _assert_no_change(database: Database, tenant: Tenant, table: str) -> None:
    for statement in (f"update {table} set tenant_id = tenant_id", f"delete from {table}", f"truncate {table}"):
        changed, problem = 0, "only moves on"
        try:
            async with database.transaction(tenant) as connection:
                changed = (await connection.exec_driver_sql(statement)).rowcount
        except ProgrammingError as error:
            problem = str(error)
        assert changed == 0, statement
        assert re.search(r"permission denied|only moves on", problem), problem


async def _assert_no_insert(database: Database, tenant: Tenant, other: Tenant, table: str) -> None:
    statement = metadata.tables[table].insert().values(**sample_row(metadata.tables[table], other))
    with pytest.raises(ProgrammingError, match="row-level security"):
        async with database.transaction(tenant) as connection:
            await connection.execute(statement)


async def fingerprint(database: Database, tenant: Tenant) -> dict[str, str]:
    """A digest of all rows of a tenant, table by table."""
    digests: dict[str, str] = {}
    async with database.transaction(tenant) as connection:
        for table in TENANT_TABLES:
            query = f"select coalesce(md5(string_agg(t::text, '|' order by t::text)), '') from {table} t"
            digests[table] = str((await connection.exec_driver_sql(query)).scalar_one())
    return digests
