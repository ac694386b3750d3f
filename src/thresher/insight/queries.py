"""The SQL of insight.

Invariant: each statement reads a period of one tenant, by the index on tenant and time if the period is the smaller
part. The assistant's searches, for which it searches everywhere, and runs of test cases count nowhere; its calls are
calls.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import text

from thresher.core import ASSISTANT

_ROWS: Final = "{0}.tenant_id = :tenant and {0}.at >= :since and (cast(:owner as text) is null or {0}.owner = :owner)"
_NOT_ASSISTED: Final = f"{{0}}.client not like '{ASSISTANT}%'"


def _rows(table: str) -> str:
    return _ROWS.format(table)


def _own(table: str) -> str:
    return f"{_ROWS.format(table)} and {_NOT_ASSISTED.format(table)}"


_FAILED: Final = "state not in ('ok', 'cancelled', 'rules first', 'signature first')"


def _times(prefix: str = "") -> str:
    """The median and the 95th percentile, which PostgreSQL computes at once."""
    both = "(percentile_cont(array[0.5, 0.95]) within group (order by duration_ms))"
    return f"{both}[1] as {prefix}p50_ms, {both}[2] as {prefix}p95_ms"


BY_HASH: Final = text("set local enable_nestloop = off")
"""Before statements that join logs: without statistics of rows just written the planner compares all with all (25 s
instead of 0.05 s for 100,000 rows)."""

MESSAGES: Final = text(f"""
    select day, count(*) as messages, count(*) filter (where cardinality(kinds) = 0) as passed,
           coalesce(sum(tokens), 0) as context_tokens, {_times("message_")}
    from (select (at at time zone 'UTC')::date as day, kinds, tokens, duration_ms
          from context_log c where {_own("c")}) one
    group by grouping sets ((day), ())""")  # noqa: S608 - all values are bound
SEARCHES: Final = text(f"""
    select day, count(*) as searches, count(*) filter (where nothing) as empty,
           coalesce(sum(tokens_sent), 0) as tokens_sent, coalesce(sum(tokens_all), 0) as tokens_all,
           coalesce(sum(tokens_all - tokens_sent), 0) as tokens_saved, {_times("search_")}
    from (select (at at time zone 'UTC')::date as day, abstained or cardinality(chosen) = 0 as nothing, duration_ms,
                 case when tokens_all > 0 then tokens_sent else 0 end as tokens_sent, tokens_all
          from discovery d where {_own("d")}) one
    group by grouping sets ((day), ())""")  # noqa: S608 - all values are bound
CALLS: Final = text(f"""
    select day, count(*) as calls, count(*) filter (where {_FAILED}) as failed, {_times("call_")}
    from (select (at at time zone 'UTC')::date as day, state, duration_ms from invocation i where {_rows("i")}) one
    group by grouping sets ((day), ())""")  # noqa: S608 - all values are bound

TOOLS_LISTED: Final = 100
TOOLS: Final = text(f"""
    with named as (
      select coalesce(split_part(s.name, ':', 1), '') as server, i.name as tool, i.at, i.state, i.duration_ms
      from invocation i
      left join tool t on t.tenant_id = i.tenant_id and t.id = i.tool_id
      left join server s on s.tenant_id = t.tenant_id and s.id = t.server_id
      where {_rows("i")})
    select server, tool, count(*) as calls, count(*) filter (where {_FAILED}) as failed, {_times()}, max(at) as last
    from named group by grouping sets ((server), (server, tool))
    order by grouping(tool) desc, calls desc, server, tool limit 1000 + {TOOLS_LISTED}""")  # noqa: S608 - all values are bound
"""Servers first, whose `tool` is null."""

INTENTS: Final = text(f"""
    select day, count(*) as messages, count(*) filter (where matched = 0) as passed, null as intent
    from (select (at at time zone 'UTC')::date as day, matched from decision d where {_own("d")}) one
    group by day
    union all
    select day, count(*), 0, intent
    from (select (at at time zone 'UTC')::date as day, unnest(intents[1:matched]) as intent
          from decision d where {_own("d")} and matched > 0) one
    group by day, intent order by 1, 2 desc, 4""")  # noqa: S608 - all values are bound

UNANSWERED: Final = text(f"""
    with contexts as materialized (select at, trace_id, verb, kinds from context_log c where {_own("c")}),
    empty as (
      select 'find_tools' as verb, d.at, d.trace_id, d.message, null::bytea as hash
      from discovery d
      where {_own("d")} and (d.abstained or cardinality(d.chosen) = 0)
        and not exists (select from contexts where contexts.trace_id = d.trace_id)
      union all
      select contexts.verb, contexts.at, contexts.trace_id, d.message, d.message_hash
      from contexts left join decision d on d.trace_id = contexts.trace_id and {_own("d")}
      where cardinality(contexts.kinds) = 0 and (contexts.verb <> 'process_prompt' or :passed)
      union all
      select 'search_api_docs', a.at, a.trace_id, a.query, null
      from api_search_log a
      where {_own("a")} and a.mode = 'search' and a.error = '' and cardinality(a.hits) = 0
        and not exists (select from contexts where contexts.trace_id = a.trace_id))
    select verb, (array_agg(message order by at desc) filter (where message is not null))[1],
           coalesce(encode(hash, 'hex'), ''), count(*), min(at), max(at) as last,
           (array_agg(trace_id order by at desc))[1], count(*) over () as groups
    from empty group by verb, hash, case when hash is null then lower(message) end
    order by last desc, verb, 3 limit :limit""")  # noqa: S608 - all values are bound

# The page is chosen before names are looked up for it.
LOG: Final = text(f"""
    with page as materialized (
      select i.*, {_FAILED} as failed from invocation i
      where {_rows("i")} and (cast(:before as bigint) is null or i.id < :before)
        and (cast(:tool as text) is null or i.name = :tool)
        and (cast(:failed as boolean) is null or ({_FAILED}) = :failed)
        and (cast(:server as text) is null or i.tool_id = any(array(
              select t.id from tool t join server s on s.tenant_id = t.tenant_id and s.id = t.server_id
              where t.tenant_id = :tenant and split_part(s.name, ':', 1) = :server)))
      order by i.id desc limit :limit)
    select i.id, i.at, coalesce(split_part(s.name, ':', 1), ''), i.name, i.state, i.failed, i.duration_ms, i.rank,
           i.owner, i.client, i.trace_id
    from page i
    left join tool t on t.tenant_id = i.tenant_id and t.id = i.tool_id
    left join server s on s.tenant_id = t.tenant_id and s.id = t.server_id
    order by i.id desc""")  # noqa: S608 - all values are bound
