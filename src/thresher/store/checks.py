"""What must hold before the application may use a database.

Invariant: a role that could pass by row-level security never gets as far as a first query of ours.
"""

from __future__ import annotations

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from thresher.core import SchemaMismatch, UnsafeRole
from thresher.store.requirements import check_server
from thresher.store.schema import check_revision, current_revision
from thresher.store.tables import TENANT_TABLES, metadata

# Roles that this session could take with `set role`, its own among them.
_ROLES = """
select rolname as name, rolsuper as is_super, rolbypassrls as bypasses
from pg_roles
where (pg_has_role(session_user, oid, 'member') or oid = current_user::regrole) and (rolsuper or rolbypassrls)
order by rolname <> session_user
"""
_OWNED = """
select relname as name, pg_get_userbyid(relowner) as owner
from pg_class
where oid = any (array(select to_regclass(quote_ident(t)) from unnest(%(tables)s::text[]) as t))
  and pg_has_role(session_user, relowner, 'member')
order by relname
"""
_UNPROTECTED = """
select relname as name
from pg_class
where oid = any (array(select to_regclass(quote_ident(t)) from unnest(%(tables)s::text[]) as t))
  and not (relrowsecurity and relforcerowsecurity)
order by relname
"""


def check(connection: Connection) -> None:
    """Check server, extension, role and schema, in this order.

    Raises:
        ConfigurationError: The server or pgvector is missing or too old.
        UnsafeRole: The role is superuser, bypasses row-level security or owns a table, or could become one that does.
        SchemaMismatch: The schema is older or newer than this code, or a table has lost its protection.
    """
    check_server(connection)
    _check_role(connection)
    try:
        check_revision(current_revision(connection))
    except DBAPIError as error:
        if getattr(error.orig, "sqlstate", None) != "42501":
            raise
        raise SchemaMismatch(
            "The application role may not read the schema's revision.",
            hint="Run `thresher migrate`: it gives the role of THRESHER_DATABASE_URL its rights.",
        ) from error
    _check_protection(connection)


def _check_role(connection: Connection) -> None:
    hint = "Use a role of its own for THRESHER_DATABASE_URL: create role thresher_app login password '...'"
    role = connection.exec_driver_sql("select session_user").scalar_one()
    for row in connection.exec_driver_sql(_ROLES):
        what = "is a superuser" if row.is_super else "bypasses row-level security"
        whose = "" if row.name == role else f" can become {row.name!r}, which"
        raise UnsafeRole(f"The application role {role!r}{whose} {what}.", hint=hint)
    tables = {"tables": list(metadata.tables)}
    for row in connection.exec_driver_sql(_OWNED, tables):
        how = "owns" if row.owner == role else f"is a member of {row.owner!r}, which owns"
        raise UnsafeRole(f"The application role {role!r} {how} the table {row.name!r}.", hint=hint)


def _check_protection(connection: Connection) -> None:
    open_tables = [row.name for row in connection.exec_driver_sql(_UNPROTECTED, {"tables": TENANT_TABLES})]
    if open_tables:
        raise SchemaMismatch(
            f"Row-level security is not forced on: {', '.join(open_tables)}.",
            hint="As the owner: alter table ... enable row level security; alter table ... force row level security",
        )
