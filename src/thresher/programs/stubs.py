"""Writes tools as Python: a typed signature made from their schemas, with classes for the objects in them.

Invariant: pure, and bounded: a schema that refers to itself, or is very large, becomes `dict` or `Any` where it does.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, cast

from thresher.core import JSON, Tool, first_sentence, one_line

_NO_NAME = re.compile(r"\W")
_PLAIN: Final = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
_MOST_CLASSES = 40
_MOST_VALUES = 12
_DEFAULT_CHARACTERS = 60
_DEPTH = 8


def python_name(name: str) -> str:
    """The name of a tool or parameter as an identifier: what cannot stand in one is an underscore."""
    plain = _NO_NAME.sub("_", name)
    if not plain or plain[0].isdigit():
        plain = f"_{plain}"
    return f"{plain}_" if keyword.iskeyword(plain) else plain


def parameters(schema: JSON) -> tuple[str, ...]:
    """The names of a tool's parameters in the order of its signature: required ones first."""
    properties = _mapping(schema.get("properties"))
    required = _names(schema.get("required"))
    return (*(name for name in properties if name in required), *(name for name in properties if name not in required))


def stub(name: str, tool: Tool, seen: JSON | None = None) -> str:
    """A tool as Python: `async def name(required: type, optional: type = default) -> result`, and its classes.

    Args:
        name: The exposed name.
        tool: The tool.
        seen: The shape that its results have had, as a schema, where it has no output schema.
    """
    function = python_name(name)
    writer = _Writer(_title(function), tool.input_schema)
    properties = _mapping(tool.input_schema.get("properties"))
    required = _names(tool.input_schema.get("required"))
    shown: list[str] = []
    for key in parameters(tool.input_schema):
        kind = writer.type_of(properties[key], key)
        if key in required:
            shown.append(f"{python_name(key)}: {kind}")
        else:
            default, given = _default(properties[key])
            shown.append(f"{python_name(key)}: {kind if given else _optional(kind)} = {default}")
    output = tool.output_schema or seen
    result = "Any"
    if output is not None:
        outcome = _Writer(f"{_title(function)}Result", output, writer.classes)
        result = outcome.type_of(unwrapped(output), "")
    about = one_line(first_sentence(tool.description or tool.title)).replace("\\", "/").replace('"""', "'''")
    note = "  # the shape that results have had; not promised" if seen is not None and not tool.output_schema else ""
    head = f"async def {function}({', '.join(shown)}) -> {result}:{note}"
    body = f'    """{about}"""' if about else "    ..."
    return "\n\n".join([*writer.classes.values(), f"{head}\n{body}"])


def unwrapped(schema: JSON) -> JSON:
    """An output schema without the object that FastMCP puts around other values."""
    if schema.get("x-fastmcp-wrap-result"):
        return _mapping(_mapping(schema.get("properties")).get("result"))
    return schema


@dataclass
class _Writer:
    """Writes the types of one schema, and collects its classes by name."""

    prefix: str
    root: JSON
    classes: dict[str, str] = field(default_factory=dict[str, str])

    def type_of(self, schema: object, name: str, depth: int = 0, seen: tuple[str, ...] = ()) -> str:
        """The annotation of a schema; `name` is what its class is called after."""
        entry = _mapping(schema)
        if isinstance(reference := entry.get("$ref"), str):
            if reference in seen:
                return "dict[str, Any]"
            return self.type_of(
                self._target(reference), name or reference.rpartition("/")[2], depth, (*seen, reference)
            )
        if "const" in entry or isinstance(entry.get("enum"), list):
            return _literal([entry["const"]] if "const" in entry else entry["enum"])
        for word in ("anyOf", "oneOf"):
            if isinstance(branches := entry.get(word), list):
                kinds = [self.type_of(one, name, depth, seen) for one in cast("list[object]", branches)[:_MOST_VALUES]]
                return _union(kinds)
        kind = entry.get("type")
        if isinstance(kind, list):
            kinds = [self.type_of({**entry, "type": one}, name, depth, seen) for one in cast("list[object]", kind)]
            return _union(kinds)
        if kind == "array":
            inner = self.type_of(entry.get("items"), name, depth + 1, seen) if entry.get("items") else "Any"
            return f"list[{inner}]"
        if kind == "object" or "properties" in entry:
            return self._object(entry, name, depth, seen)
        return _PLAIN.get(str(kind), "Any")

    def _object(self, entry: JSON, name: str, depth: int, seen: tuple[str, ...]) -> str:
        properties = _mapping(entry.get("properties"))
        if not properties:
            more = entry.get("additionalProperties")
            inner = self.type_of(more, name, depth + 1, seen) if _mapping(more) else "Any"
            return f"dict[str, {inner}]"
        title = f"{self.prefix}{_title(python_name(name)) if name else ''}"
        if depth > _DEPTH or len(self.classes) >= _MOST_CLASSES:
            return "dict[str, Any]"
        while title in self.classes:
            title += "_"
        self.classes[title] = ""  # keeps its place before the classes inside it
        required = _names(entry.get("required"))
        lines: list[str] = []
        for key, value in properties.items():
            kind = self.type_of(value, key, depth + 1, seen)
            lines.append(f"{key!r}: {kind if key in required else f'NotRequired[{kind}]'}")
        self.classes[title] = f"{title} = TypedDict({title!r}, {{{', '.join(lines)}}})"
        return title

    def _target(self, reference: str) -> object:
        found: object = self.root
        for part in reference.removeprefix("#/").split("/"):
            found = _mapping(found).get(part.replace("~1", "/").replace("~0", "~"))
        return found


def _literal(values: list[Any]) -> str:
    if not values or len(values) > _MOST_VALUES or any(isinstance(one, list | dict) for one in values):
        return _union([_PLAIN["string"] if all(isinstance(one, str) for one in values) else "Any"])
    return f"Literal[{', '.join(repr(one) for one in values)}]"


def _union(kinds: list[str]) -> str:
    several = list(dict.fromkeys(kinds))
    return "Any" if not several or "Any" in several else " | ".join(several)


def _optional(kind: str) -> str:
    return kind if kind == "Any" or kind.endswith("None") else f"{kind} | None"


def _default(schema: object) -> tuple[str, bool]:
    """The default of a parameter as Python, and whether the schema gives one."""
    entry = _mapping(schema)
    if "default" not in entry or entry["default"] is None:
        return "None", False
    text = repr(entry["default"])
    return (text, True) if len(text) <= _DEFAULT_CHARACTERS else ("...", True)


def _title(name: str) -> str:
    return "".join(part[:1].upper() + part[1:] for part in name.split("_"))


def _names(value: object) -> frozenset[str]:
    return frozenset(map(str, cast("list[object]", value))) if isinstance(value, list) else frozenset()


def _mapping(value: object) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}
