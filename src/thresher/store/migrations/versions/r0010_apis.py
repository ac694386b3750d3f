"""APIs: providers, the versions of their descriptions, the descriptions themselves, and their operations."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

_TENANT_TABLES = ("api_provider", "api_version", "api_document", "api_operation")

# As in the first revision: without a tenant the cast fails, so a session that forgot to set one gets an error.
_POLICY = """
alter table "{table}" enable row level security;
alter table "{table}" force row level security;
create policy tenant_rows on "{table}"
  using (tenant_id = current_setting('app.tenant')::int)
  with check (tenant_id = current_setting('app.tenant')::int);
"""


def upgrade() -> None:
    """Add what the APIs kind keeps."""
    _providers()
    _versions()
    _documents()
    _operations()
    for table in _TENANT_TABLES:
        op.execute(_POLICY.format(table=table))


def _providers() -> None:
    """APIs by name."""
    op.create_table(
        "api_provider",
        *_row("api_provider"),
        sa.Column("owner", sa.Text(), nullable=True),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("display_name", sa.Text(), nullable=False),
        sa.Column("aliases", postgresql.ARRAY(sa.Text()), server_default="{}", nullable=False),
        sa.Column("base_url", sa.Text(), server_default="", nullable=False),
        sa.Column("active", sa.Boolean(), server_default="true", nullable=False),
        sa.Column("removing", sa.Boolean(), server_default="false", nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.UniqueConstraint(
            "tenant_id",
            "owner",
            "name",
            name="api_provider_tenant_id_owner_name_key",
            postgresql_nulls_not_distinct=True,
        ),
    )


def _versions() -> None:
    """Where descriptions come from, and how far they are indexed."""
    op.create_table(
        "api_version",
        *_row("api_version"),
        sa.Column("provider_id", sa.BigInteger(), nullable=False),
        sa.Column("label", sa.Text(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        *(sa.Column(name, sa.Text(), server_default="", nullable=False) for name in ("etag", "modified")),
        *(sa.Column(name, sa.Text(), server_default="", nullable=False) for name in ("dialect", "title", "declared")),
        sa.Column("servers", postgresql.ARRAY(sa.Text()), server_default="{}", nullable=False),
        sa.Column("tags", postgresql.JSONB(), server_default="[]", nullable=False),
        sa.Column("operations", sa.Integer(), server_default="0", nullable=False),
        *(
            sa.Column(name, sa.Text(), server_default="", nullable=False)
            for name in ("digest", "wanted", "form", "indexed")
        ),
        sa.Column("problems", postgresql.JSONB(), server_default="[]", nullable=False),
        sa.Column("problem_count", sa.Integer(), server_default="0", nullable=False),
        sa.Column("counts", postgresql.JSONB(), server_default="{}", nullable=False),
        sa.Column("state", sa.Text(), server_default="waiting", nullable=False),
        sa.Column("failure", sa.Text(), server_default="", nullable=False),
        sa.Column("job", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("edition", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("removing", sa.Boolean(), server_default="false", nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("synced_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["tenant_id", "provider_id"],
            ["api_provider.tenant_id", "api_provider.id"],
            name="api_version_tenant_id_provider_id_fkey",
            ondelete="CASCADE",
        ),
        sa.UniqueConstraint("tenant_id", "provider_id", "label", name="api_version_tenant_id_provider_id_label_key"),
    )


def _documents() -> None:
    """The bytes of descriptions."""
    op.create_table(
        "api_document",
        sa.Column("tenant_id", sa.Integer(), nullable=False),
        sa.Column("version_id", sa.BigInteger(), nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("size", sa.Integer(), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.Column("read_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenant.id"], name="api_document_tenant_id_fkey", ondelete="CASCADE"),
        _of_version("api_document"),
        sa.PrimaryKeyConstraint("tenant_id", "version_id", "digest", name="api_document_pkey"),
    )


def _operations() -> None:
    """What descriptions describe."""
    op.create_table(
        "api_operation",
        *_row("api_operation"),
        sa.Column("version_id", sa.BigInteger(), nullable=False),
        sa.Column("endpoint", sa.Text(), nullable=False),
        sa.Column("method", sa.Text(), nullable=False),
        sa.Column("path", sa.Text(), nullable=False),
        sa.Column("operation_id", sa.Text(), server_default="", nullable=False),
        sa.Column("summary", sa.Text(), server_default="", nullable=False),
        sa.Column("description", sa.Text(), server_default="", nullable=False),
        sa.Column("tags", postgresql.ARRAY(sa.Text()), server_default="{}", nullable=False),
        sa.Column("parameters", postgresql.ARRAY(sa.Text()), server_default="{}", nullable=False),
        sa.Column("body", sa.Text(), server_default="", nullable=False),
        sa.Column("tips", postgresql.ARRAY(sa.Text()), server_default="{}", nullable=False),
        sa.Column("deprecated", sa.Boolean(), server_default="false", nullable=False),
        sa.Column("pointer", sa.Text(), server_default="", nullable=False),
        sa.Column("ordinal", sa.Integer(), nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("wording", postgresql.JSONB(), server_default="{}", nullable=False),
        sa.Column("current", sa.Boolean(), server_default="true", nullable=False),
        _of_version("api_operation"),
        sa.UniqueConstraint(
            "tenant_id", "version_id", "method", "path", name="api_operation_tenant_id_version_id_method_path_key"
        ),
    )
    op.create_index("api_operation_tenant_id_endpoint_idx", "api_operation", ["tenant_id", "endpoint"], unique=False)


def _of_version(table: str) -> sa.ForeignKeyConstraint:
    """What belongs to a version goes with it."""
    return sa.ForeignKeyConstraint(
        ["tenant_id", "version_id"],
        ["api_version.tenant_id", "api_version.id"],
        name=f"{table}_tenant_id_version_id_fkey",
        ondelete="CASCADE",
    )


def _row(table: str) -> tuple[sa.Column[int] | sa.Constraint, ...]:
    """What every tenant table with rows of their own begins with."""
    return (
        sa.Column("tenant_id", sa.Integer(), nullable=False),
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenant.id"], name=f"{table}_tenant_id_fkey", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("tenant_id", "id", name=f"{table}_pkey"),
    )
