"""What a repository was last indexed from, while it is tried with another ref or other patterns."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Of repositories that exist the stored origin is the one that counts."""
    op.add_column("repository", sa.Column("former", JSONB(), nullable=True))
