"""Files that people upload into a repository."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0029"
down_revision = "0028"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """A table under the policy of all rows of tenants."""
    op.create_table(
        "upload",
        sa.Column("tenant_id", sa.Integer(), nullable=False),
        sa.Column("repository_id", sa.BigInteger(), nullable=False),
        sa.Column("path", sa.Text(collation="C"), nullable=False),
        sa.Column("archive", sa.Text(), server_default="", nullable=False),
        sa.Column("blob", sa.Text(), nullable=False),
        sa.Column("size", sa.Integer(), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), server_default=sa.func.now(), nullable=False),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenant.id"], name="upload_tenant_id_fkey", ondelete="CASCADE"),
        sa.ForeignKeyConstraint(
            ["tenant_id", "repository_id"],
            ["repository.tenant_id", "repository.id"],
            name="upload_tenant_id_repository_id_fkey",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("tenant_id", "repository_id", "path", name="upload_pkey"),
    )
    op.execute("alter table upload enable row level security")
    op.execute("alter table upload force row level security")
    op.execute(
        "create policy tenant_rows on upload using (tenant_id = current_setting('app.tenant')::int)"
        " with check (tenant_id = current_setting('app.tenant')::int)"
    )
