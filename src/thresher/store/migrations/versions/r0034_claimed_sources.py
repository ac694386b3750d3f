"""Which daemon follows a source, descriptions of APIs that are followed, and sources that callers with a key chose."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0034"
down_revision = "0033"
branch_labels = None
depends_on = None

_NOW = sa.func.now()


def upgrade() -> None:
    """Nobody follows a source yet; those of users were chosen with a key, since others have no user."""
    op.add_column("api_provider", sa.Column("check_seconds", sa.Integer(), nullable=True))
    op.add_column("api_version", sa.Column("check_at", sa.DateTime(timezone=True), server_default=_NOW, nullable=False))
    for table in ("repository", "api_version"):
        op.add_column(table, sa.Column("claimed_by", sa.Text(), server_default="", nullable=False))
        op.add_column(table, sa.Column("keyed", sa.Boolean(), server_default="false", nullable=False))
    # By the policies a migration sees no tenant's rows but for those of the tenant that it sets.
    for table in ("repository", "api_version", "api_provider"):
        op.execute(f"alter table {table} disable row level security")
    op.execute("update repository set keyed = true where owner is not null")
    op.execute("""
        update api_version v set keyed = true from api_provider p
        where p.tenant_id = v.tenant_id and p.id = v.provider_id and p.owner is not null""")
    for table in ("repository", "api_version", "api_provider"):
        op.execute(f"alter table {table} enable row level security")
    op.execute("drop function take_up_sources(double precision, integer)")
    _function(
        "take_up_sources",
        "repository",
        """select due.id from repository due
                where due.tenant_id = whose and due.check_at <= now() and due.state <> 'removing'
                  and due.kind <> 'upload' and due.check_seconds is distinct from 0""",
        "the sources of documents",
    )
    _function(
        "take_up_descriptions",
        "api_version",
        """select due.id from api_version due join api_provider p
                  on p.tenant_id = due.tenant_id and p.id = due.provider_id
                where due.tenant_id = whose and due.check_at <= now() and not due.removing and not p.removing
                  and p.check_seconds is distinct from 0""",
        "the sources of descriptions of APIs",
    )


def _function(name: str, table: str, due: str, what: str) -> None:
    schema = op.get_bind().exec_driver_sql("select current_schema()").scalar_one()
    op.execute(f"""
        create function {name}(seconds double precision, most integer, claimant text)
        returns table(tenant integer, source bigint)
        language plpgsql security definer set search_path = pg_catalog, {schema}, pg_temp as $$
        declare
          caller constant text := current_setting('app.tenant');
          whose integer;
        begin
          for whose in select t.id from tenant t order by t.id loop
            perform set_config('app.tenant', whose::text, true);
            return query
              update {table} r set check_at = now() + make_interval(secs => {name}.seconds),
                claimed_by = {name}.claimant
              where r.tenant_id = whose and r.id in (
                {due}
                order by due.check_at limit {name}.most for update of due skip locked)
              returning r.tenant_id, r.id;
          end loop;
          perform set_config('app.tenant', caller, true);
        end $$""")  # noqa: S608 - names of our own
    signature = f"{name}(double precision, integer, text)"
    op.execute(
        f"comment on function {signature} is"
        f" 'Takes up {what} that are due, of all tenants: no other daemon does for some seconds.'"
    )
    op.execute(f"revoke all on function {signature} from public")
