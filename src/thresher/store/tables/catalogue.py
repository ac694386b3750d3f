"""The catalogue: servers, what they offer, keys and credentials; the logs of discoveries and calls.

Invariant: a caller's key is stored as its SHA-256, and a credential sealed.
"""

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

console_session = tenant_table(
    "console_session",
    row_id(),
    Column("key_id", BigInteger, nullable=False),
    Column("hash", LargeBinary, nullable=False, unique=True),
    Column("created_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    Column("used_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    Column("expires_at", DateTime(timezone=True), nullable=False),
    ForeignKeyConstraint(["tenant_id", "key_id"], ["access_key.tenant_id", "access_key.id"], ondelete="CASCADE"),
    Index(None, "tenant_id", "key_id"),
)
"""A session of the console: opened with a key, known by the hash of what its cookie holds."""

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
    Column("auto_approve", Boolean, nullable=False, server_default="false"),
    Column("listing", LargeBinary, nullable=True),
    Column("indexed", LargeBinary, nullable=True),
    Column("trusted", Boolean, nullable=False, server_default="false"),
    UniqueConstraint("tenant_id", "owner", "name", postgresql_nulls_not_distinct=True),
)
"""`config`: transport, command, arguments, address - nothing secret; `sealed`: environment and headers, encrypted.
`state`: new, ready, stale (connection lost, last good list kept) or failed (never listed).
`auto_approve`: changed tools of this server are taken over without approval. `listing`: SHA-256 of the last good
listing and of all that judging it hung on, while the tools are as it left them. `indexed`: SHA-256 of what the search
index holds of the server's tools since the last write that was finished; null while one is under way. `trusted`: a
person has said that what this server claims about its tools, such as that one only reads, may be relied on."""

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
    Column("held", Text, nullable=False, server_default=""),
    Column("pending", JSON, nullable=True),
    Column("findings", JSONB, nullable=False, server_default="[]"),
    Column("approved_hash", LargeBinary, nullable=True),
    Column("gist", Text, nullable=False, server_default=""),
    Column("body_hash", LargeBinary, nullable=False, server_default=""),
    UniqueConstraint("tenant_id", "server_id", "name"),
    ForeignKeyConstraint(["tenant_id", "server_id"], ["server.tenant_id", "server.id"], ondelete="CASCADE"),
)
"""`enriched` is the text that is embedded, `content_hash` its SHA-256; `definition_hash` is that of the original
without its server's name; `tokens`: what the definition costs a model that reads it in full; `line`: signature and
first sentence; `gist`: a few words that tell it from its server's other tools; `body_hash` is that of the definition
without its name. `held`: why a person has to approve the tool before it can be used (`changed`, `poisoned`), empty
when nobody has to; `pending`: the definition that waits for approval, while the others keep the last approved one;
`findings`: what the scanner says of the newest definition; `approved_hash`: the `definition_hash` that a person has
approved. The schemas are JSON and not JSONB, which would forget the order in which the server names its parameters."""

