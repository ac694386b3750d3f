"""What the embedded server's superuser does after each start: roles, the database, the extension.

Invariant: every step may run again; a start that was killed half-way is completed by the next one.
"""

from __future__ import annotations

from collections.abc import Callable

import psycopg
from psycopg import AsyncConnection, sql

from thresher.core import StoreError
from thresher.store.cluster import ADMIN, APPLICATION, DATABASE, OWNER
from thresher.store.passwords import Passwords


async def prepare_database(url: Callable[[str, str], str], passwords: Passwords) -> None:
    """Make sure that the roles, the database and pgvector are there.

    Args:
        url: Gives the address for a role and a database.
        passwords: Those that the roles get when they are created.

    Raises:
        StoreError: The server refused.
    """
    try:
        try:
            connection = await _connect(url(ADMIN, DATABASE))
        except psycopg.OperationalError as error:
            if "does not exist" not in str(error):
                raise
            await _create(url(ADMIN, "postgres"), passwords)
            connection = await _connect(url(ADMIN, DATABASE))
        async with connection:
            await _extend(connection)
    except psycopg.Error as error:
        raise StoreError(f"The embedded database could not be set up: {error}") from error


async def _connect(url: str) -> AsyncConnection:
    return await AsyncConnection.connect(url, autocommit=True)


async def _create(url: str, passwords: Passwords) -> None:
    """Roles first, the database last: where the database is, all else is."""
    async with await _connect(url) as connection:
        for role, password in ((OWNER, passwords.owner), (APPLICATION, passwords.application)):
            found = await connection.execute("select 1 from pg_roles where rolname = %s", (role,))
            if await found.fetchone() is None:
                await connection.execute(sql.SQL("create role {} login").format(sql.Identifier(role)))
            await connection.execute(
                sql.SQL("alter role {} password {}").format(sql.Identifier(role), sql.Literal(password))
            )
        await connection.execute(
            sql.SQL("create database {} owner {}").format(sql.Identifier(DATABASE), sql.Identifier(OWNER))
        )


async def _extend(connection: AsyncConnection) -> None:
    """Create pgvector, or bring it up to what the programs hold (after an upgrade of the wheel)."""
    found = await connection.execute(
        "select installed_version, default_version from pg_available_extensions where name = 'vector'"
    )
    installed, available = await found.fetchone() or (None, None)
    if installed is None:
        await connection.execute("create extension if not exists vector")
    elif installed != available:
        await connection.execute("alter extension vector update")
