"""Answers about the tools of connected servers: which one does something, how to call it, and what it says.

A tool is called from here only where that is harmless and certain: the gateway holds it for one that only reads
(`call_tool` takes no other), the question gives every argument that it requires, and it fits well. Else the answer
names the tool with the arguments that are known, and a person or a model makes the call.

Invariant: nothing is sent to a server but values that stand in the question.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from thresher.agent import endpoints, passages, schemas
from thresher.agent.inquiries import Findings, Inquiry, Item, given, record_of, rows_of
from thresher.agent.records import Call, Subject
from thresher.agent.tool_arguments import Filled, fill
from thresher.agent.toolbox import Outcome, Toolbox
from thresher.core import shortened

FIND: Final = "find_tools"
DESCRIBE: Final = "describe_tools"
RUN: Final = "call_tool"
"""The meta-tool that calls tools that only read, and refuses all others."""
CHANGE: Final = "call_tool_write"
TOOLS: Final = 10
"""Tools that are looked at: our own, which answer the other kinds, are among them and left out."""
SHOWN_TOOLS: Final = 5
CERTAIN, CERTAIN_WITHOUT = 0.15, 0.4
"""The least probability at which a tool is called: one whose arguments the question gives, and one that takes none."""
_DESCRIPTION: Final = 1_200
_RESULT: Final = 6_000
_OWN: Final = frozenset(
    (
        *(endpoints.SEARCH, endpoints.READ, endpoints.PROVIDERS, endpoints.USAGE, endpoints.IMPROVE),
        *(passages.SEARCH, passages.READ, schemas.SCHEMA, schemas.CONNECTIONS, schemas.LOG, schemas.QUERY),
    )
)
_OWN_SERVERS: Final = frozenset(("apis:pack", "databases:pack", "documents:pack"))
"""The packs whose tools answer the other kinds."""


async def find_tools(box: Toolbox, inquiry: Inquiry) -> Findings:
    """Tools that do what is asked for; where the question goes on about a server's, of that one first."""
    arguments = {"message": inquiry.text, "limit": TOOLS, "threshold": 0.0, "include_core_tools": False}
    if inquiry.asked.kind == "tools" and inquiry.asked.sources:
        found = await _described(box, await box.call(Call(FIND, {**arguments, "servers": list(inquiry.asked.sources)})))
        if found.results:
            return found
    return await _described(box, await box.call(Call(FIND, arguments)))


async def _described(box: Toolbox, outcome: Outcome) -> Findings:
    """The tools found, with their servers and what they take."""
    found = found_tools(outcome)
    if not found.results:
        return found
    names = [str(item["name"]) for item in found.results]
    described = (await box.call(Call(DESCRIBE, {"names": names}))).data
    about = {str(row.get("name")): row for row in rows_of(described, "tools")}
    items = [_with(item, about.get(str(item["name"]), {})) for item in found.results]
    kept = _nearest([item for item in items if item.get("server") not in _OWN_SERVERS])
    return replace(
        found,
        results=tuple(kept),
        total=len(kept),
        relevance=max((float(item.get("relevance") or 0.0) for item in kept), default=0.0),
        subjects=tuple(map(_subject, kept)),
        sources=tuple(dict.fromkeys(str(item["server"]) for item in kept if item.get("server"))),
    )


def _nearest(items: Sequence[Item]) -> list[Item]:
    """The best tools, and those that fit half as well."""
    best = max((float(item.get("relevance") or 0.0) for item in items), default=0.0)
    return [item for item in items if float(item.get("relevance") or 0.0) >= best / 2][:SHOWN_TOOLS]


def _with(item: Item, about: Mapping[str, Any]) -> Item:
    return item | given({"server": about.get("server"), "input_schema": about.get("inputSchema")})


def found_tools(outcome: Outcome) -> Findings:
    """What `find_tools` has answered, without the tools that the assistant itself answers with."""
    if outcome.problem:
        return Findings(problems=(outcome.problem,))
    data = outcome.data
    degraded = data.get("degraded")
    rows = [] if data.get("abstained") or data.get("fallback") else rows_of(data, "tools")
    items = [_tool(row) for row in rows if row.get("name") not in _OWN]
    return Findings(
        results=tuple(items),
        total=len(items),
        relevance=max((float(item.get("relevance") or 0.0) for item in items), default=0.0),
        notes=(f"limited search of tools: {degraded}",) if degraded else (),
        subjects=tuple(map(_subject, items)),
    )


