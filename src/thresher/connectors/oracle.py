"""Sessions with Oracle through python-oracledb in thin mode, and the statements that read its catalog.

Catalog statements are fixed texts. They show what the role may see, without the schemas that Oracle maintains itself.

Invariant: a statement runs in a READ ONLY transaction that is rolled back. `EXPLAIN PLAN` writes to a table of the
session, so plans are made in an earlier transaction, which is rolled back too.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Final

import oracledb

from thresher.connectors.addresses import DatabaseAddress
from thresher.connectors.catalog import CatalogRows, assemble
from thresher.connectors.connector import ConnectorOptions, DatabaseSession
from thresher.connectors.profiling import profile
from thresher.connectors.records import Caps, Health, Profiles, ResultColumn, Rows, Schema, SessionTag
from thresher.connectors.statements import (
    PROGRAM,
    Estimate,
    check_estimate,
    cleaned,
    fill,
    known_functions,
    session_name,
    version_numbers,
)
from thresher.core import InvalidInput
from thresher.sqlguard import Knowledge

_OWNERS: Final = "(select u.username from all_users u where u.oracle_maintained = 'N')"

TABLES: Final = f"""
select t.owner, t.table_name, 'table', c.comments, t.num_rows
from all_tables t
left join all_tab_comments c on c.owner = t.owner and c.table_name = t.table_name and c.table_type = 'TABLE'
where t.owner in {_OWNERS} and t.nested = 'NO' and t.secondary = 'N' and t.iot_name is null
  and t.temporary = 'N' and t.dropped = 'NO' and t.table_name not like 'MLOG$%' and t.table_name not like 'RUPD$%'
  and not exists (select 1 from all_mviews m where m.owner = t.owner and m.mview_name = t.table_name)
union all
select v.owner, v.view_name, 'view', c.comments, null
from all_views v
left join all_tab_comments c on c.owner = v.owner and c.table_name = v.view_name and c.table_type = 'VIEW'
where v.owner in {_OWNERS}
union all
select m.owner, m.mview_name, 'materialized view', c.comments, null
from all_mviews m left join all_mview_comments c on c.owner = m.owner and c.mview_name = m.mview_name
where m.owner in {_OWNERS}
"""  # noqa: S608 - of fixed texts

COLUMNS: Final = f"""
select t.owner, t.table_name, t.column_name,
       case when t.data_type like '%CHAR%' then t.data_type || '(' || t.char_length || ')'
            when t.data_type = 'RAW' then t.data_type || '(' || t.data_length || ')'
            when t.data_type = 'NUMBER' and t.data_precision is not null
              then 'NUMBER(' || t.data_precision || ',' || nvl(t.data_scale, 0) || ')'
            when t.data_type = 'NUMBER' and t.data_scale = 0 then 'NUMBER(38,0)'
            else t.data_type end,
       null, case t.nullable when 'Y' then 1 else 0 end,
       case when t.identity_column = 'YES' then 'identity' when t.virtual_column = 'YES' then 'generated' end,
       c.comments
from all_tab_cols t
left join all_col_comments c
  on c.owner = t.owner and c.table_name = t.table_name and c.column_name = t.column_name
where t.owner in {_OWNERS} and t.hidden_column = 'NO'
order by t.owner, t.table_name, t.column_id
"""  # noqa: S608 - of fixed texts

KEYS: Final = f"""
select k.owner, k.table_name, k.constraint_name, case k.constraint_type when 'P' then 1 else 0 end, c.column_name
from all_constraints k
join all_cons_columns c on c.owner = k.owner and c.constraint_name = k.constraint_name and c.table_name = k.table_name
where k.owner in {_OWNERS} and k.constraint_type in ('P', 'U')
order by k.owner, k.table_name, k.constraint_name, c.position
"""  # noqa: S608 - of fixed texts

FOREIGN_KEYS: Final = f"""
select k.owner, k.table_name, k.constraint_name, c.column_name, p.owner, p.table_name, d.column_name
from all_constraints k
join all_constraints p on p.owner = k.r_owner and p.constraint_name = k.r_constraint_name
join all_cons_columns c on c.owner = k.owner and c.constraint_name = k.constraint_name and c.table_name = k.table_name
join all_cons_columns d
  on d.owner = p.owner and d.constraint_name = p.constraint_name and d.position = c.position
