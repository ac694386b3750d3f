"""Languages of what is indexed: words are stemmed by the language of their document."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import ARRAY

revision = "0035"
down_revision = "0034"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Everything is stemmed as English until its repository's next run, or its server's next listing."""
    op.add_column("collection", sa.Column("languages", ARRAY(sa.Text()), server_default="{}", nullable=False))
    op.add_column("document", sa.Column("stemming", sa.Text(), server_default="", nullable=False))
