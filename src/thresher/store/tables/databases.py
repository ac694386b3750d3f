"""The databases kind: connections and their schemas; the audit log of statements.

Invariant: an address is stored sealed, as a whole; columns in clear hold no secret. Rows of the audit log are only ever
added.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    DateTime,
    Double,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    Text,
    UniqueConstraint,
    func,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.types import TypeEngine

from thresher.store.tables.metadata import row_id, tenant_table

_double: TypeEngine[float] = Double()

audit_link = tenant_table(
    "audit_link",
    Column("id", BigInteger, primary_key=True, autoincrement=False),
    Column("key", LargeBinary, nullable=False),
    Column("previous", LargeBinary, nullable=False),
    Column("hash", LargeBinary, nullable=False),
    Column("kind", Text, nullable=False),
    Column("at", DateTime(timezone=True), nullable=False),
    Column("owner", Text, nullable=True),
    Column("trace_id", Text, nullable=False),
    Column("subject", BigInteger, nullable=True),
    Column("actor", Text, nullable=False),
    Column("client", Text, nullable=False),
    Column("model", Text, nullable=False),
    Column("thread", Text, nullable=False),
    Column("connection", Text, nullable=False),
    Column("dialect", Text, nullable=False),
    Column("sql", Text, nullable=False),
    Column("tool", Text, nullable=False),
    Column("allowed", Boolean, nullable=True),
    Column("rule", Text, nullable=False),
    Column("outcome", Text, nullable=False),
    Column("rows", BigInteger, nullable=True),
    Column("ms", _double, nullable=True),
    Column("note", Text, nullable=False),
)
"""`id`: its place in the chain, counted from 1. `key`: which key its hash was made with; `previous`: the hash of the
link before; `hash`: keyed, over all other columns. `kind`: `decision`, `outcome`, `pruned` or `restarted`; `subject`:
of an outcome its decision, of the last two the last link that they speak of; `note`: of an outcome the database's
error, of the last two the hash of that link."""

Index("audit_link_tenant_id_owner_id_idx", audit_link.c.tenant_id, audit_link.c.owner, audit_link.c.id)
Index(
    "audit_link_tenant_id_kind_subject_idx",
    audit_link.c.tenant_id,
    audit_link.c.kind,
    audit_link.c.subject,
    postgresql_where=text("subject IS NOT NULL"),
)

audit_head = tenant_table(
    "audit_head",
    Column("id", BigInteger, nullable=False),
    Column("hash", LargeBinary, nullable=False),
    Column("key", LargeBinary, nullable=False),
    Column("seal", LargeBinary, nullable=False),
)
"""The last link of a tenant's chain: its place and its hash (0 and zero bytes: none yet), under a keyed hash of their
own, so that a cut tail is found."""

APPEND_ONLY: Final = {"audit_link": "update, delete, truncate", "audit_head": "delete, truncate"}
"""Tables of which the application role keeps less than the others, and what it must not do."""


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