where k.owner in {_OWNERS} and k.constraint_type = 'R'
order by k.owner, k.table_name, k.constraint_name, c.position
"""  # noqa: S608 - of fixed texts

STAMP: Final = f"""
select count(*) || '-' || to_char(max(o.last_ddl_time), 'YYYYMMDDHH24MISS') || '-' || sum(mod(o.object_id, 1000003))
from all_objects o
where o.owner in {_OWNERS} and o.object_type in ('TABLE', 'VIEW', 'MATERIALIZED VIEW')
"""  # noqa: S608 - of fixed texts

DEFAULT_SCHEMA: Final = "select sys_context('userenv', 'current_schema') from dual"
WHO: Final = "select sys_context('userenv', 'session_user'), sys_context('userenv', 'db_name') from dual"
WRITABLE: Final = """
select s.privilege from session_privs s
where s.privilege not in ('CREATE SESSION', 'SELECT ANY TABLE', 'READ ANY TABLE', 'SELECT ANY DICTIONARY',
                          'SELECT ANY SEQUENCE', 'FLASHBACK ANY TABLE', 'SET CONTAINER')
union all
select distinct p.privilege || ' on ' || min(p.owner || '.' || p.table_name)
from all_tab_privs_recd p
where p.privilege in ('INSERT', 'UPDATE', 'DELETE', 'ALTER', 'INDEX', 'WRITE')
group by p.privilege
union all
select 'tables that it owns: ' || count(*) from user_tables having count(*) > 0
"""
SESSION: Final = """
select sys_context('userenv', 'sid') as sid, sys_context('userenv', 'session_user') as "user",
       sys_context('userenv', 'db_name') as "database", sys_context('userenv', 'module') as module,
       sys_context('userenv', 'action') as action, sys_context('userenv', 'client_info') as client_info,
       sys_context('userenv', 'current_schema') as current_schema, sessiontimezone as time_zone
