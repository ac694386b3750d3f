"""Clean databases in a moment: copies of one migrated template."""

from __future__ import annotations

import secrets

import psycopg

from thresher.store import Database, EmbeddedServer, migrate


class Databases:
    """Makes databases on a running embedded server."""

    def __init__(self, server: EmbeddedServer) -> None:
        self.server = server
        migrate(server.owner_url)

    async def create(self) -> str:
        """A fresh migrated database; returns its name."""
        name = f"test_{secrets.token_hex(6)}"
        await self.admin(f"create database {name} template thresher owner thresher_owner strategy file_copy")
        # A template hands its tables' rights on, but not its own.
        await self.admin(f"revoke create, temporary on database {name} from public")
        return name

    async def open(self, name: str, *, pool_size: int = 5) -> Database:
        """A `Database` on it, in the application role."""
        return await Database.open(self.url(name), pool_size=pool_size)

    async def drop(self, name: str) -> None:
        """Remove it, whoever is connected."""
        await self.admin(f"drop database if exists {name} with (force)")

    def url(self, name: str, role: str = "thresher_app") -> str:
        """Its address for `thresher_app`, `thresher_owner` or `thresher_admin`."""
        return self.server.url(role, name)

    async def any_waits(self, address: str) -> bool:
        """Whether a statement in the database of an address waits for a lock."""
        name = address.rpartition("/")[2].partition("?")[0]
        waiting = f"select 1 from pg_stat_activity where datname = '{name}' and wait_event_type = 'Lock'"
        return bool(await self.admin(waiting))

    async def admin(self, statement: str, database: str = "postgres") -> list[tuple[object, ...]]:
        """Run a statement as superuser; returns its rows."""
        url = self.url(database, "thresher_admin")
        async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
            cursor = await connection.execute(statement)  # type: ignore[arg-type]
            return await cursor.fetchall() if cursor.description else []
