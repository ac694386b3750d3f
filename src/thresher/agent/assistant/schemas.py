"""Answers about databases: the tables that a question needs, one table in full, how many rows, the last statements.

Invariant: the only statement that is run is a count of a table's rows, if the question asks for nothing else; it goes
through the guard like any other. All other statements are written by the user or a model.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from thresher.agent.assistant.inquiry import SHOWN, Findings, Inquiry, Item, nonempty, record_of, rows_of, texts_of
from thresher.agent.assistant.questions import named_in
from thresher.agent.assistant.records import AssistantCall, ResultSubject
from thresher.agent.assistant.toolbox import ToolAnswer, Toolbox
from thresher.search import terms

SCHEMA: Final = "query_database_schema"
CONNECTIONS: Final = "sql_connection_list"
LOG: Final = "sql_activity_log"
QUERY: Final = "sql_query"
_ASKED: Final = 12
"""Connections whose tables are searched if the question names none."""
_SHOWN: Final = 2
"""Connections whose tables are shown: those that fit best."""
_NEAR: Final = 0.5
"""Fraction of the best probability from which a second connection is shown."""
_BUDGET: Final = 700
_NO_SERVER: Final = "servoy"
"""The dialect of a workspace's column information, on which no statement can run."""
_COUNT: Final = re.compile(
    r"^\W*(?:and |so )?(?:how many|(?:what is |tell me )?(?:the )?(?:number|count) of|count(?: (?:the|all))?)\s+(.+?)"
    r"(?:\s+(?:are there|exist|there are|do we have|are (?:stored|known|in)|does|is in|in)\b(.*?))?[\s?.!]*$",
    re.I,
)
_EMPTY: Final = frozenset(
    """a an the all of in on at there are is do does we you have has had database databases db table tables row rows
    record records entry entries connection total overall altogether now stored known exist""".split()  # noqa: SIM905 - a text is easier to read
)
"""Words that do not restrict a count; any other one, such as "not", "my" or "without", asks for a part of the rows."""
_OUR_DATABASE: Final = re.compile(r"\b(?:my|our|your|this|that)\s+(?=(?:databases?|db|connection)\b)", re.I)
_QUOTES: Final[Mapping[str, tuple[str, str]]] = {"mysql": ("`", "`"), "mariadb": ("`", "`"), "mssql": ("[", "]")}


async def find_tables(box: Toolbox, inquiry: Inquiry) -> Findings:
    """Find the tables that a question needs, in the databases that it names, or else those that fit best."""
    listed = await box.call(AssistantCall(CONNECTIONS))
    if listed.problem:
        return Findings(problems=(listed.problem,))
    known = [str(one.get("name")) for one in rows_of(listed.data, "connections")]
    named = named_in(inquiry.text, [(name, (name, _spaced(name))) for name in known])
    carried = [name for name in inquiry.asked.sources if name in known] if inquiry.asked.kind == "databases" else []
    chosen = list(named or carried or known)
    outcomes = await asyncio.gather(*(_look(box, inquiry, name) for name in chosen[:_ASKED]))
    ranked = sorted(outcomes, key=_fit, reverse=True)
    best = max(map(_fit, outcomes), default=0.0)
    shown = [one for place, one in enumerate(ranked) if not place or (place < _SHOWN and _fit(one) >= _NEAR * best)]
    found = _joined(shown, len(chosen) - _ASKED, [one.problem for one in outcomes if one.problem])
    return replace(found, relevance=max(best, NAMED * bool(named)) if found.results else 0.0, named=bool(named))


NAMED: Final = 0.3
"""Least relevance of a database that the question names: there is always a schema to show."""


async def count_rows(box: Toolbox, inquiry: Inquiry, found: Findings) -> Findings:
    """Return the findings, preceded by the count if the question asks only how many rows one table has."""
    first = next(iter(found.results), None)
    if first is None or QUERY not in box or (table := _counted(inquiry.query, first)) is None:
        return found
    name = _quoted(table, str(first.get("dialect")))
    sql = f"SELECT count(*) FROM {name}"  # noqa: S608 - quoted, and read by the guard
    outcome = await box.call(AssistantCall(QUERY, {"connection": first["connection"], "sql": sql, "max_rows": 1}))
    if outcome.problem:
        return replace(found, problems=(*found.problems, outcome.problem))
    names = [str(one.get("name")) for one in rows_of(outcome.data, "columns")]
    rows: Item = {"kind": "rows", "tool": QUERY, "connection": first["connection"], "table": table, "sql": sql}
    rows |= {"columns": names, "rows": outcome.data.get("rows")}
    read = AssistantCall(SCHEMA, {"connection": first["connection"], "table": table, "budget": _BUDGET})
    subject = ResultSubject("schema", f"the table {table}", read, (str(first["connection"]),))
    return replace(found, results=(rows, *found.results), total=found.total + 1, subjects=(subject, *found.subjects))


