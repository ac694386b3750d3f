"""The queue behind functions: a tenant's session defers and cancels its own jobs alone, and nobody reads the tables.

The library's tables hold every tenant's jobs in one queue, which workers take from in its order, so a policy by tenant
would leave them nothing to take. What a worker or a daemon must know across tenants, a function gives: ids and counts.
"""

from __future__ import annotations

from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None

# As in policies: without a tenant the cast fails, so a session that forgot to set one gets an error.
_FUNCTIONS = """
create function jobs.defer(task text, subject bigint, job bigint) returns bigint
language sql security definer set search_path = pg_catalog, jobs, pg_temp as $$
  select (procrastinate_defer_jobs_v1(array[row(
    task, 'job', 0, format('%s:%s:%s', current_setting('app.tenant')::int, split_part(task, '.', 1), subject), null,
    jsonb_build_object('tenant', current_setting('app.tenant')::int, 'job', job), null
  )::procrastinate_job_to_defer_v1]))[1]
$$;
comment on function jobs.defer(text, bigint, bigint) is 'Queues a job of the session''s tenant; returns its place.';

create function jobs.cancel(place bigint) returns bigint
language sql security definer set search_path = pg_catalog, jobs, pg_temp as $$
  select procrastinate_cancel_job_v1(q.id, true, true) from procrastinate_jobs q
  where q.id = place and (q.args->>'tenant')::int = current_setting('app.tenant')::int
$$;
comment on function jobs.cancel(bigint) is 'Takes a job of the session''s tenant out of the queue, or asks it to end.';

create function jobs.finish(place bigint) returns void
language sql security definer set search_path = pg_catalog, jobs, pg_temp as $$
  select procrastinate_finish_job_v1(q.id, 'failed', true) from procrastinate_jobs q
  where q.id = place and (q.args->>'tenant')::int = current_setting('app.tenant')::int
$$;
comment on function jobs.finish(bigint) is 'Removes a job of the session''s tenant that no worker will end.';

create function jobs.held_by(worker bigint) returns table (place bigint, tenant integer, job bigint)
language sql stable security definer set search_path = pg_catalog, jobs, pg_temp as $$
  select q.id, (q.args->>'tenant')::int, (q.args->>'job')::bigint from procrastinate_jobs q
  where q.worker_id = held_by.worker and q.status = 'doing'
$$;
comment on function jobs.held_by(bigint) is 'What a worker has in hand.';

create function jobs.to_abort() returns setof bigint
language sql stable security definer set search_path = pg_catalog, jobs, pg_temp as $$
  select q.id from procrastinate_jobs q where q.status = 'doing' and q.abort_requested
$$;
comment on function jobs.to_abort() is 'Places of the jobs in hand that were asked to end.';

create function jobs.ready(tasks text[]) returns bigint
language sql stable security definer set search_path = pg_catalog, jobs, pg_temp as $$
  select count(*) from procrastinate_jobs q
  where q.status = 'todo' and q.queue_name = any(tasks) and (q.scheduled_at is null or q.scheduled_at <= now())
$$;
comment on function jobs.ready(text[]) is 'How many jobs of some tasks could begin now.';

create function jobs.waiting(tasks text[], worker bigint) returns boolean
language sql stable security definer set search_path = pg_catalog, jobs, pg_temp as $$
  select exists (
    select from procrastinate_jobs q
    where q.status = 'todo' and q.queue_name = any(tasks) or q.status = 'doing' and q.worker_id = waiting.worker)
$$;
comment on function jobs.waiting(text[], bigint) is 'Whether jobs of some tasks have not begun, or one is in hand.';

revoke all on function jobs.defer(text, bigint, bigint), jobs.cancel(bigint), jobs.finish(bigint),
  jobs.held_by(bigint), jobs.to_abort(), jobs.ready(text[]), jobs.waiting(text[], bigint) from public;
"""


def upgrade() -> None:
    """Add the functions; what the application role may call is granted after every migration."""
    op.get_bind().exec_driver_sql(_FUNCTIONS.replace("%", "%%"))
