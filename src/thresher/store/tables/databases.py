"""The databases kind: connections to a team's databases, and what is known of their schemas.

Invariant: an address lies here sealed, whole; what stands in clear names no secret.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    DateTime,
    ForeignKeyConstraint,
    Integer,
    LargeBinary,
    Text,
    UniqueConstraint,
    func,
)
from sqlalchemy.dialects.postgresql import ARRAY

from thresher.store.tables.metadata import row_id, tenant_table

connection = tenant_table(
    "connection",
    row_id(),
    Column("owner", Text, nullable=True),
    Column("name", Text, nullable=False),
    Column("dialect", Text, nullable=False),
    Column("location", Text, nullable=False),
    Column("account", Text, nullable=False, server_default=""),
    Column("sealed", LargeBinary, nullable=False),
    Column("samples", Boolean, nullable=False, server_default="true"),
    Column("description", Text, nullable=False, server_default=""),
    Column("functions", ARRAY(Text), nullable=False, server_default="{}"),
    Column("configured", Boolean, nullable=False, server_default="false"),
    Column("changes", BigInteger, nullable=False, server_default="0"),
    Column("state", Text, nullable=False, server_default="new"),
    Column("problem", Text, nullable=False, server_default=""),
    Column("version", Text, nullable=False, server_default=""),
    Column("writable", ARRAY(Text), nullable=False, server_default="{}"),
    Column("tables", Integer, nullable=False, server_default="0"),
    Column("stamp", Text, nullable=False, server_default=""),
    Column("edition", BigInteger, nullable=False, server_default="0"),
    Column("job", BigInteger, nullable=False, server_default="0"),
    Column("created_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    Column("schema_at", DateTime(timezone=True), nullable=True),
    Column("workspace", Text, nullable=True),
    Column("keyed", Boolean, nullable=True),
    UniqueConstraint("tenant_id", "owner", "name", postgresql_nulls_not_distinct=True),
)
"""`sealed`: the address with its password. `location`, `account`: of it what is no secret. `functions`: of users of
that database, that may be called. `configured`: it comes from a file, and goes with it. `changes`: raised whenever the
address or what a session may do is changed, so that sessions know that they are old. `state`: new, ready, stale, failed
or removing. `stamp`: of the schema, as the database gave it. `edition`: raised with every other schema or other
relations, so that copies know that they are old. `job`: the last that embedded its tables. `workspace`: name of the one
that provides it, of its owner's; null where somebody added it. `keyed`: somebody with a key gave its address; null in
rows that are older than the column."""

schema_snapshot = tenant_table(
    "schema_snapshot",
    Column("connection_id", BigInteger, primary_key=True),
    Column("edition", BigInteger, nullable=False),
    Column("digest", Text, nullable=False),
    Column("document", LargeBinary, nullable=False),
    Column("relations", LargeBinary, nullable=False),
    Column("indexed", Text, nullable=False, server_default=""),
    Column("read_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    ForeignKeyConstraint(["tenant_id", "connection_id"], ["connection.tenant_id", "connection.id"], ondelete="CASCADE"),
)
"""The schema of a connection. `edition`: the connection's, when it was written; `digest`: of the schema; `document`: it
and the number of each table in the index, `relations`: the potential ones, both as compressed JSON. `indexed`: the
digest that was put into the index wholly, and in which form."""
