"""Intents: fitted routers, thresholds by hand, trusted packs, rules that sessions were given, the log of decisions."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql
from sqlalchemy.types import TypeEngine

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

_DOUBLE: TypeEngine[float] = sa.Double()
_TENANT_TABLES = ("intent_fit", "intent_threshold", "pack_trust", "rules_given", "decision", "intent_signal")

# As in the first revision: without a tenant the cast fails, so a session that forgot to set one gets an error.
_POLICY = """
alter table "{table}" enable row level security;
alter table "{table}" force row level security;
create policy tenant_rows on "{table}"
  using (tenant_id = current_setting('app.tenant')::int)
  with check (tenant_id = current_setting('app.tenant')::int);
"""

_FUNCTIONS = """
create or replace function purge_logs(before timestamptz) returns bigint
language plpgsql security definer set search_path = pg_catalog, {schema}, pg_temp as $$
declare
  caller constant text := current_setting('app.tenant');
  whose integer;
  removed bigint;
  total bigint := 0;
begin
  for whose in select tenant.id from tenant loop
    perform set_config('app.tenant', whose::text, true);
    with discoveries as (
           delete from discovery where (tenant_id, id) in (
             select o.tenant_id, o.id from discovery o
             where o.tenant_id = whose and o.at <= purge_logs.before limit 20000)
           returning 1),
         invocations as (
           delete from invocation where (tenant_id, id) in (
             select o.tenant_id, o.id from invocation o
             where o.tenant_id = whose and o.at <= purge_logs.before limit 20000)
           returning 1),
         decisions as (
           delete from decision where (tenant_id, id) in (
             select o.tenant_id, o.id from decision o
             where o.tenant_id = whose and o.at <= purge_logs.before limit 20000)
           returning 1),
         signals as (
           delete from intent_signal where (tenant_id, id) in (
             select o.tenant_id, o.id from intent_signal o
             where o.tenant_id = whose and o.at <= purge_logs.before limit 20000)
           returning 1),
         given as (
           delete from rules_given where (tenant_id, id) in (
             select o.tenant_id, o.id from rules_given o
             where o.tenant_id = whose and o.at <= purge_logs.before limit 20000)
           returning 1)
    select (select count(*) from discoveries) + (select count(*) from invocations)
         + (select count(*) from decisions) + (select count(*) from signals) + (select count(*) from given)
    into removed;
    total := total + removed;
  end loop;
  perform set_config('app.tenant', caller, true);
  return total;
end $$;

create or replace function prune_embeddings(before timestamptz) returns bigint
language plpgsql security definer set search_path = pg_catalog, {schema}, pg_temp as $$
declare
  caller constant text := current_setting('app.tenant');
  whose integer;
  models text[] := '{{}}';
  hashes bytea[] := '{{}}';
  removed bigint;
begin
  for whose in select tenant.id from tenant loop
    perform set_config('app.tenant', whose::text, true);
    delete from intent_fit f where f.tenant_id = whose and f.used_at <= prune_embeddings.before;
    select models || coalesce(array_agg(used.model), '{{}}'), hashes || coalesce(array_agg(used.hash), '{{}}')
    into models, hashes
    from (select v.model, v.hash from item_vector v where v.tenant_id = whose
          union
          select f.model, line.hash from intent_fit f, unnest(f.hashes) as line (hash) where f.tenant_id = whose) used;
  end loop;
  perform set_config('app.tenant', caller, true);
  update embedding set unused_since = null
  from unnest(models, hashes) as used (model, hash)
  where embedding.model = used.model and embedding.hash = used.hash and embedding.unused_since is not null;
  update embedding set unused_since = now()
  where embedding.unused_since is null
    and not exists (select from unnest(models, hashes) as used (model, hash)
                    where embedding.model = used.model and embedding.hash = used.hash);
  delete from embedding where embedding.unused_since <= prune_embeddings.before;
  get diagnostics removed = row_count;
  return removed;
end $$;
comment on function prune_embeddings(timestamptz) is
  'Removes fits not used since, marks vectors that no index and no fit uses, removes those found unused before.';
