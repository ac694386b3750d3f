"""The audit log: a chain of links, and its head.

Invariant: a link is never changed, and goes only with its tenant or after a link that says so; the head only moves on.
The application role has no right to more, triggers hold the owner to the same, and the hashes tell of whoever got
around both.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import BigInteger, Boolean, Column, DateTime, Double, Index, LargeBinary, Text, text
from sqlalchemy.types import TypeEngine

from thresher.store.tables.metadata import tenant_table

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
