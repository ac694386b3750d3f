"""PostgreSQL 15 as packaged by Debian, with extensions that connect elsewhere, look inside or run SQL from text."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

import psycopg
import pytest
from sqlalchemy import make_url

from tests.support.external import DEBIAN_15, ExternalServer, external_server
from thresher.connectors import open_connector
from thresher.sqlguard import Knowledge, judge

pytestmark = pytest.mark.skipif(not DEBIAN_15.exists(), reason="Debian's PostgreSQL 15 is not installed")

REACHING: Final = (
    *("dblink", "postgres_fdw", "file_fdw", "adminpack", "pageinspect", "pg_buffercache", "pg_prewarm", "pgstattuple"),
    *("pg_freespacemap", "pg_visibility", "pg_stat_statements", "amcheck", "tablefunc", "xml2", "lo", "pgrowlocks"),
    *("pg_surgery", "pg_walinspect", "old_snapshot", "autoinc", "insert_username", "moddatetime", "refint", "sslinfo"),
)
COMPUTING: Final = (
    "citext",
    "hstore",
    "unaccent",
    "fuzzystrmatch",
    "pg_trgm",
    "uuid-ossp",
    "intarray",
    "ltree",
    "cube",
)
STATEMENTS: Final = (
    "SELECT * FROM dblink('dbname=postgres', 'DELETE FROM item RETURNING id') AS t (id int)",
    "SELECT public.dblink_exec('dbname=postgres', 'DELETE FROM item')",
    "SELECT dblink_connect('c', 'dbname=postgres')",
    "SELECT \"dblink_connect_u\"('dbname=postgres')",
    "SELECT pg_file_write('x', 'y', false)",
    "SELECT pg_catalog.pg_file_unlink('x')",
    "SELECT get_raw_page('item', 0)",
    "SELECT pg_prewarm('item')",
    "SELECT heap_force_kill('item'::regclass, ARRAY['(0,1)']::tid[])",
    "SELECT * FROM crosstab('DELETE FROM item RETURNING 1, 1, 1') AS t (a int, b int)",
    "SELECT * FROM connectby('item', 'id', 'id', '1', 0) AS t (a int, b int, c int)",
    "SELECT * FROM xpath_table('id', 'x', 'item', '/', 'true') AS t (a int)",
    "SELECT pg_stat_statements_reset()",
    "SELECT lo_manage()",
    "SELECT lo_oid(1::lo)",
    "SELECT bt_index_check('item_pkey')",
    "SELECT postgres_fdw_disconnect_all()",
    "SELECT * FROM pgrowlocks('item')",
    "SELECT xslt_process('<a/>', '/etc/passwd')",
)


@pytest.fixture(scope="module")
async def debian(open_folder: Path) -> AsyncIterator[ExternalServer]:
    """A server with all of them."""
    async with external_server(15, open_folder / "contrib") as server:
        await server.admin("create table item (id int primary key, name text)", "insert into item values (1, 'one')")
        for name in (*REACHING, *COMPUTING):
            await server.admin(f'create extension if not exists "{name}" cascade')
        yield server


@pytest.fixture(scope="module")
async def knowledge(debian: ExternalServer) -> Knowledge:
    """What the guard learns about it."""
    connector = open_connector(debian.url())
    try:
        return await connector.knowledge()
    finally:
        await connector.close()


@pytest.mark.parametrize("sql", STATEMENTS)
def test_what_reaches_out_is_refused(knowledge: Knowledge, sql: str) -> None:
    """With and without the catalog."""
    assert not judge(sql, "postgresql", knowledge).allowed
    assert not judge(sql, "postgresql").allowed


def test_no_function_of_these_extensions_may_be_called(debian: ExternalServer, knowledge: Knowledge) -> None:
    """By the catalog's list of what they contain."""
    query = """
        select distinct p.proname from pg_proc p join pg_depend d on d.objid = p.oid and d.deptype = 'e'
        join pg_extension e on e.oid = d.refobjid where e.extname = any(%s)
          and not exists (select from pg_proc o where o.proname = p.proname and o.oid < 16384)"""
    with psycopg.connect(make_url(debian.url()).render_as_string(hide_password=False)) as connection:
        names = [row[0] for row in connection.execute(query, [list(REACHING)])]

    passed = [name for name in names if judge(f'SELECT "{name}"(1)', "postgresql", knowledge).allowed]

    assert len(names) > 100
    assert passed == []


def test_what_only_computes_may_be_called(knowledge: Knowledge) -> None:
    """Reviewed extensions are available to readers."""
    for sql in (
        "SELECT unaccent(name), similarity(name, 'x'), levenshtein(name, 'y') FROM item",
        "SELECT name::citext, name <-> 'one' FROM item",
    ):
        assert judge(sql, "postgresql", knowledge).allowed, judge(sql, "postgresql", knowledge)
