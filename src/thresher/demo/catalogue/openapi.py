"""Turns one OpenAPI 3 description into MCP tool definitions.

Invariant: pure and deterministic; every sentence of a tool is the description's own, at most shortened.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from thresher.core import JSON, Tool

METHODS = ("get", "post", "put", "patch", "delete")
MAX_NAME = 64
"""Characters of a name with its server in front, which the strictest clients take."""
MAX_DESCRIPTION = 360
"""Characters of a tool's description; whole sentences only, unless the first is longer."""
MAX_HINT = 160
"""Characters of a parameter's description."""
MAX_PROPERTIES = 24
MAX_NESTED = 10
MAX_DEPTH = 3
MAX_CHOICES = 16
_SCALARS = ("format", "minimum", "maximum", "maxLength", "minLength", "pattern")


@dataclass(frozen=True, slots=True)
class VendorOperation:
    """One operation of a description, with the parameters that its path shares out.

    Attributes:
        path: The path template.
        method: The HTTP method, lower case.
        body: The operation object.
        shared: Parameters declared at the path.
    """

    path: str
    method: str
    body: JSON
    shared: tuple[JSON, ...] = ()

    @property
    def id(self) -> str:
        """The operation's own id, or its method and path."""
        return str(self.body.get("operationId") or f"{self.method}_{self.path}")

    @property
    def tags(self) -> tuple[str, ...]:
        """The groups that the vendor sorted the operation into."""
        return tuple(str(tag) for tag in self.body.get("tags") or ())


@dataclass(frozen=True, slots=True)
class Shape:
    """What a converter may see: the description's components, and the parameter names to leave out."""

    components: JSON
    omit: frozenset[str] = field(default_factory=frozenset[str])

    def resolve(self, node: Any) -> JSON:
        """Follow `#/components/...` references; anything unreadable becomes an empty object."""
        for _ in range(8):
            if not isinstance(node, Mapping):
                return {}
            target = cast("JSON", node).get("$ref")
            if not isinstance(target, str):
                return cast("JSON", node)
            beside = {name: value for name, value in cast("JSON", node).items() if name != "$ref"}
            node = {**self._at(target), **beside}
        return {}

    def _at(self, target: str) -> JSON:
        node: Any = {"components": self.components}
        for part in target.removeprefix("#/").split("/"):
            key = part.replace("~1", "/").replace("~0", "~")
            node = cast("JSON", node).get(key) if isinstance(node, Mapping) else None
        return cast("JSON", node) if isinstance(node, Mapping) else {}


def operations(description: JSON) -> Iterator[VendorOperation]:
    """Yield every operation that is not deprecated, in the description's own order."""
    for path, item in cast("Mapping[str, JSON]", description.get("paths") or {}).items():
        shared = tuple(item.get("parameters") or ())
        for method in METHODS:
            body = item.get(method)
            if isinstance(body, Mapping) and not cast("JSON", body).get("deprecated"):
                yield VendorOperation(path, method, cast("JSON", body), shared)


def to_tool(server: str, operation: VendorOperation, shape: Shape) -> Tool:
    """Convert one operation.

    Parameters and the fields of a JSON or form body become the properties of one input schema, as converters of
    OpenAPI to MCP do. Hints follow the HTTP method: GET only reads, DELETE destroys (RFC 9110, section 9.2.1).
    """
    body = operation.body
    summary, text = (plain_text(str(body.get(part) or "")) for part in ("summary", "description"))
    if text and (squeeze(summary) == squeeze(operation.id) or text.startswith(summary.rstrip("."))):
        summary = ""
    return Tool(
        server=server,
        name=tool_name(operation.id)[: MAX_NAME - len(server) - 1],
        description=shorten(sentence(summary) + text, MAX_DESCRIPTION),
        input_schema=_input_schema(operation, shape),
        annotations=_annotations(operation.method),
    )


def _annotations(method: str) -> JSON:
    if method == "get":
        return {"readOnlyHint": True}
    return {"destructiveHint": True} if method == "delete" else {}


def _input_schema(operation: VendorOperation, shape: Shape) -> JSON:
    properties: dict[str, Any] = {}
    required: list[str] = []
    for parameter in _parameters(operation, shape):
        name = str(parameter["name"])
        hint = parameter.get("description")
        schema = {**shape.resolve(parameter.get("schema")), **({"description": hint} if hint else {})}
        properties[name] = compact(schema, shape, depth=1)
        if parameter.get("required"):
            required.append(name)
    fields, needed = _body_fields(operation, shape)
    for name, schema in fields.items():
        properties.setdefault(name, schema)
    required += [name for name in needed if name not in required]
    return _object(properties, required, MAX_PROPERTIES)


def _parameters(operation: VendorOperation, shape: Shape) -> Iterator[JSON]:
    given = [shape.resolve(entry) for entry in (*operation.shared, *(operation.body.get("parameters") or ()))]
    known = {str(entry.get("name")): entry for entry in given if entry.get("in") in ("path", "query")}
    yield from (entry for name, entry in known.items() if name not in shape.omit)


