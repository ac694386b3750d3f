"""Our own tools: those of the search, of calls and of their results, and `run_code`.

Invariant: their definitions never change with the catalogue, and stay short, since every client pays for them in every
request. So do their answers, since a model reads each one; they state what is cut, guessed or degraded.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from thresher.calling.records import NO_CLIENT, Client, Result
from thresher.context import DEFAULT_BUDGET, ContextService, prompt_data
from thresher.core import JSON, Caller, Settings, Tool, border_of, current_trace, one_line
from thresher.knowledge.tools import (
    LEAST_BUDGET,
    LIMIT_CAP,
    MOST_BUDGET,
    WANTED,
    Descriptions,
    FindResult,
    FoundTool,
    ToolService,
    compact,
    why_text,
)
from thresher.programs import stub
from thresher.results import Results

_STRINGS = {"type": "array", "items": {"type": "string"}}

PROMPT_INPUT: dict[str, Any] = {
    "type": "object",
    "properties": {
        "prompt": {"type": "string"},
        "history": {**_STRINGS, "description": "Last turns"},
        "queries": {**_STRINGS, "description": "One phrase per task"},
        "files": _STRINGS,
    },
    "required": ["prompt"],
}
PROMPT_OUTPUT: dict[str, Any] = {
    "type": "object",
    "properties": {
        "result": {"type": "string"},
        "pass_through": {"type": "boolean"},
        "confidence": {"type": "number"},
        "intents": {"type": "array", "items": {"type": "object"}},
        "rules": {"type": "array", "items": {"type": "object"}},
        "context": {"type": "object"},
        "request": {"type": "string"},
        "tools": {"type": "array", "items": {"type": "object"}},
        "notes": _STRINGS,
        "trace_id": {"type": "string"},
    },
    "required": ["pass_through", "confidence", "trace_id"],
}
CONTEXT_INPUT: dict[str, Any] = {
    "type": "object",
    "properties": {
        "message": {"type": "string"},
        "budget": {"type": "integer", "default": DEFAULT_BUDGET},
        "history": _STRINGS,
        "queries": _STRINGS,
        "cursor": {"type": "string"},
    },
    "required": ["message"],
}
CONTEXT_OUTPUT: dict[str, Any] = {
    "type": "object",
    "properties": {
        "rules": {"type": "array", "items": {"type": "object"}},
        "tools": {"type": "array", "items": {"type": "object"}},
        "left_out": {"type": "array", "items": {"type": "object"}},
        "next": {"type": "string"},
        "intents": {"type": "object"},
        "confidence": {"type": "number"},
        "notes": _STRINGS,
        "timings": {"type": "object"},
        "trace_id": {"type": "string"},
        "spent": {"type": "integer"},
    },
    "required": ["rules", "tools", "left_out", "spent", "trace_id"],
}
FIND_INPUT: dict[str, Any] = {
    "type": "object",
    "properties": {
        "queries": {**_STRINGS, "description": "Short action phrases, one per step"},
        "message": {"type": "string", "description": "User's words, instead of queries"},
        "history": {**_STRINGS, "description": "Last turns"},
        "servers": {**_STRINGS, "description": "Search only these"},
        "budget": {"type": "integer", "minimum": LEAST_BUDGET, "maximum": MOST_BUDGET},
        "limit": {"type": "integer", "minimum": 1, "maximum": LIMIT_CAP},
        "threshold": {"type": "number", "minimum": 0, "maximum": 1, "description": "Least probability"},
        "include_core_tools": {"type": "boolean", "default": True},
    },
}
FIND_OUTPUT: dict[str, Any] = {
    "type": "object",
    "properties": {
        "tools": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "name": {"type": "string"},
                    "signature": {"type": "string"},
                    "gist": {"type": "string"},
                    "score": {"type": "number"},
                    "why": {"type": "string"},
                    "write": {"type": "boolean"},
                    "query": {"type": "integer"},
                    "also": _STRINGS,
                },
                "required": ["name"],
            },
        },
        "searched": {"type": "integer"},
        "abstained": {"type": "boolean"},
        "degraded": {"type": "string"},
        "fallback": {"type": "boolean"},
        "held_back": _STRINGS,
        "trace_id": {"type": "string"},
    },
    "required": ["tools", "searched", "abstained", "trace_id"],
}
DESCRIBE_INPUT: dict[str, Any] = {"type": "object", "properties": {"names": _STRINGS}, "required": ["names"]}
_DESCRIBE_IN_PYTHON: dict[str, Any] = {
    **DESCRIBE_INPUT,
    "properties": {"names": _STRINGS, "format": {"enum": ["json", "python"], "default": "json"}},
}
DESCRIBE_OUTPUT: dict[str, Any] = {
    "type": "object",
    "properties": {
        "tools": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "name": {"type": "string"},
                    "server": {"type": "string"},
                    "title": {"type": "string"},
                    "description": {"type": "string"},
                    "inputSchema": {"type": "object"},
                    "outputSchema": {"type": "object"},
                    "annotations": {"type": "object"},
                },
                "required": ["name", "inputSchema"],
            },
        },
        "unknown": {"type": "object", "additionalProperties": _STRINGS},
    },
    "required": ["tools"],
}
CALL_INPUT: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "arguments": {"type": "object"},
        "focus": {"type": "string", "description": "Sought in a large result"},
        "budget": {"type": "integer"},
    },
    "required": ["name"],
}
RUN_INPUT: dict[str, Any] = {
    "type": "object",
    "properties": {"code": {"type": "string"}},
    "required": ["code"],
}
GO_ON_INPUT: dict[str, Any] = {
    "type": "object",
    "properties": {"run": {"type": "string"}, "name": {"type": "string"}, "arguments": {"type": "object"}},
    "required": ["run", "name"],
}
READ_INPUT: dict[str, Any] = {
    "type": "object",
    "properties": {
        "cursor": {"type": "string"},
        "focus": {"type": "string"},
        "pointer": {"type": "string"},
        "lines": {"type": "string", "description": "120-180"},
        "pattern": {"type": "string"},
        "budget": {"type": "integer"},
    },
    "required": ["cursor"],
}


SCHEMAS: dict[str, dict[str, Any]] = {
    "process_prompt": PROMPT_INPUT,
    "get_context": CONTEXT_INPUT,
    "find_tools": FIND_INPUT,
    "describe_tools": DESCRIBE_INPUT,
    "call_tool": CALL_INPUT,
    "call_tool_write": CALL_INPUT,
    "run_code": RUN_INPUT,
    "run_code_write": GO_ON_INPUT,
    "read_result": READ_INPUT,
}
"""The input schemas by name, but for defaults that a setting gives."""

_SEARCH: Final[JSON] = {"readOnlyHint": True, "idempotentHint": True, "openWorldHint": False}
_READ: Final[JSON] = {"readOnlyHint": True, "openWorldHint": True}
_WRITE: Final[JSON] = {"readOnlyHint": False, "destructiveHint": True, "openWorldHint": True}


def schema_of(name: str, settings: Settings) -> dict[str, Any]:
    """The input schema of a meta-tool."""
    if name == "describe_tools" and settings.run_code == "on":
        return _DESCRIBE_IN_PYTHON
    return _find_input(settings.find_budget) if name == "find_tools" else SCHEMAS[name]


@cache
def _find_input(budget: int) -> dict[str, Any]:
    properties: dict[str, Any] = FIND_INPUT["properties"]
    entry = {**properties["budget"], "default": budget}
    return {**FIND_INPUT, "properties": {**properties, "budget": entry}}


def meta_tools(settings: Settings) -> tuple[Tool, ...]:
    """The definitions, in the order in which they are listed; without the search where nothing is to be chosen.

    `call_tool` and `call_tool_write` have no output schemas: the answer is the called tool's own, in that tool's form.
    """
    found = _tool("find_tools", _FIND, FIND_OUTPUT, schema=schema_of("find_tools", settings))
    return (
        _tool("process_prompt", _PROMPT, PROMPT_OUTPUT),
        _tool("get_context", "process_prompt within a token budget; cursors fetch what it left out.", CONTEXT_OUTPUT),
        *(() if settings.selection == "off" else (found,)),
        _tool("describe_tools", _DESCRIBE, DESCRIBE_OUTPUT, schema=schema_of("describe_tools", settings)),
        _tool("call_tool", "Run a read-only tool that find_tools named.", annotations=_READ),
        _tool(
            "call_tool_write",
            "Run a tool marked ! by find_tools: it may change something.",
            title="Call tool that writes",
            annotations=_WRITE,
        ),
        _tool("read_result", "More of a large result: JSON pointer, lines, regex."),
        *(_code_tools() if settings.run_code == "on" else ()),
    )


def _code_tools() -> tuple[Tool, Tool]:
    return (
        _tool("run_code", _RUN, annotations=_READ),
        _tool(
            "run_code_write",
            "Run the call before which run_code stopped, exactly as its answer says, and go on.",
            title="Run code that writes",
            annotations=_WRITE,
        ),
    )


_PROMPT: Final = "Rules and tools for a user message, or PASS_THROUGH. Call first on each new message."
_RUN: Final = (
    "Run Python that awaits found tools by name, with keywords: `await git_log(path='x')`; asyncio.gather, json, re, "
    "datetime work. The last expression is the answer. Saves tokens when a task needs several calls."
)
_DESCRIBE: Final = "Full schemas of found tools, when a signature is not enough."
_FIND: Final = "Search all tools: servers, documents, databases, APIs. Call first when a task needs any."


def _tool(
    name: str,
    description: str,
    output: JSON | None = None,
    *,
    title: str = "",
    annotations: JSON = _SEARCH,
    schema: JSON | None = None,
) -> Tool:
    title = title or name.replace("_", " ").capitalize()
    return Tool("", name, title, description, schema or SCHEMAS[name], output, annotations)


class MetaTools:
    """Runs those of our own tools that answer by themselves.

    Args:
        tools: Finds and describes tools.
        context: Chooses rules and tools for a message.
        results: Reads more of large results.
    """

    def __init__(self, tools: ToolService, context: ContextService, results: Results) -> None:
        self._tools = tools
        self._context = context
        self._results = results

    async def run(self, caller: Caller, name: str, given: dict[str, Any], client: Client = NO_CLIENT) -> Result:
        """Run one.

        Args:
            caller: Who asks.
            name: Of the tool.
            given: The arguments, as its schema wants them.
            client: Who asks, for what is logged.
        """
        match name:
            case "process_prompt":
                prompt = await self._context.process_prompt(caller, **given)
                return Result.of(prompt.text, prompt_data(prompt))
            case "get_context":
                pack = await self._context.get_context(caller, **given)
                return Result.of(pack.text, pack.data)
            case "describe_tools":
                found = await self._tools.describe_tools(caller, given["names"])
                if given.get("format") == "python":
                    shapes = await self._tools.shapes.of(caller, [item.name for item in found.tools])
                    return Result.of(stubs_text(found, shapes), describe_content(found))
                return Result.of(describe_text(found), describe_content(found))
            case "read_result":
                return Result.of((await self._results.read(caller, **given, client=client.name)).text)
            case _ if not given.get("queries") and not given.get("message", "").strip():
                return Result.of(*empty_search(await self._tools.overview(caller), current_trace()))
            case _:
                result = await self._tools.find_tools(caller, **given)
                return Result.of(result.text, find_content(result))


_SERVERS = 12


def find_content(result: FindResult) -> dict[str, Any]:
    """An answer of `find_tools` as structured content, with the reasons of those tools that stand there in full."""
    several = len(result.clauses) > 1
    content: dict[str, Any] = {
        "tools": [_found(tool, several=several) for tool in result.tools],
        "searched": result.total_searched,
        "abstained": result.abstained,
        "trace_id": result.trace_id,
    }
    if result.degraded:
        content["degraded"] = result.degraded
    if result.fallback:
        content["fallback"] = True
    if result.held_back:
        content["held_back"] = list(result.held_back)
    return content


def empty_search(overview: Mapping[str, int], trace: str) -> tuple[str, dict[str, Any]]:
    """The answer to a search for nothing: how to search, and what there is; as text, and as structured content."""
    servers = ", ".join(sorted(overview, key=lambda name: (-overview[name], name))[:_SERVERS])
    there = f" There are {sum(overview.values())} tools{f' ({servers})' if servers else ''}."
    content: dict[str, Any] = {"tools": [], "searched": 0, "abstained": False, "degraded": WANTED, "trace_id": trace}
    return f"Nothing was searched. {WANTED}{there}", content


def _found(tool: FoundTool, *, several: bool) -> dict[str, Any]:
    content: dict[str, Any] = {"name": tool.name}
    if tool.form == "full":
        content["signature"] = tool.line.removeprefix(tool.name)
        content |= {"score": round(tool.score, 2), "why": why_text(tool.why)}
        if several and tool.why.source not in ("core", "fallback", "written"):
            content["query"] = tool.why.query
    elif tool.gist:
        content["gist"] = tool.gist
    if tool.write:
        content["write"] = True
    if tool.also:
        content["also"] = list(tool.also)
    return content


def describe_text(found: Descriptions) -> str:
    """Each definition below a line of ours with its name: whole description, input schema as JSON without blanks."""
    tools = [
        (one_line(item.name), f"{item.tool.description.strip()}\ninputSchema: {compact(item.tool.input_schema)}")
        for item in found.tools
    ]
    unknown = [f"Unknown: {one_line(name)}.{_offer(near)}" for name, near in found.unknown.items()]
    if not tools:
        return "\n".join(unknown)
    mark = border_of([*unknown, *(text for tool in tools for text in tool)])
    parts = [f"{mark} {name}\n{text}" for name, text in tools]
    return "\n".join([*parts, *(f"{mark} {line}" for line in unknown or ["end"])])


def stubs_text(found: Descriptions, shapes: Mapping[str, JSON]) -> str:
    """Each definition as a Python function, for programs.

    Args:
        found: The definitions.
        shapes: What results have looked like, by name.
    """
    unknown = [f"# Unknown: {one_line(name)}.{_offer(near)}" for name, near in found.unknown.items()]
    return "\n\n".join([*(stub(item.name, item.tool, shapes.get(item.name)) for item in found.tools), *unknown])


def _offer(near: tuple[str, ...]) -> str:
    return f" Near: {', '.join(map(one_line, near))}." if near else ""


def describe_content(found: Descriptions) -> dict[str, Any]:
    """The definitions as the servers gave them, empty parts left out."""
    content: dict[str, Any] = {"tools": []}
    for item in found.tools:
        whole = {
            "name": item.name,
            "server": item.tool.server,
            "title": item.tool.title,
            "description": item.tool.description,
            "inputSchema": item.tool.input_schema,
            "outputSchema": item.tool.output_schema,
            "annotations": item.tool.annotations,
        }
        content["tools"].append({key: value for key, value in whole.items() if value or key == "inputSchema"})
    if found.unknown:
        content["unknown"] = {name: list(near) for name, near in found.unknown.items()}
    return content
