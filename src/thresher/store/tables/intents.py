"""The intents kind: fitted routers, what people have decided about packs, and the log of decisions.

Invariant: no text of a message is in any row but `decision.message`, and there only where the setting says so.
"""

from __future__ import annotations

from sqlalchemy import (
    Boolean,
    Column,
    DateTime,
    Double,
    Index,
    Integer,
    LargeBinary,
    Text,
    UniqueConstraint,
    func,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSONB
from sqlalchemy.types import TypeEngine

from thresher.store.tables.metadata import row_id, tenant_table

_double: TypeEngine[float] = Double()

intent_fit = tenant_table(
    "intent_fit",
    Column("digest", LargeBinary, primary_key=True),
    Column("model", Text, nullable=False),
    Column("packed", LargeBinary, nullable=False),
    Column("hashes", ARRAY(LargeBinary), nullable=False),
    Column("fit_ms", _double, nullable=False),
    Column("made_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    Column("used_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
)
"""A fitted router under the SHA-256 of all that it was made from: lines, model, edition. `hashes`: those of the lines'
embeddings, which stay in the cache for as long as the fit is kept; `used_at`: when it was last taken into use."""

intent_threshold = tenant_table(
    "intent_threshold",
    row_id(),
    Column("owner", Text, nullable=True),
    Column("intent", Text, nullable=False),
    Column("value", _double, nullable=False),
    Column("set_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    UniqueConstraint("tenant_id", "owner", "intent", postgresql_nulls_not_distinct=True),
)
"""Thresholds set by hand, 0 to 1; `owner`: the user for whom one holds (null: everybody of the tenant)."""

pack_trust = tenant_table(
    "pack_trust",
    row_id(),
    Column("owner", Text, nullable=True),
    Column("path", Text, nullable=False),
    Column("digest", Text, nullable=False),
    Column("trusted_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    Column("texts", JSONB(none_as_null=True), nullable=True),
    UniqueConstraint("tenant_id", "owner", "path", postgresql_nulls_not_distinct=True),
)
"""Packs that a person has approved: the folder or file, the digest of exactly that content, and its texts by path (null
for none, or one too long), to show what has changed since."""

rules_given = tenant_table(
    "rules_given",
    row_id(),
    Column("owner", Text, nullable=True),
    Column("client", Text, nullable=False),
    Column("project", Text, nullable=False),
    Column("intent", Text, nullable=False),
    Column("at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    UniqueConstraint("tenant_id", "owner", "client", "project", "intent", postgresql_nulls_not_distinct=True),
)
"""Which rules a session has been given. `client`: the connection; where there is none it is empty, and `project`, the
folder that the caller works in, stands for it."""

decision = tenant_table(
    "decision",
    row_id(),
    Column("at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    Column("owner", Text, nullable=True),
    Column("client", Text, nullable=False, server_default=""),
    Column("trace_id", Text, nullable=False),
    Column("message_hash", LargeBinary, nullable=False),
    Column("message", Text, nullable=True),
    Column("intents", ARRAY(Text), nullable=False),
    Column("scores", ARRAY(_double), nullable=False),
    Column("matched", Integer, nullable=False),
    Column("confidence", _double, nullable=False),
    Column("margin", _double, nullable=False),
    Column("unsure", Boolean, nullable=False),
    Column("clarified", Boolean, nullable=False),
    Column("basis", Text, nullable=False),
    Column("degraded", Text, nullable=False, server_default=""),
    Column("cached", Boolean, nullable=False),
    Column("clauses", Integer, nullable=False),
    Column("duration_ms", _double, nullable=False),
    Column("embedding_ms", _double, nullable=False),
)
"""One row for each message that was routed. `message_hash`: keyed with the installation's secret, different in each
tenant; `intents`, `scores`: the best ones, of which the first `matched` apply, 0 when the message passes
through; `unsure`: the confidence was low; `clarified`: a question was suggested."""

Index("decision_tenant_id_at_idx", decision.c.tenant_id, decision.c.at)

intent_signal = tenant_table(
    "intent_signal",
    row_id(),
    Column("at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    Column("owner", Text, nullable=True),
    Column("client", Text, nullable=False, server_default=""),
    Column("trace_id", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("decided", ARRAY(Text), nullable=False),
    Column("pack", Text, nullable=False),
    Column("tool", Text, nullable=False, server_default=""),
)
"""What calls say of decisions. `kind`: `other` (a tool of another pack was called next), `missed` (the message had
passed through) or `unread` (a tool was called before its pack's rules were given, and the rules were the answer);
`decided`: the intents of the session's last decision; `pack`: the called tool's."""

Index("intent_signal_tenant_id_at_idx", intent_signal.c.tenant_id, intent_signal.c.at)
