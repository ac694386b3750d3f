-- The functions of the queue; its tables are the library's, made before.

-- A worker holds an advisory lock (its class, its id) as long as it lives: the server releases it in the moment in which the
-- process ends, however it ends, and not because a busy or suspended process was late with a sign of life.
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
comment on function jobs.take_up(integer) is
  'Has the jobs of workers that live no more wait again; returns how many.';

-- The application role may read the queue, and change it by these functions alone. Each fixes its search path, so that it
-- works from any session and no caller can put objects of its own before ours.
do $do$ declare
  name regprocedure;
begin
  for name in select oid::regprocedure from pg_proc where pronamespace = 'jobs'::regnamespace loop
    execute format('alter function %s security definer set search_path = pg_catalog, jobs, pg_temp', name);
    execute format('revoke all on function %s from public', name);
  end loop;
end $do$;

-- Beside the queue's own functions: what the application role calls in their place, each under its tenant.

create function jobs.defer(task text, subject bigint, job bigint) returns bigint
language sql security definer set search_path = pg_catalog, jobs, pg_temp as $$
  select (procrastinate_defer_jobs_v1(array[row(
    task, 'job', 0, format('%s:%s:%s', current_setting('app.tenant')::int, split_part(task, '.', 1), subject), null,
    jsonb_build_object('tenant', current_setting('app.tenant')::int, 'job', job), null
  )::procrastinate_job_to_defer_v1]))[1]
$$;
comment on function jobs.defer(text,bigint,bigint) is
  'Queues a job of the session''s tenant; returns its place.';

create function jobs.cancel(place bigint) returns bigint
language sql security definer set search_path = pg_catalog, jobs, pg_temp as $$
  select procrastinate_cancel_job_v1(q.id, true, true) from procrastinate_jobs q
  where q.id = place and (q.args->>'tenant')::int = current_setting('app.tenant')::int
$$;
comment on function jobs.cancel(bigint) is
  'Takes a job of the session''s tenant out of the queue, or asks it to end.';

create function jobs.finish(place bigint) returns void
language sql security definer set search_path = pg_catalog, jobs, pg_temp as $$
  select procrastinate_finish_job_v1(q.id, 'failed', true) from procrastinate_jobs q
  where q.id = place and (q.args->>'tenant')::int = current_setting('app.tenant')::int
$$;
comment on function jobs.finish(bigint) is 'Removes a job of the session''s tenant that no worker will end.';

create function jobs.held_by(worker bigint) returns table(place bigint, tenant integer, job bigint)
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
comment on function jobs.waiting(text[],bigint) is
  'Whether jobs of some tasks have not begun, or one is in hand.';

revoke all on function jobs.defer(text, bigint, bigint), jobs.cancel(bigint), jobs.finish(bigint),
  jobs.held_by(bigint), jobs.to_abort(), jobs.ready(text[]), jobs.waiting(text[], bigint) from public;
