"""The database's schema: what it needs of a server, and its migration to this code's revision.

Invariant: one migration at a time (an advisory lock), completely or not at all (one transaction). Everything that a
server lacks is reported at once, each with a hint.
"""

from __future__ import annotations

import re
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import psycopg
from psycopg.conninfo import conninfo_to_dict
from sqlalchemy import Connection, create_engine
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

from thresher.core import ConfigurationError, SchemaMismatch, Settings, UnsafeRole
from thresher.store.cluster import APPLICATION
from thresher.store.connections import translated
from thresher.store.tables import APPEND_ONLY, TENANT_TABLES, metadata

_OLDEST_SERVER = 160000
# 0.8 brought the iterative index scans that a search inside one tenant needs.
_OLDEST_VECTOR = (0, 8)

_VERSIONS = """
select current_setting('server_version_num')::int as server,
       current_setting('server_version') as server_name,
       (select extversion from pg_extension where extname = 'vector') as installed,
       (select default_version from pg_available_extensions where name = 'vector') as available
"""


@dataclass(frozen=True, slots=True)
class ServerVersions:
    """The versions of a server and its pgvector.

    Attributes:
        server: The server's version as a number, 160003 for 16.3.
        server_name: The server's version as people write it.
        installed: pgvector's version in this database; None if it was not created there.
        available: pgvector's version on the server; None if its files are missing.
    """

    server: int
    server_name: str
    installed: str | None
    available: str | None


def check_server(connection: Connection, *, may_install: bool = False) -> ServerVersions:
    """Refuse a server that is too old or has no usable pgvector.

    Args:
        connection: A connection to the database, in any role.
        may_install: Whether the extension's files on the server are enough.

    Raises:
        ConfigurationError: Something is missing or too old.
    """
    versions = ServerVersions(*connection.exec_driver_sql(_VERSIONS).one())
    vector = versions.installed or (versions.available if may_install else None)
    lacking = [pair for pair in (_server_problem(versions), _vector_problem(versions, vector)) if pair]
    if lacking:
        raise ConfigurationError(" ".join(pair[0] for pair in lacking), hint=" ".join(pair[1] for pair in lacking))
    return versions


def _server_problem(versions: ServerVersions) -> tuple[str, str] | None:
    if versions.server >= _OLDEST_SERVER:
        return None
    return (
        f"The PostgreSQL server is version {versions.server_name}; Thresher needs 16 or newer.",
        "Point THRESHER_DATABASE_URL to a newer server, or unset it to use the embedded one.",
    )


def _vector_problem(versions: ServerVersions, version: str | None) -> tuple[str, str] | None:
    if version is None and versions.available is None:
        return (
            "The PostgreSQL server has no pgvector.",
            "Install pgvector >= 0.8 on the server (for example the package postgresql-18-pgvector), then run "
            "`create extension vector` in this database as a superuser.",
        )
    if version is None:
        return "The database has no pgvector.", "Run `create extension vector` in this database."
    if tuple(int(part) for part in re.findall(r"\d+", version)[:2]) < _OLDEST_VECTOR:
        return (
            f"pgvector is version {version}; Thresher needs 0.8 or newer.",
            "Install a newer pgvector on the server, then run `alter extension vector update`.",
        )
    return None