async def use_best(box: Toolbox, inquiry: Inquiry, found: Findings) -> Findings:
    """What was found, the best with its arguments, or with its answer; in full where the question asks for that."""
    if inquiry.type == "endpoint_info" and (inquiry.cues.names or inquiry.cues.sections):
        named = described(await box.call(Call(DESCRIBE, {"names": list(inquiry.cues.names)})))
        if not named.results and found.subjects:
            named = described(await box.call(found.subjects[0].read))
        if named.results:
            return replace(named, relevance=found.relevance, named=found.named)
    if not found.results:
        return found
    best, *others = found.results
    filled = filled_for(best, inquiry)
    call, relevance = _call_of(best, filled), float(best.get("relevance") or 0.0)
    best = best | {"call": call} | given({"missing": list(filled.missing)})
    sure = relevance >= (CERTAIN if filled.arguments else CERTAIN_WITHOUT)
    if filled.missing or best.get("write") or RUN not in box or not sure:
        return replace(found, results=(best, *others))
    outcome = await box.call(Call(RUN, call["arguments"]))
    if outcome.problem:
        return replace(found, results=(best, *others), problems=(*found.problems, outcome.problem))
    answer: Item = {"kind": "tool_result", "tool": RUN, "name": best["name"], "server": best.get("server")}
    answer |= {"arguments": dict(filled.arguments), "text": shortened(outcome.text, _RESULT)}
    return replace(
        found, results=(answer, best, *others), total=found.total + 1, subjects=(_subject(best), *found.subjects)
    )


def filled_for(item: Item, inquiry: Inquiry) -> Filled:
    """The arguments that the question gives; what it leaves out, what it goes on from may give."""
    schema = record_of(item, "input_schema")
    filled = fill(schema, inquiry.query or inquiry.text)
    if not filled.missing or inquiry.text == inquiry.query:
        return filled
    before = fill(schema, inquiry.text)
    arguments = {**before.arguments, **filled.arguments}
    return Filled(arguments, tuple(name for name in filled.missing if name not in arguments))


def _call_of(item: Item, filled: Filled) -> dict[str, Any]:
    """How the tool is called, through the gateway."""
    tool = CHANGE if item.get("write") else RUN
    return {"tool": tool, "arguments": {"name": item["name"], "arguments": dict(filled.arguments)}}


def described(outcome: Outcome) -> Findings:
    """What `describe_tools` has answered."""
    if outcome.problem:
        return Findings(problems=(outcome.problem,))
    items = [_details(row) for row in rows_of(outcome.data, "tools")]
    sources = tuple(dict.fromkeys(str(item["server"]) for item in items if item.get("server")))
    return Findings(
        tuple(items), len(items), 1.0 if items else 0.0, subjects=tuple(map(_subject, items)), sources=sources
    )


def _subject(item: Item) -> Subject:
    sources = (str(item["server"]),) if item.get("server") else ()
    return Subject("tool", str(item["name"]), Call(DESCRIBE, {"names": [item["name"]]}), sources)


def _tool(row: Mapping[str, Any]) -> Item:
    item: Item = {"kind": "tool", "tool": FIND, "name": row.get("name"), "signature": row.get("signature")}
    item |= given({"relevance": row.get("score"), "why": row.get("why"), "write": row.get("write")})
    return item | {"next": {"tool": DESCRIBE, "arguments": {"names": [row.get("name")]}}}


def _details(row: Mapping[str, Any]) -> Item:
    about = {"title": row.get("title"), "description": shortened(str(row.get("description") or ""), _DESCRIPTION)}
    return {"kind": "tool_details", "tool": DESCRIBE, "name": row.get("name"), **given(about)} | given(
        {"server": row.get("server"), "input_schema": row.get("inputSchema"), "annotations": row.get("annotations")}
    )
