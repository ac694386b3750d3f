"""Webhooks that have a repository indexed again."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0030"
down_revision = "0029"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """No repository has one."""
    op.add_column("repository", sa.Column("webhook", sa.Text(), nullable=True))
    op.add_column("repository", sa.Column("webhook_at", sa.Double(), nullable=True))