_MIGRATIONS = Path(__file__).parent / "migrations"
_LOCK = 7_266_273_710_482  # a number that no other program uses in this database
_GRANTS = """
do $do$ begin
  execute format('revoke create, temporary on database %%I from public', current_database());
  execute format('grant usage on schema %%I to {role}', current_schema());
end $do$;
grant select, insert, update, delete on {tables} to {role};
{revoked}
grant select on alembic_version to {role};
grant execute on function ensure_tenant(text), drop_tenant(), cached_embeddings, remember_embeddings,
  key_holder(bytea), session_key(bytea, interval), keys_exist(), purge_logs(timestamptz), prune_embeddings(timestamptz),
  known_tenants(), prune_audit(), take_up_sources(double precision, integer, text),
  take_up_descriptions(double precision, integer, text),
  purge_conversations(timestamptz), purge_threads(timestamptz) to {role};
grant usage on schema jobs to {role};
revoke all on all tables in schema jobs from {role};
revoke all on all functions in schema jobs from {role};
grant execute on function jobs.defer(text, bigint, bigint), jobs.cancel(bigint), jobs.finish(bigint),
  jobs.held_by(bigint), jobs.to_abort(), jobs.ready(text[]), jobs.waiting(text[], bigint), jobs.unbegun(text[]),
  jobs.take_up(integer),
  jobs.procrastinate_register_worker_v1(), jobs.procrastinate_unregister_worker_v1(bigint),
  jobs.procrastinate_update_heartbeat_v1(bigint), jobs.procrastinate_prune_stalled_workers_v1(double precision),
  jobs.procrastinate_fetch_job_v2(character varying[], bigint),
  jobs.procrastinate_finish_job_v1(bigint, jobs.procrastinate_job_status, boolean),
  jobs.procrastinate_retry_job_v2(bigint, timestamptz, integer, character varying, character varying) to {role};
"""


def migrate(owner_url: str, *, application_role: str = APPLICATION, keep: bool = True) -> tuple[str | None, str]:
    """Migrate the schema to this code's revision and grant the application role its rights.

    Running it again, or on several replicas at once, is safe.

    Args:
        owner_url: Address of the database for the role that owns (or will own) the tables.
        application_role: The role of `THRESHER_DATABASE_URL`; it gets rights on rows and functions, and owns no table.
        keep: False rolls everything back in the end: a dry run.

    Returns:
        The revision before (None without a schema of Thresher) and after.

    Raises:
        SchemaMismatch: The database is newer than this code, or too old to be upgraded.
        ConfigurationError: The server or pgvector is missing or too old, or a role lacks a right.
        StoreUnavailable: The database cannot be reached.
    """
    engine = create_engine("postgresql+psycopg://", creator=lambda: psycopg.connect(owner_url), poolclass=NullPool)
    try:
        with translated(), engine.connect() as connection, connection.begin() as transaction:
            connection.exec_driver_sql("select pg_advisory_xact_lock(%s)", (_LOCK,))
            before = current_revision(connection)
            check_revision(before, for_migration=True)
            with _explained(connection, application_role):
                if check_server(connection, may_install=True).installed is None:
                    connection.exec_driver_sql("create extension vector")
                if before != head_revision():
                    _upgrade(connection)
                _grant(connection, application_role)
            if not keep:
                transaction.rollback()
            return before, head_revision()
    finally:
        engine.dispose()


def migrate_external(settings: Settings, *, keep: bool = True) -> tuple[str | None, str]:
    """Migrate an external database, for `thresher migrate`.

    Args:
        settings: With both addresses.
        keep: False rolls everything back in the end.

    Returns:
        The revision before (None without a schema of Thresher) and after.

    Raises:
        ConfigurationError: One of the two addresses is missing, or the owner lacks a right.
    """
    if settings.migration_url is None or settings.database_url is None:
        raise ConfigurationError(
            "To migrate an external database, two addresses are needed.",
            hint="Set THRESHER_MIGRATION_URL (owner role) and THRESHER_DATABASE_URL (application role). The embedded "
            "database migrates itself at each start.",
        )
    role = application_role(settings.database_url.get_secret_value())
    return migrate(settings.migration_url.get_secret_value(), application_role=role, keep=keep)


def application_role(database_url: str) -> str:
    """Return the role in an address, for `migrate`'s `application_role`.

    Raises:
        ConfigurationError: The address cannot be read, or names no role.
    """
    try:
        user = conninfo_to_dict(database_url).get("user")
    except psycopg.ProgrammingError:
        user = None
    if not user:
        raise ConfigurationError(
            "THRESHER_DATABASE_URL names no role.", hint="Write postgresql://role:password@host:5432/database"
        )
    return str(user)


