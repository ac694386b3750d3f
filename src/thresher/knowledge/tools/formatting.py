"""Writes a tool as one line for a model: signature and first sentence, and why it was found.

Invariant: a line never breaks, and stays below 420 characters whatever the server wrote.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast

from thresher.core import JSON, Arm, Tool, Why, first_sentence, one_line, plain, shortened
from thresher.knowledge.tools.models import FoundTool

_OPTIONAL_SHOWN = 3
_PARAMETERS_CHARACTERS = 240
_CALL_CHARACTERS = 440
_ENUM_CHARACTERS = 36
_TERMS = 3
_SHORT = {"boolean": "bool", "integer": "int"}


def line(name: str, tool: Tool) -> str:
    """One line: `name(required: type, optional?: type) - First sentence`."""
    summary = one_line(first_sentence(tool.description or tool.title))
    call = one_line(f"{name}{signature(tool.input_schema)}", _CALL_CHARACTERS)
    return f"{call} - {summary}" if summary else call


def found_line(tool: FoundTool, *, write: bool) -> str:
    """A found tool for a model: `-`, or `!` where it may change something, its line, and the reason."""
    return f"{'!' if write else '-'} {tool.line}{_reason(tool)}"


def _reason(tool: FoundTool) -> str:
    if tool.why.source in ("core", "fallback", "pack"):
        return " [core]" if tool.why.source == "core" else ""
    terms = ", ".join(map(one_line, tool.why.terms[:_TERMS]))
    also = f"; same as {', '.join(map(one_line, tool.also))}" if tool.also else ""
    return f" [{tool.score:.2f}{': ' if terms else ''}{terms}{also}]"


def why_text(why: Why) -> str:
    """The reasons in one phrase: `meaning #1 0.83, words #2 11.2: commit, log`."""
    arms = [_arm("meaning", why.dense, 2), _arm("words", why.lexical, 1)]
    text = ", ".join(arm for arm in arms if arm) or why.source
    return f"{text}: {', '.join(why.terms)}" if why.terms else text


def _arm(name: str, arm: Arm, digits: int) -> str:
    if arm.rank is None:
        return ""
    return f"{name} #{arm.rank}" + (f" {arm.score:.{digits}f}" if arm.score is not None else "")


def signature(schema: JSON) -> str:
    """The parameters in brackets: required ones first, then optional ones as far as there is room."""
    properties = _mapping(schema.get("properties"))
    needed = _strings(schema.get("required"))
    required = [name for name in properties if name in needed]
    optional = [name for name in properties if name not in needed]
    shown = [f"{name}: {type_name(properties[name])}" for name in required]
    size = sum(map(len, shown))
    for count, name in enumerate(optional):
        part = f"{name}?: {type_name(properties[name])}"
        size += len(part)
        if count == _OPTIONAL_SHOWN or size > _PARAMETERS_CHARACTERS:
            shown.append(f"+{len(optional) - count} optional")
            break
        shown.append(part)
    return shortened(f"({', '.join(shown)})", _PARAMETERS_CHARACTERS * 5 // 4)


def type_name(schema: object) -> str:
    """A short name of a JSON Schema type: `string`, `int[]`, `"a"|"b"`, `object`; `any` when it says nothing."""
    entry = _mapping(schema)
    if isinstance(values := entry.get("enum"), list) and values:
        text = "|".join(compact(value) for value in cast("list[Any]", values))
        if len(text) <= _ENUM_CHARACTERS:
            return text
    kind = entry.get("type")
    if isinstance(kind, list):
        names = [name for name in cast("list[object]", kind) if name != "null"]
        return "|".join(type_name({**entry, "type": name, "enum": None}) for name in names) or "null"
    if kind == "array":
        inner = type_name(entry["items"]) if entry.get("items") else ""
        return f"({inner})[]" if "|" in inner else f"{inner}[]" if inner else "array"
    if isinstance(kind, str):
        return _SHORT.get(kind, kind)
    return _union(entry)


def _union(entry: Mapping[str, Any]) -> str:
    for word in ("anyOf", "oneOf", "allOf"):
        if isinstance(branches := entry.get(word), list):
            names = dict.fromkeys(type_name(branch) for branch in cast("list[object]", branches)[:4])
            text = "|".join(name for name in names if name != "null")
            return text if len(text) <= _ENUM_CHARACTERS else "any"
    return "object" if "$ref" in entry or "properties" in entry else "any"


def definition_text(name: str, tool: Tool) -> str:
    """The definition as a client would send it to a model, without white space: the yardstick for tokens saved."""
    return compact({"name": name, "description": tool.description, "inputSchema": tool.input_schema})


def compact(value: object) -> str:
    """JSON without white space: what a model reads costs tokens."""
    return json.dumps(plain(value), ensure_ascii=False, separators=(",", ":"))


def _strings(value: object) -> set[str]:
    return {name for name in cast("list[object]", value) if isinstance(name, str)} if isinstance(value, list) else set()


def _mapping(value: object) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}
