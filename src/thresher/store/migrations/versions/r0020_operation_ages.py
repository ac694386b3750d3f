"""Since when an operation has been there: searches from before that say nothing of it."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Operations that exist already count as being as old as their descriptions."""
    column = sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False)
    op.add_column("api_operation", column)
    # By the policies a migration sees no tenant's rows but for those of the tenant that it sets.
    op.execute("alter table api_operation disable row level security")
    op.execute("alter table api_version disable row level security")
    op.execute("""
        update api_operation set created_at = api_version.created_at from api_version
        where api_version.tenant_id = api_operation.tenant_id and api_version.id = api_operation.version_id
    """)
    op.execute("alter table api_version enable row level security")
    op.execute("alter table api_operation enable row level security")
