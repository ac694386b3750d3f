"""Connections that a workspace provides: what its files say of a server's tables."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add whose they are."""
    op.add_column("connection", sa.Column("workspace", sa.Text(), nullable=True))
