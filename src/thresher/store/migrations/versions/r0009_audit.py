"""The audit log: links that nobody changes, and a head that only moves on."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.types import TypeEngine

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

_TENANT_TABLES = ("audit_link", "audit_head")
_DOUBLE: TypeEngine[float] = sa.Double()

# As in the first revision: without a tenant the cast fails, so a session that forgot to set one gets an error.
_POLICY = """
alter table "{table}" enable row level security;
alter table "{table}" force row level security;
create policy tenant_rows on "{table}"
  using (tenant_id = current_setting('app.tenant')::int)
  with check (tenant_id = current_setting('app.tenant')::int);
"""

# A tenant that goes takes its rows along: when they are deleted, its own row is gone already.
_FUNCTIONS = """
create function keep_audit_link() returns trigger
language plpgsql set search_path = pg_catalog, {schema}, pg_temp as $$
begin
  if tg_op = 'DELETE' then
    if not exists (select from tenant where tenant.id = old.tenant_id)
       or exists (select from audit_link l
                  where l.tenant_id = old.tenant_id and l.kind = 'pruned' and l.subject >= old.id) then
      return old;
    end if;
  end if;
  raise exception 'the audit log is append-only' using errcode = 'insufficient_privilege';
end $$;

create function keep_audit_head() returns trigger
language plpgsql set search_path = pg_catalog, {schema}, pg_temp as $$
begin
  if tg_op = 'DELETE' then
    if not exists (select from tenant where tenant.id = old.tenant_id) then
      return old;
    end if;
  elsif tg_op = 'UPDATE' then
    if new.tenant_id = old.tenant_id and new.id > old.id then
      return new;
    end if;
  end if;
  raise exception 'the head of the audit log only moves on' using errcode = 'insufficient_privilege';
end $$;

create trigger keep_rows before update or delete on audit_link for each row execute function keep_audit_link();
create trigger keep_all before truncate on audit_link for each statement execute function keep_audit_link();
create trigger keep_rows before update or delete on audit_head for each row execute function keep_audit_head();
create trigger keep_all before truncate on audit_head for each statement execute function keep_audit_head();

create function prune_audit() returns bigint
language plpgsql security definer set search_path = pg_catalog, {schema}, pg_temp as $$
declare
  whose constant integer := current_setting('app.tenant')::int;
  through bigint;
  removed bigint;
begin
  select max(l.subject) into through from audit_link l where l.tenant_id = whose and l.kind = 'pruned';
  delete from audit_link l where l.tenant_id = whose and l.id <= through;
  get diagnostics removed = row_count;
  return removed;
end $$;
comment on function prune_audit() is 'Removes the links that the last link of the kind pruned speaks of.';
revoke all on function prune_audit(), keep_audit_link(), keep_audit_head() from public;
"""


def upgrade() -> None:
    """Add the chain and its head."""
    _links()
    _heads()
    for table in _TENANT_TABLES:
        op.execute(_POLICY.format(table=table))
    connection = op.get_bind()
    schema = connection.exec_driver_sql("select quote_ident(current_schema())").scalar_one()
    connection.exec_driver_sql(_FUNCTIONS.format(schema=schema).replace("%", "%%"))


def _links() -> None:
    """Decisions, outcomes, and what was done to the log itself."""
    op.create_table(
        "audit_link",
        sa.Column("tenant_id", sa.Integer(), nullable=False),
        sa.Column("id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("key", sa.LargeBinary(), nullable=False),
        sa.Column("previous", sa.LargeBinary(), nullable=False),
        sa.Column("hash", sa.LargeBinary(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("owner", sa.Text(), nullable=True),
        sa.Column("trace_id", sa.Text(), nullable=False),
        sa.Column("subject", sa.BigInteger(), nullable=True),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("client", sa.Text(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("thread", sa.Text(), nullable=False),
        sa.Column("connection", sa.Text(), nullable=False),
        sa.Column("dialect", sa.Text(), nullable=False),
        sa.Column("sql", sa.Text(), nullable=False),
        sa.Column("tool", sa.Text(), nullable=False),
        sa.Column("allowed", sa.Boolean(), nullable=True),
        sa.Column("rule", sa.Text(), nullable=False),
        sa.Column("outcome", sa.Text(), nullable=False),
        sa.Column("rows", sa.BigInteger(), nullable=True),
        sa.Column("ms", _DOUBLE, nullable=True),
        sa.Column("note", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenant.id"], name="audit_link_tenant_id_fkey", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("tenant_id", "id", name="audit_link_pkey"),
    )
    op.create_index("audit_link_tenant_id_owner_id_idx", "audit_link", ["tenant_id", "owner", "id"], unique=False)
    op.create_index(
        "audit_link_tenant_id_kind_subject_idx",
        "audit_link",
        ["tenant_id", "kind", "subject"],
        unique=False,
        postgresql_where=sa.text("subject IS NOT NULL"),
    )


def _heads() -> None:
    """The end of each chain."""
    op.create_table(
        "audit_head",
        sa.Column("tenant_id", sa.Integer(), nullable=False),
        sa.Column("id", sa.BigInteger(), nullable=False),
        sa.Column("hash", sa.LargeBinary(), nullable=False),
        sa.Column("key", sa.LargeBinary(), nullable=False),
        sa.Column("seal", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenant.id"], name="audit_head_tenant_id_fkey", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("tenant_id", name="audit_head_pkey"),
    )