@cache
def head_revision() -> str:
    """Return this code's revision."""
    return _revisions()[-1]


def current_revision(connection: Connection) -> str | None:
    """Return the revision of a database; None without a schema of Thresher."""
    if connection.exec_driver_sql("select to_regclass('alembic_version')").scalar_one() is None:
        return None
    return connection.exec_driver_sql("select version_num from alembic_version").scalar_one_or_none()


def check_revision(found: str | None, *, for_migration: bool = False) -> None:
    """Refuse a schema that this code cannot work with.

    Args:
        found: The database's revision.
        for_migration: Accept an older schema.

    Raises:
        SchemaMismatch: It is older (or absent) or newer than this code, or too old to be upgraded.
    """
    if found == head_revision():
        return
    if found is not None and found < _revisions()[0]:
        raise SchemaMismatch(
            f"The database's schema ({found}) is of a version before {_revisions()[0]}, which this one cannot upgrade.",
            hint="Start the last version before 0.1.0 once: it upgrades the database. Then start this one.",
        )
    if found is not None and found not in _revisions():
        raise SchemaMismatch(
            f"The database's schema ({found}) is newer than this version of Thresher ({head_revision()}).",
            hint="Upgrade Thresher, or restore a backup of the database.",
        )
    if not for_migration:
        state = "has no tables of Thresher's" if found is None else f"has an older schema ({found})"
        raise SchemaMismatch(
            f"The database {state}; this version needs {head_revision()}.",
            hint="Run `thresher migrate` with THRESHER_MIGRATION_URL set to the owner role's address.",
        )


# Roles that this session could take with `set role`, including its own.
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


def check_database(connection: Connection) -> None:
    """Check whether this code may work with a database: server, extension, role and schema, in this order.

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


@cache
def _revisions() -> tuple[str, ...]:
    """Return all revisions in order, from the names of their files: `r0019_baseline.py`."""
    return tuple(sorted(path.stem[1:5] for path in (_MIGRATIONS / "versions").glob("r[0-9]*.py")))


def _upgrade(connection: Connection) -> None:
    from alembic import command  # noqa: PLC0415 - 0.2 s of every start, and only a migration needs it
    from alembic.config import Config  # noqa: PLC0415 - as above

    config = Config(attributes={"connection": connection})
    # The file's parser takes a single % for a reference.
    config.set_main_option("script_location", str(_MIGRATIONS).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    command.upgrade(config, "head")


def _grant(connection: Connection, role: str) -> None:
    quoted = connection.dialect.identifier_preparer.quote(role)
    tables = ", ".join(f'"{table}"' for table in TENANT_TABLES)
    role = quoted.replace("%", "%%")
    revoked = "\n".join(f'revoke {rights} on "{table}" from {role};' for table, rights in APPEND_ONLY.items())
    connection.exec_driver_sql(_GRANTS.format(role=role, tables=tables, revoked=revoked))


@contextmanager
def _explained(connection: Connection, role: str) -> Generator[None]:
    owner = connection.exec_driver_sql("select current_user").scalar_one()
    if owner == role:
        raise ConfigurationError(
            f"The role {role!r} would be both owner and application role.",
            hint="Use two roles: THRESHER_MIGRATION_URL names the owner, THRESHER_DATABASE_URL another one.",
        )
    try:
        yield
    except DBAPIError as error:
        state = getattr(error.orig, "sqlstate", None)
        if state == "42501":
            raise ConfigurationError(
                f"The role {owner!r} may not set up the schema: {error.orig}",
                hint=f"As a superuser: `create extension if not exists vector; grant create on schema public to "
                f"{owner}`, and let that role own the database.",
            ) from error
        if state == "42704" and "role" in str(error.orig):
            raise ConfigurationError(
                f"The application role {role!r} does not exist.",
                hint=f"As a superuser: create role {role} login password '...'",
            ) from error
        raise
