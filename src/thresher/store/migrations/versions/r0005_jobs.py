"""Jobs: what was asked for and how far it is; beside it the queue, in a schema of its own.

The queue is procrastinate's, made by the schema of the release that is pinned, which is what its scripts up to the one
named below give (they themselves cannot run in one transaction on PostgreSQL 16, where a new value of an enum must be
committed before it is used). A release with newer scripts needs a revision that runs those where they are missing.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

LAST_SCRIPT = "03.04.00_50_post_add_retry_failed_job_procedure.sql"

# As in the first revision: without a tenant the cast fails, so a session that forgot to set one gets an error.
_POLICY = """
alter table job enable row level security;
alter table job force row level security;
create policy tenant_rows on job
  using (tenant_id = current_setting('app.tenant')::int)
  with check (tenant_id = current_setting('app.tenant')::int);
"""

# The application role may read the queue, and change it by these functions alone. Each fixes its search path, so that
# it works from any session and no caller can put objects of its own before ours.
_SEAL = """
do $do$ declare
  name regprocedure;
begin
  for name in select oid::regprocedure from pg_proc where pronamespace = 'jobs'::regnamespace loop
    execute format('alter function %s security definer set search_path = pg_catalog, jobs, pg_temp', name);
    execute format('revoke all on function %s from public', name);
  end loop;
end $do$;
"""

# A worker holds an advisory lock (its class, its id) as long as it lives: the server lets it go in the moment in which
# the process ends, however it ends, and not because a busy or suspended process was late with a sign of life.
_TAKE_UP = """
create function jobs.take_up(class integer) returns bigint
language sql as $$
  with lost as (
    update procrastinate_jobs j
    set status = 'todo', worker_id = null, abort_requested = false, attempts = j.attempts + 1
    where j.status = 'doing' and not exists (
      select from pg_locks l
      where l.locktype = 'advisory' and l.granted and l.objsubid = 2 and l.classid::bigint = take_up.class
        and l.database = (select oid from pg_database where datname = current_database())
        and l.objid::bigint = j.worker_id)
    returning 1)
  select count(*) from lost
$$;
comment on function jobs.take_up(integer) is 'Has the jobs of workers that live no more wait again; returns how many.';
"""

_PURGE = """
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
           returning 1),
         ended as (
           delete from job where (tenant_id, id) in (
             select o.tenant_id, o.id from job o
             where o.tenant_id = whose and o.ended_at <= purge_logs.before limit 20000)
           returning 1)
    select (select count(*) from discoveries) + (select count(*) from invocations)
         + (select count(*) from decisions) + (select count(*) from signals) + (select count(*) from given)
         + (select count(*) from ended)
    into removed;
    total := total + removed;
  end loop;
  perform set_config('app.tenant', caller, true);
  return total;
end $$;
"""


def upgrade() -> None:
    """Add the table of jobs and the queue."""
    _job()
    connection = op.get_bind()
    connection.exec_driver_sql(_POLICY)
    schema = connection.exec_driver_sql("select quote_ident(current_schema())").scalar_one()
    connection.exec_driver_sql(_PURGE.format(schema=schema))
    _queue(connection)


def _job() -> None:
    """What was asked for."""
    op.create_table(
        "job",
        sa.Column("tenant_id", sa.Integer(), nullable=False),
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("owner", sa.Text(), nullable=True),
        sa.Column("task", sa.Text(), nullable=False),
        sa.Column("subject", sa.BigInteger(), nullable=False),
        sa.Column("state", sa.Text(), server_default="waiting", nullable=False),
        sa.Column("phase", sa.Text(), server_default="", nullable=False),
        sa.Column("done", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("total", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("error", sa.Text(), server_default="", nullable=False),
        sa.Column("hint", sa.Text(), server_default="", nullable=False),
        sa.Column("attempts", sa.Integer(), server_default="0", nullable=False),
        sa.Column("failures", sa.Integer(), server_default="0", nullable=False),
        sa.Column("deaths", sa.Integer(), server_default="0", nullable=False),
        sa.Column("cancelled", sa.Boolean(), server_default="false", nullable=False),
        sa.Column("queue_id", sa.BigInteger(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("updated_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenant.id"], name="job_tenant_id_fkey", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("tenant_id", "id", name="job_pkey"),
    )
    key = ["tenant_id", "task", "subject"]
    op.create_index("job_tenant_id_task_subject_idx", "job", key, unique=False)
    fresh = sa.text("state = 'waiting' AND attempts = 0")
    op.create_index("job_fresh_key", "job", key, unique=True, postgresql_where=fresh)


def _queue(connection: sa.Connection) -> None:
    """The queue's tables and functions, as the library's schema makes them, then closed to everybody else."""
    connection.exec_driver_sql("create schema jobs")
    path = connection.exec_driver_sql("select current_setting('search_path')").scalar_one()
    connection.exec_driver_sql("select set_config('search_path', 'jobs, pg_catalog', true)")
    connection.exec_driver_sql(schema_file().read_text(encoding="utf-8").replace("%", "%%"))
    connection.exec_driver_sql(_TAKE_UP)
    connection.exec_driver_sql(_SEAL.replace("%", "%%"))
    connection.exec_driver_sql("select set_config('search_path', %s, true)", (path,))


def schema_file() -> Path:
    """The library's schema; found without importing it."""
    spec = find_spec("procrastinate")
    return Path(str(spec and spec.origin)).parent / "sql" / "schema.sql"
