"""Who may call, and whose credentials we hold for other servers.

Invariant: no key can be read back (only its hash is stored), and no credential without the secret key.
"""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, DateTime, ForeignKeyConstraint, LargeBinary, Text, UniqueConstraint, func

from thresher.store.tables.metadata import row_id, tenant_table

access_key = tenant_table(
    "access_key",
    row_id(),
    Column("owner", Text, nullable=True),
    Column("name", Text, nullable=False),
    Column("hash", LargeBinary, nullable=False, unique=True),
    Column("hint", Text, nullable=False),
    Column("created_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    Column("used_at", DateTime(timezone=True), nullable=True),
    Column("revoked_at", DateTime(timezone=True), nullable=True),
    UniqueConstraint("tenant_id", "name"),
)
"""A key of a caller: `owner` is the user it stands for (null: the tenant as a whole), `hint` its first characters."""

credential = tenant_table(
    "credential",
    row_id(),
    Column("server_id", BigInteger, nullable=False),
    Column("owner", Text, nullable=True),
    Column("sealed", LargeBinary, nullable=False),
    Column("updated_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    UniqueConstraint("tenant_id", "server_id", "owner", postgresql_nulls_not_distinct=True),
    ForeignKeyConstraint(["tenant_id", "server_id"], ["server.tenant_id", "server.id"], ondelete="CASCADE"),
)
"""OAuth state for one upstream server: client registration and tokens, encrypted; `owner` is the user who signed in."""