"""


def upgrade() -> None:
    """Add what the intents kind keeps."""
    _fits()
    _people()
    _log()
    for table in _TENANT_TABLES:
        op.execute(_POLICY.format(table=table))
    schema = op.get_bind().exec_driver_sql("select quote_ident(current_schema())").scalar_one()
    op.get_bind().exec_driver_sql(_FUNCTIONS.format(schema=schema))


def _fits() -> None:
    """Fitted routers, by content."""
    op.create_table(
        "intent_fit",
        sa.Column("tenant_id", sa.Integer(), nullable=False),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("packed", sa.LargeBinary(), nullable=False),
        sa.Column("hashes", postgresql.ARRAY(sa.LargeBinary()), nullable=False),
        sa.Column("fit_ms", _DOUBLE, nullable=False),
        sa.Column("made_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("used_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenant.id"], name="intent_fit_tenant_id_fkey", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("tenant_id", "digest", name="intent_fit_pkey"),
    )


def _people() -> None:
    """What people decide: thresholds and trust; and what sessions were given."""
    op.create_table(
        "intent_threshold",
        *_row("intent_threshold"),
        sa.Column("owner", sa.Text(), nullable=True),
        sa.Column("intent", sa.Text(), nullable=False),
        sa.Column("value", _DOUBLE, nullable=False),
        sa.Column("set_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        _unique("intent_threshold", "owner", "intent"),
    )
    op.create_table(
        "pack_trust",
        *_row("pack_trust"),
        sa.Column("owner", sa.Text(), nullable=True),
        sa.Column("path", sa.Text(), nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("trusted_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        _unique("pack_trust", "owner", "path"),
    )
    op.create_table(
        "rules_given",
        *_row("rules_given"),
        sa.Column("owner", sa.Text(), nullable=True),
        sa.Column("client", sa.Text(), nullable=False),
        sa.Column("project", sa.Text(), nullable=False),
        sa.Column("intent", sa.Text(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        _unique("rules_given", "owner", "client", "project", "intent"),
    )


def _log() -> None:
    """Decisions, and what calls say of them."""
    op.create_table(
        "decision",
        *_row("decision"),
        *_event(),
        sa.Column("message_hash", sa.LargeBinary(), nullable=False),
        sa.Column("message", sa.Text(), nullable=True),
        sa.Column("intents", postgresql.ARRAY(sa.Text()), nullable=False),
        sa.Column("scores", postgresql.ARRAY(_DOUBLE), nullable=False),
        sa.Column("matched", sa.Integer(), nullable=False),
        sa.Column("confidence", _DOUBLE, nullable=False),
        sa.Column("margin", _DOUBLE, nullable=False),
        sa.Column("unsure", sa.Boolean(), nullable=False),
        sa.Column("clarified", sa.Boolean(), nullable=False),
        sa.Column("basis", sa.Text(), nullable=False),
        sa.Column("degraded", sa.Text(), server_default="", nullable=False),
        sa.Column("cached", sa.Boolean(), nullable=False),
        sa.Column("clauses", sa.Integer(), nullable=False),
        sa.Column("duration_ms", _DOUBLE, nullable=False),
        sa.Column("embedding_ms", _DOUBLE, nullable=False),
    )
    op.create_index("decision_tenant_id_at_idx", "decision", ["tenant_id", "at"], unique=False)
    op.create_table(
        "intent_signal",
        *_row("intent_signal"),
        *_event(),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("decided", postgresql.ARRAY(sa.Text()), nullable=False),
        sa.Column("pack", sa.Text(), nullable=False),
        sa.Column("tool", sa.Text(), server_default="", nullable=False),
    )
    op.create_index("intent_signal_tenant_id_at_idx", "intent_signal", ["tenant_id", "at"], unique=False)


def _event() -> tuple[sa.Column[object], ...]:
    """When, who, over which connection, in which trace."""
    return (
        sa.Column("at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("owner", sa.Text(), nullable=True),
        sa.Column("client", sa.Text(), server_default="", nullable=False),
        sa.Column("trace_id", sa.Text(), nullable=False),
    )


def _unique(table: str, *columns: str) -> sa.UniqueConstraint:
    """One row for each of these in a tenant; the tenant's own have no owner."""
    name = f"{table}_tenant_id_{'_'.join(columns)}_key"
    return sa.UniqueConstraint("tenant_id", *columns, name=name, postgresql_nulls_not_distinct=True)


def _row(table: str) -> tuple[sa.Column[int] | sa.Constraint, ...]:
    """What every tenant table with rows of their own begins with."""
    return (
        sa.Column("tenant_id", sa.Integer(), nullable=False),
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenant.id"], name=f"{table}_tenant_id_fkey", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("tenant_id", "id", name=f"{table}_pkey"),
    )
