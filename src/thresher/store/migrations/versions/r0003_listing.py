"""Listings that were judged before are known again, and what of them is indexed; tenants can be told by name."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


_TENANTS = """
create function known_tenants() returns table (id integer, name text)
language sql stable security definer set search_path = pg_catalog, {schema}, pg_temp as $$
  select tenant.id, tenant.name from tenant order by tenant.id
$$;
comment on function known_tenants() is 'The tenants, so that a mistyped name makes no new one.';
revoke all on function known_tenants() from public;
"""


def upgrade() -> None:
    """Add the columns."""
    op.add_column("server", sa.Column("listing", sa.LargeBinary, nullable=True))
    op.add_column("server", sa.Column("indexed", sa.LargeBinary, nullable=True))
    schema = op.get_bind().exec_driver_sql("select quote_ident(current_schema())").scalar_one()
    op.get_bind().exec_driver_sql(_TENANTS.format(schema=schema))
