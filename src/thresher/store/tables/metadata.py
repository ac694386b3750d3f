"""The metadata that every table joins, and the columns that all tenant rows share.

Invariant: every table made by `tenant_table` carries `tenant_id` first in its primary key and is under forced
row-level security (the migrations create the policy from `TENANT_TABLES`).
"""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, ForeignKey, Identity, Integer, MetaData, Table, Text
from sqlalchemy.schema import SchemaItem

metadata = MetaData(
    naming_convention={
        "pk": "%(table_name)s_pkey",
        "fk": "%(table_name)s_%(column_0_N_name)s_fkey",
        "uq": "%(table_name)s_%(column_0_N_name)s_key",
        "ix": "%(table_name)s_%(column_0_N_name)s_idx",
        "ck": "%(table_name)s_%(constraint_name)s_check",
    }
)

tenant = Table(
    "tenant",
    metadata,
    Column("id", Integer, Identity(always=True), primary_key=True),
    Column("name", Text, nullable=False, unique=True),
)

TENANT_TABLES: list[str] = []
"""Names of the tables under row-level security, in the order they were declared."""


def tenant_table(name: str, *items: SchemaItem) -> Table:
    """Declare a table whose rows belong to tenants."""
    TENANT_TABLES.append(name)
    key = Column("tenant_id", Integer, ForeignKey("tenant.id", ondelete="CASCADE"), primary_key=True)
    return Table(name, metadata, key, *items)


def row_id() -> Column[int]:
    """The second half of a tenant row's primary key."""
    return Column("id", BigInteger, Identity(always=True), primary_key=True)
