"""The APIs kind: providers, versions, descriptions and their operations; the logs of searches and reads.

Invariant: an operation keeps its row for as long as its method and path are in the description: an id stays valid, and
nothing unchanged is embedded twice.
"""

from __future__ import annotations

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
)
from sqlalchemy.dialects.postgresql import ARRAY, JSONB
from sqlalchemy.types import TypeEngine

from thresher.store.tables.metadata import row_id, tenant_table

_double: TypeEngine[float] = Double()

api_search_log = tenant_table(
    "api_search_log",
    row_id(),
    Column("at", DateTime(timezone=True), nullable=False),
    Column("owner", Text, nullable=True),
    Column("client", Text, nullable=False, server_default=""),
    Column("trace_id", Text, nullable=False, server_default=""),
    Column("mode", Text, nullable=False),
    Column("query", Text, nullable=True),
    Column("providers", ARRAY(Text), nullable=False),
    Column("hits", ARRAY(BigInteger), nullable=False),
    Column("duration_ms", _double, nullable=False),
    Column("error", Text, nullable=False, server_default=""),
    Column("read_rank", Integer, nullable=True),
)
"""One row for each search. `query`: its words, folded; null where the setting keeps them out. `providers`: those that
it was kept to, else those of its hits. `hits`: the numbers in the endpoints' ids, best first, those of later pages at
the end. `error`: the code of what it failed with. `read_rank`: the best place, from 1, of a hit that the same caller
read within half an hour; null for none."""

Index("api_search_log_tenant_id_at_idx", api_search_log.c.tenant_id, api_search_log.c.at)

api_read_log = tenant_table(
    "api_read_log",
    row_id(),
    Column("at", DateTime(timezone=True), nullable=False),
    Column("owner", Text, nullable=True),
    Column("client", Text, nullable=False, server_default=""),
    Column("trace_id", Text, nullable=False, server_default=""),
    Column("endpoint", BigInteger, nullable=True),
    Column("operation", Text, nullable=False, server_default=""),
    Column("provider", Text, nullable=False, server_default=""),
    Column("duration_ms", _double, nullable=False),
    Column("error", Text, nullable=False, server_default=""),
)
"""One row for each endpoint that was read, or could not be. `endpoint`: the number in its id; null where none was
found. `operation`: `GET /path`."""

Index("api_read_log_tenant_id_at_idx", api_read_log.c.tenant_id, api_read_log.c.at)


