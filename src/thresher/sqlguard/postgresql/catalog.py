"""What a live PostgreSQL database adds to the shipped list: extensions, and users' functions, operators and types.

Invariant: pure over the rows of one statement. User-defined objects are refused unless they only hold values; one that
shares a built-in function's name makes the unqualified name ambiguous, which is then refused.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from thresher.sqlguard.postgresql.names import CATALOG, JSON_WORDS, WORDS, shipped
from thresher.sqlguard.records import Functions

CATALOG_SQL: Final = """
with namespace as (
    select oid, nspname, nspname = any(pg_catalog.current_schemas(true)) as in_path from pg_catalog.pg_namespace
), extension as (
    select d.classid, d.objid, e.extname
    from pg_catalog.pg_depend d join pg_catalog.pg_extension e on e.oid = d.refobjid
    where d.deptype = 'e' and d.refclassid = 'pg_catalog.pg_extension'::pg_catalog.regclass
), plain as (
    select p.oid, p.provolatile <> 'v' and l.lanname in ('c', 'internal', 'sql') as is_plain,
        p.provolatile <> 'v' and l.lanname in ('c', 'internal') as is_native
    from pg_catalog.pg_proc p join pg_catalog.pg_language l on l.oid = p.prolang
)
select distinct 'own' as kind, '' as schema, p.proname::text as name, '' as extension,
    true as in_path, true as is_plain, false as is_field, false as is_row_field
from pg_catalog.pg_proc p
where p.oid < 16384 and p.pronamespace = 'pg_catalog'::pg_catalog.regnamespace
union all
select 'function', n.nspname, p.proname, coalesce(e.extname, ''), n.in_path, bool_and(plain.is_plain),
    bool_or(p.pronargs > 0 and p.pronargs - p.pronargdefaults <= 1),
    coalesce(bool_or(p.pronargs - p.pronargdefaults <= 1 and a.typtype in ('c', 'd', 'p')), false)
from pg_catalog.pg_proc p
    join namespace n on n.oid = p.pronamespace
    left join pg_catalog.pg_type a on a.oid = p.proargtypes[0]
    join plain on plain.oid = p.oid
    left join extension e on e.objid = p.oid and e.classid = 'pg_catalog.pg_proc'::pg_catalog.regclass
where p.oid >= 16384 and p.prokind <> 'p'
group by 2, 3, 4, 5
union all
select 'operator', n.nspname, o.oprname, coalesce(e.extname, ''), n.in_path, bool_and(plain.is_native), false, false
from pg_catalog.pg_operator o
    join namespace n on n.oid = o.oprnamespace
    join plain on plain.oid = o.oprcode
    left join extension e on e.objid = o.oid and e.classid = 'pg_catalog.pg_operator'::pg_catalog.regclass
where o.oid >= 16384
group by 2, 3, 4, 5
union all
select 'type', n.nspname, t.typname, coalesce(e.extname, ''), n.in_path,
    case t.typtype
        when 'e' then true
        when 'b' then t.typcategory <> 'A'
        when 'd' then t.typbasetype < 16384 and not exists (
            select from pg_catalog.pg_constraint c where c.contypid = t.oid and c.contype = 'c')
        when 'r' then exists (
            select from pg_catalog.pg_range r
            where r.rngtypid = t.oid and r.rngsubtype < 16384 and r.rngsubopc < 16384 and r.rngcanonical < 16384)
        else false
    end and not exists (
        select from pg_catalog.pg_cast c
            join pg_catalog.pg_proc p on p.oid = c.castfunc
            join pg_catalog.pg_language l on l.oid = p.prolang
        where c.casttarget = t.oid and p.oid >= 16384 and l.lanname not in ('c', 'internal')),
    false, false
from pg_catalog.pg_type t
    join namespace n on n.oid = t.typnamespace
    left join extension e on e.objid = t.oid and e.classid = 'pg_catalog.pg_type'::pg_catalog.regclass
where t.oid >= 16384 and t.typtype in ('b', 'd', 'e', 'r') and t.typcategory <> 'A'
"""
"""A statement that returns (kind, schema, name, extension, in_path, is_plain, is_field, is_row_field). It must run in a
session set up like those of the statements to judge, since `search_path` decides which names are visible.
"""

REVIEWED: Final = frozenset(
    name
    for line in (
        "btree_gin btree_gist citext cube earthdistance fuzzystrmatch hstore intarray isn ltree",
        "pg_trgm pgcrypto postgis seg unaccent uuid-ossp vector",
    )
    for name in line.split()
)
"""Reviewed extensions: their functions that are not volatile and written in C or SQL only compute."""

HARMLESS: Final = frozenset(
    {
        *("uuid_generate_v1", "uuid_generate_v1mc", "uuid_generate_v4"),
        *("gen_random_uuid", "gen_random_bytes", "gen_salt"),
    }
)
"""Volatile functions of these extensions that merely return another value at each call."""


@dataclass(frozen=True, slots=True)
class _Row:
    kind: str
    schema: str
    name: str
    extension: str
    in_path: bool
    is_plain: bool
    is_field: bool
    is_row_field: bool

    @property
    def full(self) -> str:
        return f"{self.schema}.{self.name}"

    @property
    def is_reviewed(self) -> bool:
        return self.extension in REVIEWED and (self.is_plain or (self.kind == "function" and self.name in HARMLESS))


def functions_of(rows: Iterable[Sequence[Any]], own: Collection[str] = ()) -> Functions:
    """Return what may be called in a database.

    Args:
        rows: Result of `CATALOG_SQL`.
        own: User functions that may be called, as `schema.name`; a bare name applies to every schema.

    Returns:
        PostgreSQL's own functions that this server has, those of reviewed extensions, and those of `own`.
    """
    found = [_Row(*row) for row in rows]
    functions = [row for row in found if row.kind == "function"]
    granted = {row.full for row in functions if row.full in own or row.name in own}
    strange = [row for row in functions if not row.is_reviewed and row.full not in granted]
    allowed = _allowed(found, {row.name for row in strange if row.schema == CATALOG})
    callable_own = (granted | {row.full for row in functions if row.is_reviewed}) - {row.full for row in strange}
    names = allowed | {*WORDS.values(), *JSON_WORDS.values()} | {name.split(".", 1)[1] for name in callable_own}
    return Functions(
        allowed=allowed,
        shadowed=frozenset(row.name for row in strange if row.in_path and row.name in names),
        own=frozenset(callable_own),
        operators=frozenset(row.name for row in found if row.kind == "operator" and row.in_path and not _holds(row)),
        types=_types(found),
        fields=frozenset(row.name for row in strange if row.in_path and row.is_field),
        row_fields=frozenset(row.name for row in strange if row.in_path and row.is_row_field),
    )


def _allowed(found: Sequence[_Row], replaced: Collection[str]) -> frozenset[str]:
    """Return the shipped functions that the server has and whose names no added function in their schema shares."""
    live = {row.name for row in found if row.kind == "own"} - set(replaced)
    return frozenset(name for name in shipped().functions.allowed if name in live or "." in name)


def _holds(operator: _Row) -> bool:
    """Return whether an operator only compares or computes: a type written in C needs its own `=`."""
    return operator.is_reviewed or (operator.is_plain and operator.name in shipped().operators)


def _types(found: Sequence[_Row]) -> frozenset[str]:
    plain = [row for row in found if row.kind == "type" and row.is_plain]
    return frozenset(row.full for row in plain) | frozenset(row.name for row in plain if row.in_path)