consent = tenant_table(
    "consent",
    row_id(),
    Column("owner", Text, nullable=True),
    Column("tool_id", BigInteger, nullable=False),
    Column("definition_hash", LargeBinary, nullable=False),
    Column("created_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    UniqueConstraint("tenant_id", "owner", "tool_id", postgresql_nulls_not_distinct=True),
    ForeignKeyConstraint(["tenant_id", "tool_id"], ["tool.tenant_id", "tool.id"], ondelete="CASCADE"),
)
"""A person's yes to calls of a tool that claims to only read while nobody has said that its server is trusted; it holds
for exactly the definition of that hash. `owner`: the user who said it, or null for callers that stand for none."""

tool_shape = tenant_table(
    "tool_shape",
    Column("tool_id", BigInteger, primary_key=True),
    Column("shape", JSON, nullable=False),
    Column("at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    ForeignKeyConstraint(["tenant_id", "tool_id"], ["tool.tenant_id", "tool.id"], ondelete="CASCADE"),
)
"""What results of a tool without an output schema have looked like, as a JSON Schema: types and names of fields."""

tool_text = tenant_table(
    "tool_text",
    row_id(),
    Column("owner", Text, nullable=True),
    Column("server", Text, nullable=False),
    Column("tool", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("text", Text, nullable=False),
    Column("digest", LargeBinary, nullable=False),
    Column("definition_hash", LargeBinary, nullable=True),
    Column("created_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    Column("there_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    UniqueConstraint("tenant_id", "owner", "server", "tool", "kind", "digest", postgresql_nulls_not_distinct=True),
)
"""What the owner of a server has the search read of a tool beside its definition, or in place of its description, and
the tool's category. It names server and tool and has no key of theirs, so that it is there again when they return.
`kind`: `words`, of which a tool has several, with the SHA-256 of each as `digest`; or one for a tool, with an empty
`digest`: `rewrite`, which holds for the definition of that hash alone, `category`, the owner's, and `derived`; or, for
the definition of that hash, `question`s that a model wrote, and `asked`, with the model's name. A row is never changed
but for `there_at`, when its server was last known."""

tool_health = tenant_table(
    "tool_health",
    Column("server_id", BigInteger, primary_key=True),
    Column("digest", LargeBinary, nullable=False),
    Column("measured_at", DateTime(timezone=True), nullable=False),
    Column("report", JSONB, nullable=False),
    ForeignKeyConstraint(["tenant_id", "server_id"], ["server.tenant_id", "server.id"], ondelete="CASCADE"),
)
"""Whether the tools of a server are found by what their own definitions say, as it was measured last; `digest` is what
it was measured of. It names no tools of other servers."""

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
    Column("client", Text, nullable=False, server_default=""),
    Column("selection", Text, nullable=False, server_default="on"),
    Column("message", Text, nullable=True),
    Column("tokens_sent", Integer, nullable=False, server_default="0"),
    Column("tokens_all", Integer, nullable=False, server_default="0"),
)
"""One row for each `find_tools`: ids, scores and times; `message` is its text where `THRESHER_LOG_TEXT` is on;
`client`: the connection that asked; `tokens_sent`: tokens of the answer's text, `tokens_all`: those of the definitions
of all enabled tools then (0 in rows of before they were counted)."""

Index("discovery_tenant_id_at_idx", discovery.c.tenant_id, discovery.c.at)

invocation = tenant_table(
    "invocation",
    row_id(),
    Column("at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    Column("owner", Text, nullable=True),
    Column("client", Text, nullable=False, server_default=""),
    Column("trace_id", Text, nullable=False),
    Column("selection", Text, nullable=False, server_default="on"),
    Column("tool_id", BigInteger, nullable=True),
    Column("name", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("duration_ms", Float, nullable=False),
    Column("rank", Integer, nullable=True),
)
"""One row for each call of an upstream tool, without its arguments. `rank`: the tool's place, from 1, in that client's
last discovery; 0 when it was not chosen; null when the client had not asked."""

Index("invocation_tenant_id_at_idx", invocation.c.tenant_id, invocation.c.at)

tool_use = tenant_table(
    "tool_use",
    row_id(),
    Column("at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    Column("searched_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    Column("owner", Text, nullable=True),
    Column("voter", Text, nullable=False),
    Column("trace_id", Text, nullable=False),
    Column("model", Text, nullable=False),
    Column("vector", LargeBinary, nullable=False),
    Column("tool_id", BigInteger, nullable=False),
    Column("weight", Float, nullable=False),
    Column("passed", ARRAY(BigInteger), nullable=False),
    Column("failed", ARRAY(BigInteger), nullable=False),
    Column("offered", ARRAY(BigInteger), nullable=False),
    Column("standings", ARRAY(Float), nullable=False),
    Column("message", Text, nullable=True),
)
"""What the ranking learns from: one row for each successful call that belongs to a search, answered at `searched_at`.
`voter`: the user, the key, or empty, whose say it is; `trace_id`: the search; `vector`: the text's, as float16;
`weight`: how much it counts; `passed`, `failed`: tools that it counts against; `offered`: the tools of the answer, with
their `standings`, from which a replay computes another order; `message`: the text where `THRESHER_LOG_TEXT` is on."""

Index("tool_use_tenant_id_at_idx", tool_use.c.tenant_id, tool_use.c.at)

tool_learning = tenant_table(
    "tool_learning",
    Column("version", BigInteger, nullable=False, server_default="0"),
    Column("removals", BigInteger, nullable=False, server_default="0"),
    Column("mode", Text, nullable=True),
    Column("decided_by", Text, nullable=False, server_default=""),
    Column("decided_at", DateTime(timezone=True), nullable=True),
)
"""One row for each tenant with uses: a version that every change of them raises, how often some were removed, and
whether they rank tools: `off`,
`shadow` or `on` once somebody has decided, null while the setting does."""

tool_adapter = tenant_table(
    "tool_adapter",
    Column("model", Text, nullable=False),
    Column("tools", ARRAY(BigInteger), nullable=False),
    Column("offsets", LargeBinary, nullable=False),
    Column("figures", JSON, nullable=False),
    Column("made_by", Text, nullable=False),
    Column("made_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    Column("log_at", DateTime(timezone=True), nullable=True),
)
"""What training adds to the vectors of a tenant's tools: `offsets`, a float16 vector for each of `tools`, of `model`.
`figures`: what it gained on messages that it was not fitted on; `log_at`: the time of the newest use that it was fitted
on, with which it goes; null if it was fitted on a file."""

component = tenant_table(
    "component",
    row_id(),
    Column("server_id", BigInteger, nullable=False),
    Column("owner", Text, nullable=True),
    Column("kind", Text, nullable=False),
    Column("key", Text, nullable=False),
    Column("definition", JSON, nullable=False),
    UniqueConstraint("tenant_id", "server_id", "kind", "key"),
    ForeignKeyConstraint(["tenant_id", "server_id"], ["server.tenant_id", "server.id"], ondelete="CASCADE"),
)
"""Resources, resource templates and prompts of the last good listing; `kind` is `resource`, `template` or `prompt`,
`key` the URI, URI template or name, `definition` what the server listed."""

kept_result = tenant_table(
    "kept_result",
    row_id(),
    Column("owner", Text, nullable=True),
    Column("key", BigInteger, nullable=True),
    Column("session", Text, nullable=False, server_default=""),
    Column("cursor", Text, nullable=False),
    Column("tool", Text, nullable=False),
    Column("mime", Text, nullable=False, server_default=""),
    Column("size", BigInteger, nullable=False),
    Column("content", LargeBinary, nullable=False),
    Column("at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    UniqueConstraint("tenant_id", "cursor"),
)
"""A tool's result that was larger than its budget, for `read_result`. `key`: the caller's, where it has no user;
`session`: the client's, as the log names it; `size`: bytes of `content`, which is compressed and sealed."""

Index("kept_result_tenant_id_at_idx", kept_result.c.tenant_id, kept_result.c.at)