from dual
"""

READ_ONLY: Final = "set transaction read only"
FORGET: Final = "begin dbms_session.modify_package_state(dbms_session.reinitialize); end;"
"""Removes the state that packages keep in a session."""
EXPLAIN: Final = "explain plan set statement_id = '{name}' for {sql}"
ESTIMATE: Final = "select max(cost), max(cardinality) from plan_table where statement_id = :name"
PLAN: Final = "select plan_table_output from table(dbms_xplan.display('PLAN_TABLE', :name, 'TYPICAL'))"


_OWN: Final = SessionTag("", "", 0)
_OWN_SECONDS: Final = 60.0
_CHUNK: Final = 64
_MODULE, _ACTION, _INFO = 48, 32, 64
"""Bytes of each that the server keeps."""
_EXPLAINED: Final = Caps(rows=5_000, cell=4_000)


def open_oracle(address: DatabaseAddress, options: ConnectorOptions) -> OracleEngine:
    """Create the engine for an address.

    Raises:
        InvalidInput: The address does not name a user.
    """
    if not address.user:
        raise InvalidInput(
            "The address does not name a user.", hint="Write oracle://user:password@host/?service_name=NAME"
        )
    return OracleEngine(address, options)


class OracleEngine:
    """See `Engine`."""

    errors: tuple[type[Exception], ...] = (oracledb.Error, OSError)

    def __init__(self, address: DatabaseAddress, options: ConnectorOptions) -> None:
        self._address = address
        self._options = options

    def open(self) -> DatabaseSession:
        """See `Engine`."""
        return OracleSession(oracledb.connect(**arguments(self._address, self._options)), self._options)

    def close(self) -> None:
        """See `Engine`: sessions share nothing."""


class OracleSession:
    """See `DatabaseSession`."""

    def __init__(self, connection: Any, options: ConnectorOptions) -> None:
        self._connection = connection
        self._options = options

    def knowledge(self) -> Knowledge:
        """See `DatabaseSession`."""
        with self._transaction(_OWN, _OWN_SECONDS):
            functions = known_functions("oracle", self._rows, self._options)
        return Knowledge(functions, version_numbers(str(self._connection.version)))

    def run(self, sql: str, tag: SessionTag, caps: Caps, bind: Sequence[Any] = ()) -> Rows:
        """See `DatabaseSession`."""
        statement = without_semicolon(sql)
        if not bind and (estimate := self._estimate(statement, tag, caps.seconds)) is not None:
            check_estimate(estimate, self._options)
        with self._transaction(tag, caps.seconds):
            return self._read(statement, caps, bind)

    def explain(self, sql: str, tag: SessionTag, seconds: float) -> Rows:
        """See `DatabaseSession`."""
        with self._transaction(tag, seconds, reads=False):
            name = self._plan(without_semicolon(sql), tag)
            return self._read(PLAN, _EXPLAINED, (name,))

    def reflect(self, limit: int) -> Schema:
        """See `DatabaseSession`."""
        with self._transaction(_OWN, _OWN_SECONDS):
            default, stamp = str(self._rows(DEFAULT_SCHEMA)[0][0]), self._stamp()
            statements = (TABLES, COLUMNS, KEYS, FOREIGN_KEYS)
            found = CatalogRows(*(self._rows(statement) for statement in statements))
        return replace(assemble("oracle", str(self._connection.version), default, found, limit), stamp=stamp)

    def stamp(self) -> str:
        """See `DatabaseSession`."""
        with self._transaction(_OWN, _OWN_SECONDS):
            return self._stamp()

    def profiles(self, schema: Schema, wanted: Collection[tuple[str, str, str]], seconds: float) -> Profiles:
        """See `DatabaseSession`."""
        with self._transaction(_OWN, seconds):
            return profile("oracle", schema, wanted, self._sample, seconds)

    def health(self) -> Health:
        """See `DatabaseSession`."""
        with self._transaction(_OWN, _OWN_SECONDS):
            user, database = self._rows(WHO)[0]
            writable = tuple(str(row[0]) for row in self._rows(WRITABLE))
        version = f"Oracle {self._connection.version}"
        return Health(ok=True, version=version, user=str(user), database=str(database), writable=writable)

    def describe(self, tag: SessionTag) -> Rows:
        """See `DatabaseSession`."""
        with self._transaction(tag, _OWN_SECONDS):
            return self._read(SESSION, Caps(), ())

    def cancel(self) -> None:
        """See `DatabaseSession`."""
        self._connection.cancel()

    def reset(self) -> bool:
        """See `DatabaseSession`."""
        self._connection.rollback()
        self._execute(FORGET)
        return True

    def close(self) -> None:
        """See `DatabaseSession`."""
        self._connection.close()

    @contextmanager
    def _transaction(self, tag: SessionTag, seconds: float, *, reads: bool = True) -> Generator[None]:
        connection = self._connection
        connection.module = f"{PROGRAM} {cleaned(tag.client, _MODULE)}".strip()[:_MODULE]
        number = f"#{tag.audit_id}"
        connection.action = f"{cleaned(tag.thread, _ACTION - len(number) - 1)} {number}".strip()
        connection.clientinfo = session_name(tag, _INFO)
        connection.call_timeout = max(1, int(seconds * 1000))
        if reads:
            self._execute(READ_ONLY)
        try:
            yield
        finally:
            connection.rollback()

    def _execute(self, statement: str, bind: Sequence[Any] = ()) -> None:
        with self._connection.cursor() as cursor:
            cursor.execute(statement, list(bind))

    def _rows(self, statement: str) -> list[tuple[Any, ...]]:
        with self._connection.cursor() as cursor:
            cursor.execute(statement)
            return list(cursor.fetchall())

    def _stamp(self) -> str:
        return str(self._rows(STAMP)[0][0])

    def _read(self, sql: str, caps: Caps, bind: Sequence[Any]) -> Rows:
        with self._connection.cursor() as cursor:
            cursor.arraysize = cursor.prefetchrows = _CHUNK
            cursor.execute(sql, list(bind), fetch_lobs=False, fetch_decimals=True)
            columns = [
                ResultColumn(str(one[0]), str(getattr(one[1], "name", one[1])).removeprefix("DB_TYPE_").lower())
                for one in cursor.description or ()
            ]
            return fill(columns, iter(cursor.fetchone, None), caps)

    def _plan(self, sql: str, tag: SessionTag) -> str:
        name = f"{PROGRAM}_{tag.audit_id}"[:30]
        self._execute(EXPLAIN.format(name=name, sql=sql))
        return name

    def _estimate(self, sql: str, tag: SessionTag, seconds: float) -> Estimate | None:
        """Return the estimate; None if there is no plan: the statement is wrong, and fails when it runs."""
        if self._options.most_cost is None and self._options.most_rows is None:
            return None
        try:
            with self._transaction(tag, seconds, reads=False), self._connection.cursor() as cursor:
                cursor.execute(ESTIMATE, [self._plan(sql, tag)])
                cost, rows = cursor.fetchone()
        except oracledb.DatabaseError:
            return None
        return Estimate(float(cost or 0), float(rows or 0))

    def _sample(self, statement: str, seconds: float) -> Sequence[Sequence[Any]] | None:
        self._connection.call_timeout = max(1, int(seconds * 1000))
        try:
            return self._rows(statement)
        except oracledb.DatabaseError:
            if not self._connection.is_healthy():
                raise
            return None


def without_semicolon(sql: str) -> str:
    """Remove the final `;`, which Oracle does not accept; the guard has verified that there is one statement."""
    return sql.rstrip().removesuffix(";")


def arguments(address: DatabaseAddress, options: ConnectorOptions) -> dict[str, Any]:
    """The arguments for the driver."""
    query = address.query
    place = {"service_name": query["service_name"]} if "service_name" in query else {"sid": address.database}
    matching = query.get("ssl_server_dn_match", "true").lower() in ("1", "true", "yes")
    return {
        "user": address.user,
        "password": address.password,
        "host": address.hosts[0],
        "port": address.ports[0],
        **place,
        "protocol": query.get("protocol", "tcp"),
        "ssl_server_dn_match": matching,
        "tcp_connect_timeout": options.connect_seconds,
        "program": PROGRAM,
        "stmtcachesize": 0,
    }
