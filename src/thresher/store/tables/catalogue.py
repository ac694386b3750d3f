"""The catalogue: upstream servers, their tools, and the log of discoveries."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    DateTime,
    Float,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    Text,
    UniqueConstraint,
    func,
    true,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSON, JSONB

from thresher.store.tables.metadata import row_id, tenant_table

server = tenant_table(
    "server",
    row_id(),
    Column("owner", Text, nullable=True),
    Column("name", Text, nullable=False),
    Column("config", JSONB, nullable=False),
    Column("sealed", LargeBinary, nullable=True),
    Column("description", Text, nullable=False, server_default=""),
    Column("enabled", Boolean, nullable=False, server_default=true()),
    Column("state", Text, nullable=False, server_default="new"),
    Column("error", Text, nullable=False, server_default=""),
    Column("listed_at", DateTime(timezone=True), nullable=True),
    Column("created_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    UniqueConstraint("tenant_id", "owner", "name", postgresql_nulls_not_distinct=True),
)
"""`config`: transport, command, arguments, address - nothing secret; `sealed`: environment and headers, encrypted.
`state`: new, ready, stale (connection lost, last good list kept) or failed (never listed)."""

tool = tenant_table(
    "tool",
    row_id(),
    Column("server_id", BigInteger, nullable=False),
    Column("owner", Text, nullable=True),
    Column("name", Text, nullable=False),
    Column("title", Text, nullable=False, server_default=""),
    Column("description", Text, nullable=False, server_default=""),
    Column("input_schema", JSON, nullable=False),
    Column("output_schema", JSON, nullable=True),
    Column("annotations", JSON, nullable=False),
    Column("enriched", Text, nullable=False),
    Column("content_hash", LargeBinary, nullable=False),
    Column("definition_hash", LargeBinary, nullable=False),
    Column("tokens", Integer, nullable=False, server_default="0"),
    Column("line", Text, nullable=False, server_default=""),
    Column("enabled", Boolean, nullable=False, server_default=true()),
    Column("core", Boolean, nullable=False, server_default="false"),
    Column("created_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    Column("updated_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    UniqueConstraint("tenant_id", "server_id", "name"),
    ForeignKeyConstraint(["tenant_id", "server_id"], ["server.tenant_id", "server.id"], ondelete="CASCADE"),
)
"""`enriched` is the text that is embedded, `content_hash` its SHA-256; `definition_hash` is that of the original
without its server's name; `tokens`: what the definition costs a model that reads it in full;
`line`: signature and first sentence.
The schemas are JSON and not JSONB, which would forget the order in which the server names its parameters."""

discovery = tenant_table(
    "discovery",
    row_id(),
    Column("at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    Column("owner", Text, nullable=True),
    Column("trace_id", Text, nullable=False),
    Column("source", Text, nullable=False),
    Column("clauses", Integer, nullable=False),
    Column("searched", Integer, nullable=False),
    Column("chosen", ARRAY(BigInteger), nullable=False),
    Column("scores", ARRAY(Float), nullable=False),
    Column("abstained", Boolean, nullable=False),
    Column("degraded", Text, nullable=False, server_default=""),
    Column("duration_ms", Float, nullable=False),
    Column("embedding_ms", Float, nullable=False),
)
"""One row for each `find_tools`: ids, scores and times, never the text of the message."""

Index("discovery_tenant_id_at_idx", discovery.c.tenant_id, discovery.c.at)
