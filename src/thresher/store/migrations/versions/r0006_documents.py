"""Documents: repositories, the versions of their files, and the texts of these."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

_TENANT_TABLES = ("repository", "document", "chunk")

# As in the first revision: without a tenant the cast fails, so a session that forgot to set one gets an error.
_POLICY = """
alter table "{table}" enable row level security;
alter table "{table}" force row level security;
create policy tenant_rows on "{table}"
  using (tenant_id = current_setting('app.tenant')::int)
  with check (tenant_id = current_setting('app.tenant')::int);
"""


def upgrade() -> None:
    """Add what the documents kind keeps."""
    _repositories()
    _documents()
    _chunks()
    for table in _TENANT_TABLES:
        op.execute(_POLICY.format(table=table))


def _repositories() -> None:
    """Where documents come from, and how far they are indexed."""
    op.create_table(
        "repository",
        *_row("repository"),
        sa.Column("owner", sa.Text(), nullable=True),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("location", sa.Text(), nullable=False),
        sa.Column("ref", sa.Text(), server_default="", nullable=False),
        sa.Column("include", postgresql.ARRAY(sa.Text()), nullable=False),
        sa.Column("exclude", postgresql.ARRAY(sa.Text()), nullable=False),
        sa.Column("version", sa.Text(), server_default="", nullable=False),
        sa.Column("guide", sa.Text(), server_default="", nullable=False),
        sa.Column("guide_by", sa.Text(), server_default="structure", nullable=False),
        sa.Column("acronyms", postgresql.JSONB(), server_default="{}", nullable=False),
        sa.Column("documents", sa.Integer(), server_default="0", nullable=False),
        sa.Column("chunks", sa.Integer(), server_default="0", nullable=False),
        sa.Column("tokens", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("embedded", sa.Integer(), server_default="0", nullable=False),
        sa.Column("skipped", postgresql.JSONB(), server_default="[]", nullable=False),
        sa.Column("skipped_counts", postgresql.JSONB(), server_default="{}", nullable=False),
        sa.Column("state", sa.Text(), server_default="waiting", nullable=False),
        sa.Column("problem", sa.Text(), server_default="", nullable=False),
        sa.Column("job", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("edition", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("indexed_at", sa.DateTime(timezone=True), nullable=True),
        sa.UniqueConstraint(
            "tenant_id",
            "owner",
            "name",
            name="repository_tenant_id_owner_name_key",
            postgresql_nulls_not_distinct=True,
        ),
    )


def _documents() -> None:
    """Versions of files; of each path one is current."""
    op.create_table(
        "document",
        *_row("document"),
        sa.Column("repository_id", sa.BigInteger(), nullable=False),
        sa.Column("path", sa.Text(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("media", sa.Text(), nullable=False),
        sa.Column("blob", sa.Text(), nullable=False),
        sa.Column("format", sa.Integer(), nullable=False),
        sa.Column("tokens", sa.BigInteger(), nullable=False),
        sa.Column("lines", sa.Integer(), nullable=False),
        sa.Column("chunks", sa.Integer(), nullable=False),
        sa.Column("notes", postgresql.ARRAY(sa.Text()), nullable=False),
        sa.Column("outline", postgresql.JSONB(), server_default="{}", nullable=False),
        sa.Column("sections", postgresql.JSONB(), server_default="[]", nullable=False),
        sa.Column("layout", sa.LargeBinary(), nullable=False),
        sa.Column("current", sa.Boolean(), server_default="false", nullable=False),
        sa.Column("made_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.ForeignKeyConstraint(
            ["tenant_id", "repository_id"],
            ["repository.tenant_id", "repository.id"],
            name="document_tenant_id_repository_id_fkey",
            ondelete="CASCADE",
        ),
    )
    op.create_index(
        "document_tenant_id_repository_id_path_idx",
        "document",
        ["tenant_id", "repository_id", "path"],
        unique=True,
        postgresql_where=sa.text("current"),
    )
    op.create_index("document_tenant_id_repository_id_idx", "document", ["tenant_id", "repository_id"], unique=False)


def _chunks() -> None:
    """The texts of documents, in pieces."""
    op.create_table(
        "chunk",
        sa.Column("tenant_id", sa.Integer(), nullable=False),
        sa.Column("document_id", sa.BigInteger(), nullable=False),
        sa.Column("ordinal", sa.Integer(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenant.id"], name="chunk_tenant_id_fkey", ondelete="CASCADE"),
        sa.ForeignKeyConstraint(
            ["tenant_id", "document_id"],
            ["document.tenant_id", "document.id"],
            name="chunk_tenant_id_document_id_fkey",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("tenant_id", "document_id", "ordinal", name="chunk_pkey"),
    )


def _row(table: str) -> tuple[sa.Column[int] | sa.Constraint, ...]:
    """What every tenant table with rows of their own begins with."""
    return (
        sa.Column("tenant_id", sa.Integer(), nullable=False),
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenant.id"], name=f"{table}_tenant_id_fkey", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("tenant_id", "id", name=f"{table}_pkey"),
    )