def _counted(query: str, schema: Mapping[str, Any]) -> str | None:
    """Return the table whose rows a question counts; None if it says more, or two tables may be meant."""
    match = _COUNT.match(query)
    if match is None:
        return None
    wanted = _words(_OUR_DATABASE.sub("", f"{match[1]} {match[2] or ''}")) - set(terms(str(schema.get("connection"))))
    wanted -= set(terms(str(schema.get("connection")).replace("_", " ")))
    meant = [name for name in texts_of(schema, "tables") if _words(_spaced(name.rpartition(".")[2])) == wanted]
    return meant[0] if wanted and len(meant) == 1 else None


def _words(text: str) -> set[str]:
    """Return the stems of a text's words without the empty ones; a function word stands for itself."""
    words = [word.lower() for word in re.findall(r"\w+", text) if word.lower() not in _EMPTY]
    return {stem for word in words for stem in terms(word) or [word]}


def _spaced(name: str) -> str:
    """Return the words of a name as in programs."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|_+", " ", name)


def _quoted(table: str, dialect: str) -> str:
    begin, end = _QUOTES.get(dialect, ('"', '"'))
    return ".".join(f"{begin}{part.replace(end, end * 2)}{end}" for part in table.split("."))


def _fit(outcome: ToolAnswer) -> float:
    """Return the probability of the best table; 1 for one that the question names."""
    if "table" in outcome.call.arguments and not outcome.problem:
        return 1.0
    fitting = record_of(outcome.data, "fitting").values()
    return max((float(one) for one in fitting if isinstance(one, int | float)), default=0.0)


def shown(outcome: ToolAnswer) -> Findings:
    """Return the answer of `query_database_schema`."""
    return replace(_joined([outcome], 0, [outcome.problem] if outcome.problem else []), relevance=1.0)


async def report_statements(box: Toolbox, _inquiry: Inquiry) -> Findings:
    """Return the last statements sent to databases."""
    outcome = await box.call(AssistantCall(LOG, {"limit": SHOWN}))
    if outcome.problem:
        return Findings(problems=(outcome.problem,))
    rows = rows_of(outcome.data, "entries")
    items: list[Item] = [{**row, "by": row.get("tool"), "kind": "statement", "tool": LOG} for row in rows]
    return Findings(tuple(items), len(items), 0.5 * bool(items))


async def _look(box: Toolbox, inquiry: Inquiry, connection: str) -> ToolAnswer:
    if inquiry.cues.table:
        found = await box.call(
            AssistantCall(SCHEMA, {"connection": connection, "table": inquiry.cues.table, "budget": _BUDGET})
        )
        if not found.problem:
            return found
    return await box.call(
        AssistantCall(SCHEMA, {"connection": connection, "question": inquiry.text, "budget": _BUDGET})
    )


def _joined(outcomes: Sequence[ToolAnswer], left: int, problems: Iterable[str]) -> Findings:
    done = [outcome for outcome in outcomes if not outcome.problem]
    items = [_schema(outcome) for outcome in done if texts_of(outcome.data, "shown")]
    names = tuple(str(item["connection"]) for item in items)
    return Findings(
        results=tuple(items),
        total=len(items),
        filters=nonempty({"connections": list(names)}),
        notes=(f"{left} more databases were not searched: name the one that you mean",) if left > 0 else (),
        problems=tuple(problems),
        subjects=tuple(
            ResultSubject("schema", f"the database {item['connection']}", _again(item), (str(item["connection"]),))
            for item in items
        ),
        sources=names,
    )


def _schema(outcome: ToolAnswer) -> Item:
    data = outcome.data
    following = "sql_query" if data.get("dialect") != _NO_SERVER else "sql_list_tables"
    return {
        "kind": "schema",
        "tool": SCHEMA,
        "connection": data.get("connection"),
        "dialect": data.get("dialect"),
        "tables": list(texts_of(data, "shown")),
        "fitting": dict(record_of(data, "fitting")),
        "content": str(data.get("content") or ""),
        "next": {"tool": following, "arguments": {"connection": data.get("connection")}},
    }


def _again(item: Mapping[str, Any]) -> AssistantCall:
    tables = item["tables"][:1] if len(item["tables"]) == 1 else list(item["fitting"])[:1]
    about = {"table": tables[0]} if tables else {}
    return AssistantCall(SCHEMA, {"connection": item["connection"], **about, "budget": 2 * _BUDGET})
