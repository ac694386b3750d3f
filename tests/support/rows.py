"""One row in every tenant table, made from the tables' own columns."""

from __future__ import annotations

import datetime as dt
import uuid
from typing import Any

from sqlalchemy import Table

from thresher.core import Tenant
from thresher.store import Database
from thresher.store.tables import TENANT_TABLES, metadata

_SAMPLES = {
    "ARRAY": [],
    "VECTOR": [1.0],
    "JSON": {},
    "TEXT": "x",
    "BOOLEAN": True,
    "UUID": uuid.UUID(int=1),
    "DATETIME": dt.datetime(2026, 1, 1, tzinfo=dt.UTC),
}


def sample_row(table: Table, tenant: Tenant) -> dict[str, Any]:
    """The smallest row that the table takes, apart from its references."""
    values: dict[str, Any] = {"tenant_id": tenant.id}
    for column in table.columns:
        if not column.nullable and column.server_default is None and column.name not in values:
            kind = repr(column.type).upper()
            samples = _SAMPLES | {"BINARY": str(tenant.id).encode()}  # a key's hash exists once in all tenants
            values[column.name] = next((sample for part, sample in samples.items() if part in kind), 1)
    return values


async def fill(database: Database, tenant: Tenant) -> None:
    """Write one row into every tenant table."""
    async with database.transaction(tenant) as connection:
        ids: dict[str, int] = {}
        for table in metadata.sorted_tables:
            if table.name not in TENANT_TABLES:
                continue
            row = sample_row(table, tenant)
            row |= {
                column.name: ids[key.column.table.name]
                for column in table.columns
                for key in column.foreign_keys
                if column.name in row and key.column.name == "id" and key.column.table.name in ids
            }
            result = await connection.execute(table.insert().values(**row))
            if "id" in table.columns:
                ids[table.name] = result.inserted_primary_key[-1]