api_provider = tenant_table(
    "api_provider",
    row_id(),
    Column("owner", Text, nullable=True),
    Column("name", Text, nullable=False),
    Column("display_name", Text, nullable=False),
    Column("aliases", ARRAY(Text), nullable=False, server_default="{}"),
    Column("base_url", Text, nullable=False, server_default=""),
    Column("active", Boolean, nullable=False, server_default="true"),
    Column("removing", Boolean, nullable=False, server_default="false"),
    Column("created_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    Column("check_seconds", Integer, nullable=True),
    UniqueConstraint("tenant_id", "owner", "name", postgresql_nulls_not_distinct=True),
)
"""`aliases`: other words for it in a question. `active`: whether search looks at it. `removing`: its operations are
being taken out of the index; nobody sees it. `check_seconds`: how often its sources are checked for changes; null: as
the settings say; 0: never."""

api_version = tenant_table(
    "api_version",
    row_id(),
    Column("provider_id", BigInteger, nullable=False),
    Column("label", Text, nullable=False),
    Column("source", Text, nullable=False),
    Column("etag", Text, nullable=False, server_default=""),
    Column("modified", Text, nullable=False, server_default=""),
    Column("dialect", Text, nullable=False, server_default=""),
    Column("title", Text, nullable=False, server_default=""),
    Column("declared", Text, nullable=False, server_default=""),
    Column("servers", ARRAY(Text), nullable=False, server_default="{}"),
    Column("tags", JSONB, nullable=False, server_default="[]"),
    Column("operations", Integer, nullable=False, server_default="0"),
    Column("digest", Text, nullable=False, server_default=""),
    Column("wanted", Text, nullable=False, server_default=""),
    Column("form", Text, nullable=False, server_default=""),
    Column("indexed", Text, nullable=False, server_default=""),
    Column("problems", JSONB, nullable=False, server_default="[]"),
    Column("problem_count", Integer, nullable=False, server_default="0"),
    Column("counts", JSONB, nullable=False, server_default="{}"),
    Column("state", Text, nullable=False, server_default="waiting"),
    Column("failure", Text, nullable=False, server_default=""),
    Column("job", BigInteger, nullable=False, server_default="0"),
    Column("edition", BigInteger, nullable=False, server_default="0"),
    Column("removing", Boolean, nullable=False, server_default="false"),
    Column("created_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    Column("synced_at", DateTime(timezone=True), nullable=True),
    Column("check_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    Column("claimed_by", Text, nullable=False, server_default=""),
    Column("keyed", Boolean, nullable=False, server_default="false"),
    ForeignKeyConstraint(
        ["tenant_id", "provider_id"], ["api_provider.tenant_id", "api_provider.id"], ondelete="CASCADE"
    ),
    UniqueConstraint("tenant_id", "provider_id", "label"),
)
"""One description of a provider. `source`: path or address, nothing secret; `etag`, `modified`: what its server said of
it. `digest`: of the bytes that are answered from; `wanted`: of newer ones that are not taken over yet; `form`: how
the operations are worded; `indexed`: what was put into the index wholly. `tags`: [name, description]. `problems`: the
first ones, as [code, message, pointer, line, column]. `counts`: operations that the last sync added, changed, removed
and kept. `edition`: raised whenever its operations are others, so that copies know that they are old. `check_at`: when
a daemon may check its source next; the one that does, `claimed_by`, moves it on. `keyed`: whether a caller with a key
chose the source."""

api_document = tenant_table(
    "api_document",
    Column("version_id", BigInteger, primary_key=True),
    Column("digest", Text, primary_key=True),
    Column("size", Integer, nullable=False),
    Column("body", LargeBinary, nullable=False),
    Column("read_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    ForeignKeyConstraint(["tenant_id", "version_id"], ["api_version.tenant_id", "api_version.id"], ondelete="CASCADE"),
)
"""The bytes of a description as they were read, compressed: those that are answered from, and newer ones until they are
taken over."""

api_operation = tenant_table(
    "api_operation",
    row_id(),
    Column("version_id", BigInteger, nullable=False),
    Column("endpoint", Text, nullable=False),
    Column("method", Text, nullable=False),
    Column("path", Text, nullable=False),
    Column("operation_id", Text, nullable=False, server_default=""),
    Column("summary", Text, nullable=False, server_default=""),
    Column("description", Text, nullable=False, server_default=""),
    Column("tags", ARRAY(Text), nullable=False, server_default="{}"),
    Column("parameters", ARRAY(Text), nullable=False, server_default="{}"),
    Column("body", Text, nullable=False, server_default=""),
    Column("tips", ARRAY(Text), nullable=False, server_default="{}"),
    Column("deprecated", Boolean, nullable=False, server_default="false"),
    Column("pointer", Text, nullable=False, server_default=""),
    Column("ordinal", Integer, nullable=False),
    Column("digest", Text, nullable=False),
    Column("wording", JSONB, nullable=False, server_default="{}"),
    Column("current", Boolean, nullable=False, server_default="true"),
    Column("created_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    ForeignKeyConstraint(["tenant_id", "version_id"], ["api_version.tenant_id", "api_version.id"], ondelete="CASCADE"),
    UniqueConstraint("tenant_id", "version_id", "method", "path"),
)
"""`endpoint`: the id that is given out, a digest of provider, version, method and path. `description`: clipped; `body`:
name of the schema of what it is sent; `ordinal`: its place in the description. `digest`: of all that the description
says of it; `wording`: what of it is put into the index. `current`: whether the description still has it; one that is
gone stays until the index knows. `created_at`: since when searches can find it."""

Index("api_operation_tenant_id_endpoint_idx", api_operation.c.tenant_id, api_operation.c.endpoint)

api_host = tenant_table(
    "api_host",
    row_id(),
    Column("provider_id", BigInteger, nullable=False),
    Column("owner", Text, nullable=True),
    Column("origin", Text, nullable=False),
    Column("private", Boolean, nullable=False),
    Column("created_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    ForeignKeyConstraint(
        ["tenant_id", "provider_id"], ["api_provider.tenant_id", "api_provider.id"], ondelete="CASCADE"
    ),
    UniqueConstraint("tenant_id", "provider_id", "owner", "origin", postgresql_nulls_not_distinct=True),
)
"""A host that calls of a provider may reach, as `https://host:port`; `owner`: the user who allowed it, or null for the
tenant. `private`: whether its addresses need not be public."""

api_credential = tenant_table(
    "api_credential",
    row_id(),
    Column("provider_id", BigInteger, nullable=False),
    Column("owner", Text, nullable=True),
    Column("scheme", Text, nullable=False),
    Column("about", JSONB, nullable=False),
    Column("sealed", LargeBinary, nullable=False),
    Column("updated_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    ForeignKeyConstraint(
        ["tenant_id", "provider_id"], ["api_provider.tenant_id", "api_provider.id"], ondelete="CASCADE"
    ),
    UniqueConstraint("tenant_id", "provider_id", "owner", "scheme", postgresql_nulls_not_distinct=True),
)
"""What calls of a provider prove themselves with. `scheme`: the security scheme of the description, empty if it has
none; `about`: how it is sent, nothing secret; `sealed`: user and secret, encrypted."""
