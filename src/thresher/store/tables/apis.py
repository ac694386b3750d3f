"""The APIs kind: providers, the versions of their descriptions, the descriptions themselves, and their operations.

Invariant: an operation keeps its row for as long as its method and path stand in the description, so that whoever knows
its id finds it again, and nothing unchanged is embedded twice.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    DateTime,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    Text,
    UniqueConstraint,
    func,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSONB

from thresher.store.tables.metadata import row_id, tenant_table

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
    UniqueConstraint("tenant_id", "owner", "name", postgresql_nulls_not_distinct=True),
)
"""`aliases`: other words for it in a question. `active`: whether search looks at it. `removing`: its operations are
being taken out of the index; nobody sees it."""

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
    ForeignKeyConstraint(
        ["tenant_id", "provider_id"], ["api_provider.tenant_id", "api_provider.id"], ondelete="CASCADE"
    ),
    UniqueConstraint("tenant_id", "provider_id", "label"),
)
"""One description of a provider. `source`: path or address, nothing secret; `etag`, `modified`: what its server said of
it. `digest`: of the bytes that are answered from; `wanted`: of newer ones that are not taken over yet; `form`: how
the operations are worded; `indexed`: what was put into the index wholly. `tags`: [name, description]. `problems`: the
first ones, as [code, message, pointer, line, column]. `counts`: operations that the last sync added, changed, removed
and kept. `edition`: raised whenever its operations are others, so that copies know that they are old."""

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
