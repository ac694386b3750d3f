"""Texts of a pack as a person approved it, to show what has changed since."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0038"
down_revision = "0037"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """A column; what was approved before stays without texts."""
    op.add_column("pack_trust", sa.Column("texts", JSONB(none_as_null=True), nullable=True))
