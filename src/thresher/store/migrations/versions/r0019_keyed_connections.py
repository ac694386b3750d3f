"""Which connections somebody with a key has made: what those may open is judged again whenever they are opened."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Of connections that are there it is unknown, and their owner tells."""
    op.add_column("connection", sa.Column("keyed", sa.Boolean(), nullable=True))
