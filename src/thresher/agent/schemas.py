"""Answers about databases: the tables that a question needs, one table in full, the last statements.

Invariant: nothing is run on a database; what is in its tables is for whoever writes the statement.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Final

from thresher.agent.cues import named_in
from thresher.agent.inquiries import SHOWN, Findings, Inquiry, Item, given, rows_of, texts_of
from thresher.agent.records import Call, Subject
from thresher.agent.toolbox import Outcome, Toolbox

SCHEMA: Final = "query_database_schema"
CONNECTIONS: Final = "sql_connection_list"
LOG: Final = "sql_activity_log"
_ASKED: Final = 2
"""Connections whose schema is looked at, where the question names none."""
_BUDGET: Final = 700
_NO_SERVER: Final = "servoy"
"""The dialect of a workspace's column information, on which no statement can run."""


async def find_tables(box: Toolbox, inquiry: Inquiry) -> Findings:
    """The tables that a question needs, of the databases that it names."""
    listed = await box.call(Call(CONNECTIONS))
    if listed.problem:
        return Findings(problems=(listed.problem,))
    known = [str(one.get("name")) for one in rows_of(listed.data, "connections")]
    named = named_in(inquiry.text, [(name, (name,)) for name in known])
    chosen = list(named or known)
    outcomes = await asyncio.gather(*(_look(box, inquiry, name) for name in chosen[:_ASKED]))
    return _joined(outcomes, len(chosen) - _ASKED)


def shown(outcome: Outcome) -> Findings:
    """What `query_database_schema` has answered."""
    return _joined([outcome], 0)


async def report_statements(box: Toolbox, _inquiry: Inquiry) -> Findings:
    """The last statements that were asked of databases."""
    outcome = await box.call(Call(LOG, {"limit": SHOWN}))
    if outcome.problem:
        return Findings(problems=(outcome.problem,))
    rows = rows_of(outcome.data, "entries")
    items: list[Item] = [{**row, "by": row.get("tool"), "kind": "statement", "tool": LOG} for row in rows]
    return Findings(tuple(items), len(items), 0.5)


async def _look(box: Toolbox, inquiry: Inquiry, connection: str) -> Outcome:
    if inquiry.cues.table:
        found = await box.call(Call(SCHEMA, {"connection": connection, "table": inquiry.cues.table, "budget": _BUDGET}))
        if not found.problem:
            return found
    return await box.call(Call(SCHEMA, {"connection": connection, "question": inquiry.text, "budget": _BUDGET}))


def _joined(outcomes: Sequence[Outcome], left: int) -> Findings:
    done = [outcome for outcome in outcomes if not outcome.problem]
    items = [_schema(outcome) for outcome in done if texts_of(outcome.data, "shown")]
    return Findings(
        results=tuple(items),
        total=len(items),
        relevance=0.4 if items else 0.0,
        filters=given({"connections": [item["connection"] for item in items]}),
        notes=(f"{left} more databases: name the one that you mean",) if left > 0 else (),
        problems=tuple(outcome.problem for outcome in outcomes if outcome.problem),
        subjects=tuple(Subject("schema", f"the database {item['connection']}", _again(item)) for item in items),
    )


def _schema(outcome: Outcome) -> Item:
    data = outcome.data
    following = "sql_query" if data.get("dialect") != _NO_SERVER else "sql_list_tables"
    return {
        "kind": "schema",
        "tool": SCHEMA,
        "connection": data.get("connection"),
        "dialect": data.get("dialect"),
        "tables": list(texts_of(data, "shown")),
        "content": str(data.get("content") or ""),
        "next": {"tool": following, "arguments": {"connection": data.get("connection")}},
    }


def _again(item: Mapping[str, Any]) -> Call:
    tables = item["tables"]
    about = {"table": tables[0]} if len(tables) == 1 else {}
    return Call(SCHEMA, {"connection": item["connection"], **about, "budget": 2 * _BUDGET})
