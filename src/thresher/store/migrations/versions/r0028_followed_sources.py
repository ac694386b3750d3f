"""When sources of documents are checked by themselves, and by which daemon."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0028"
down_revision = "0027"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Every source is due; a function takes up those of all tenants, each for one daemon."""
    op.add_column("repository", sa.Column("check_seconds", sa.Integer(), nullable=True))
    op.add_column(
        "repository",
        sa.Column("check_at", sa.DateTime(timezone=True), server_default=sa.func.now(), nullable=False),
    )
    schema = op.get_bind().exec_driver_sql("select current_schema()").scalar_one()
    op.execute(f"""
        create function take_up_sources(seconds double precision, most integer)
        returns table(tenant integer, source bigint)
        language plpgsql security definer set search_path = pg_catalog, {schema}, pg_temp as $$
        declare
          caller constant text := current_setting('app.tenant');
          whose integer;
        begin
          for whose in select t.id from tenant t order by t.id loop
            perform set_config('app.tenant', whose::text, true);
            return query
              update repository r set check_at = now() + make_interval(secs => take_up_sources.seconds)
              where r.tenant_id = whose and r.id in (
                select due.id from repository due
                where due.tenant_id = whose and due.check_at <= now() and due.state <> 'removing'
                  and due.kind <> 'upload' and due.check_seconds is distinct from 0
                order by due.check_at limit take_up_sources.most for update skip locked)
              returning r.tenant_id, r.id;
          end loop;
          perform set_config('app.tenant', caller, true);
        end $$""")  # noqa: S608 - the name of our own schema
    op.execute(
        "comment on function take_up_sources(double precision, integer) is"
        " 'Takes up the sources that are due, of all tenants: no other daemon does for some seconds.'"
    )
    op.execute("revoke all on function take_up_sources(double precision, integer) from public")
