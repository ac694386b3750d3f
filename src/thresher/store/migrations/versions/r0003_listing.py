"""Listings that were judged before are known again: unchanged servers cost a start next to nothing."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the columns."""
    op.add_column("server", sa.Column("listing", sa.LargeBinary, nullable=True))
    op.add_column("server", sa.Column("indexed", sa.LargeBinary, nullable=True))