def _body_fields(operation: VendorOperation, shape: Shape) -> tuple[dict[str, Any], list[str]]:
    request = shape.resolve(operation.body.get("requestBody"))
    content = cast("Mapping[str, JSON]", request.get("content") or {})
    kinds = sorted(content, key=lambda kind: "json" not in kind)
    if not kinds or not (schema := shape.resolve(content[kinds[0]].get("schema"))):
        return {}, []
    short = compact(schema, shape, depth=0)
    if "properties" in short:
        return dict(short["properties"]), list(short.get("required", ()))
    return {"body": short}, ["body"] if request.get("required") else []


def compact(schema: JSON, shape: Shape, *, depth: int) -> dict[str, Any]:
    """Resolve a schema and keep what a caller needs: types, choices, limits, short descriptions.

    Args:
        schema: A schema object, references allowed.
        shape: Where references lead.
        depth: Levels above this schema; `MAX_DEPTH` levels of properties are kept, below that the type only.
    """
    schema = _merged(shape.resolve(schema), shape)
    short: dict[str, Any] = {}
    if kind := _kind(schema):
        short["type"] = kind
    if hint := shorten(plain_text(str(schema.get("description") or "")), MAX_HINT):
        short["description"] = hint
    if choices := [choice for choice in schema.get("enum") or () if choice is not None]:
        short["enum"] = choices[:MAX_CHOICES]
    short |= {name: schema[name] for name in _SCALARS if isinstance(schema.get(name), str | int | float)}
    if isinstance(default := schema.get("default"), str | int | float | bool) and default != "":
        short["default"] = default
    if kind == "array":
        short["items"] = compact(shape.resolve(schema.get("items")), shape, depth=depth + 1)
    if schema.get("properties") and depth < MAX_DEPTH:
        short |= _nested(schema, shape, depth)
    return short


def _kind(schema: JSON) -> str | None:
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = next((entry for entry in cast("list[Any]", kind) if entry != "null"), None)
    if isinstance(kind, str):
        return kind
    return "object" if schema.get("properties") else None


def _nested(schema: JSON, shape: Shape, depth: int) -> JSON:
    properties = {
        name: compact(child, shape, depth=depth + 1)
        for name, node in cast("Mapping[str, Any]", schema["properties"]).items()
        if not (child := shape.resolve(node)).get("readOnly") and name not in shape.omit
    }
    required = [name for name in cast("list[str]", schema.get("required") or []) if name in properties]
    return _object(properties, required, MAX_NESTED if depth else MAX_PROPERTIES)


def _object(properties: Mapping[str, Any], required: Iterable[str], most: int) -> dict[str, Any]:
    needed = list(dict.fromkeys(required))
    order = [*needed, *(name for name in properties if name not in needed)]
    kept = set(order[: max(most, len(needed))])
    short: dict[str, Any] = {"type": "object", "properties": {n: properties[n] for n in properties if n in kept}}
    return {**short, "required": needed} if needed else short


def _merged(schema: JSON, shape: Shape) -> JSON:
    """One object for `allOf`; for `oneOf` and `anyOf` the first branch that is not null."""
    merged: dict[str, Any] = {name: value for name, value in schema.items() if name not in ("allOf", "oneOf", "anyOf")}
    branches = [shape.resolve(branch) for branch in schema.get("allOf") or ()]
    options = [shape.resolve(branch) for branch in schema.get("oneOf") or schema.get("anyOf") or ()]
    branches += [branch for branch in options if branch.get("type") != "null"][:1]
    for branch in branches:
        part = _merged(branch, shape) if {"allOf", "oneOf", "anyOf"} & branch.keys() else branch
        merged["properties"] = {**(part.get("properties") or {}), **(merged.get("properties") or {})}
        merged["required"] = [*(merged.get("required") or ()), *(part.get("required") or ())]
        merged = {**part, **merged}
    return merged


def tool_name(text: str) -> str:
    """A name that MCP allows: letters, digits, `_` and `-`, at most `MAX_NAME` characters."""
    return re.sub(r"_+", "_", re.sub(r"[^A-Za-z0-9_-]+", "_", text)).strip("_")[:MAX_NAME]


def plain_text(text: str) -> str:
    """Markdown and HTML without their marks, in one line."""
    text = re.sub(r"(?m)^\s*#+\s.*$", "", text)
    text = re.sub(r"<[^<>\s][^<>]*>", " ", text)
    text = re.sub(r"!?\[([^\]]*)\]\s?\([^)]*\)", r"\1", text)
    text = re.sub(r"\*\*|__(?=\S)|(?<=\S)__", "", text)
    return re.sub(r"\s+([.,;])(?=\s|$)", r"\1", re.sub(r"\s+", " ", text)).strip()


def sentence(text: str) -> str:
    """The text closed with a full stop and a space; empty stays empty."""
    return f"{text.rstrip('.')}. " if text else ""


def shorten(text: str, most: int) -> str:
    """Cut after the last whole sentence within `most` characters, or else after a word, with an ellipsis."""
    if len(text) <= most:
        return text.strip()
    ends = [match.end(1) for match in re.finditer(r"([.!?])\s", text[: most + 1])]
    if ends:
        return text[: ends[-1]]
    return text[: most - 1].rsplit(" ", 1)[0].rstrip(" ,;:") + "…"


def squeeze(text: str) -> str:
    """Letters and digits only, in lower case, to compare names."""
    return re.sub(r"[^a-z0-9]", "", text.lower())
