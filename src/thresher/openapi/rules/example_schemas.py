"""Schemas prepared for validating examples: only constraining keywords, with references the validator understands.

Invariant: nothing recurses over references; a schema that contains itself or refers to something absent is not used,
and its examples are not checked.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any, Final, Literal, TypeAlias, cast

import jsonschema_rs

from thresher.openapi.records import Json
from thresher.openapi.rules.formats import FORMATS
from thresher.openapi.rules.subject import RuleSubject, text_of
from thresher.openapi.rules.tree import Tree

ONE: Final = frozenset(
    {
        *("items", "additionalItems", "contains", "additionalProperties", "propertyNames", "unevaluatedItems"),
        *("unevaluatedProperties", "not", "if", "then", "else"),
    }
)
"""Keywords that hold a schema."""
SEVERAL: Final = frozenset({"allOf", "anyOf", "oneOf", "prefixItems", "items"})
"""Keywords that hold a list of schemas."""
NAMED: Final = frozenset({"properties", "patternProperties", "dependentSchemas"})
"""Keywords that hold schemas by name."""
MOST: Final = 20_000
"""Most schemas that one may consist of with every reference expanded; real ones have up to 7,400."""


AGAIN: Final = 4
"""Weight of a schema with an `unevaluated...` keyword, because a validator visits its content several times."""


class SchemaGraph:
    """The schemas of one description and what they refer to.

    Args:
        tree: The containers of the description.
    """

    def __init__(self, tree: Tree) -> None:
        self._tree = tree

    def size(self, node: int) -> int:
        """Return how many schemas one consists of with every reference expanded.

        Returns:
            The number; 0 if it cannot be expanded: it contains itself, refers to something absent, or is too large.
        """
        target = self._tree.target(node)
        if target < 0:
            return 0
        if target in self._sizes:
            return self._sizes[target]
        own, named = self._look(target)
        return self._sum(own, named) if all(name in self._sizes for name in named) else 0

    def reached(self, node: int) -> list[int]:
        """Return everything that a schema refers to, directly or not."""
        seen: dict[int, None] = {}
        left = [node]
        while left:
            for name in self._look(left.pop())[1]:
                if name not in seen:
                    seen[name] = None
                    left.append(name)
        return list(seen)

    @cached_property
    def _sizes(self) -> dict[int, int]:
        """The sizes of all referenced schemas that can be expanded; 0 for those that are too large."""
        targets = {self._tree.target(node) for node in self._tree.references} - {-1}
        looks = {target: self._look(target) for target in targets}
        users: dict[int, list[int]] = {}
        for target, (_, named) in looks.items():
            for name in named:
                users.setdefault(name, []).append(target)
        left = {target: len(named) for target, (_, named) in looks.items()}
        ready = deque(target for target, count in left.items() if count == 0)
        sizes: dict[int, int] = {}
        while ready:
            done = ready.popleft()
            sizes[done] = self._sum(*looks[done], sizes)
            for user in users.get(done, ()):
                left[user] -= 1
                if left[user] == 0:
                    ready.append(user)
        return sizes

    def _sum(self, own: int, named: Counter[int], sizes: dict[int, int] | None = None) -> int:
        known = self._sizes if sizes is None else sizes
        if not all(known[name] for name in named):
            return 0
        total = own + sum(known[name] * count for name, count in named.items())
        return total if total <= MOST else 0

    def _look(self, node: int) -> tuple[int, Counter[int]]:
        """Return the size of a schema without its references, and how often it refers to each target; -1 if absent."""
        tree = self._tree
        named: Counter[int] = Counter()
        own = 0
        left = [(node, 1)]
        while left:
            here, times = left.pop()
            if here in tree.references:
                named[tree.target(here)] += times
                continue
            own += times
            again = (
                AGAIN if any(key in tree.mapping(here) for key in ("unevaluatedProperties", "unevaluatedItems")) else 1
            )
            left += [(each, times * again) for each in self._inside(here)]
        return own, named

    def _inside(self, node: int) -> Iterator[int]:
        """Yield the schemas directly inside one."""
        tree = self._tree
        for key, kid in tree.kids[node].items():
            listed = isinstance(tree.values[kid], list)
            if (key in NAMED and not listed) or (key in SEVERAL and listed):
                yield from tree.kids[kid].values()
            elif key in ONE and not listed:
                yield kid


Direction: TypeAlias = Literal["", "request", "response"]

ALL: Final = 1_000_000
"""Most schemas passed to the validator for one description, with references expanded.

Examples beyond that are not checked. Real descriptions need up to 80,000.
"""
_PLAIN: Final = frozenset(
    {
        *("type", "enum", "const", "maximum", "minimum", "exclusiveMaximum", "exclusiveMinimum", "multipleOf"),
        *("maxLength", "minLength", "maxItems", "minItems", "uniqueItems", "maxProperties", "minProperties"),
        *("required", "dependentRequired", "minContains", "maxContains"),
    }
)
_BACKTRACKS: Final = 20_000
_INT32: Final[Mapping[str, Json]] = {"minimum": -(2**31), "maximum": 2**31 - 1}


class UnusableSchema(Exception):
    """A schema that no example can be checked against.

    Args:
        why: The fault of the schema; empty if it has none.
    """

    def __init__(self, why: str = "") -> None:
        super().__init__(why)
        self.why = why


class ExampleSchemas:
    """The schemas of one description.

    Args:
        subject: The description.
    """

    def __init__(self, subject: RuleSubject) -> None:
        self._tree: Tree = subject.tree
        self._draft = jsonschema_rs.Draft4 if subject.dialect in {"2.0", "3.0"} else jsonschema_rs.Draft202012
        self._graph = SchemaGraph(subject.tree)
        self._swagger = subject.swagger
        self._spent = 0
        self._named: dict[tuple[int, Direction], dict[str, Any]] = {}

    def schema(self, node: int, direction: Direction) -> dict[str, Any]:
        """Return a schema for the validator, with the schemas that it refers to under `definitions`.

        Raises:
            UnusableSchema: It cannot be checked against.
        """
        size = self._graph.size(node)
        self._spent += size
        if not size or self._spent > ALL:
            raise UnusableSchema
        schema = dict(self._ready(node, direction))
        if self._swagger and isinstance(schema.get("required"), bool):
            del schema["required"]
        names = self._graph.reached(node)
        if names:
            schema["definitions"] = {f"n{name}": self._ready_named(name, direction) for name in names}
        return schema

    def validator(self, schema: Mapping[str, Any]) -> jsonschema_rs.Validator:
        """Return the validator of a schema that `schema` returned.

        Raises:
            UnusableSchema: The schema itself is invalid.
        """
        kind = jsonschema_rs.Draft4Validator
        if self._draft == jsonschema_rs.Draft202012:
            kind = jsonschema_rs.Draft202012Validator
        try:
            return kind(
                dict(schema),
                formats=dict(FORMATS),
                validate_formats=True,
                pattern_options=jsonschema_rs.FancyRegexOptions(backtrack_limit=_BACKTRACKS),
                offline=True,
            )
        except (ValueError, jsonschema_rs.ReferencingError) as error:
            raise UnusableSchema(str(error).partition("\n")[0]) from error

    def _ready_named(self, node: int, direction: Direction) -> dict[str, Any]:
        key = (node, direction)
        if key not in self._named:
            self._named[key] = self._ready(node, direction)
        return self._named[key]

    def _ready(self, node: int, direction: Direction, *, negated: bool = False) -> dict[str, Any]:
        """Return the constraining keywords of a schema."""
        tree = self._tree
        if node in tree.references:
            return {"$ref": f"#/definitions/n{tree.target(node)}"}
        fields = tree.mapping(node)
        ready: dict[str, Any] = {}
        for key, value in fields.items():
            if key in _PLAIN:
                ready[key] = value
            elif key in ONE or key in SEVERAL or key in NAMED:
                ready[key] = self._inside(node, key, value, direction, negated=negated or key == "not")
        self._widen(fields, ready)
        self._shape(fields, ready)
        if direction and not negated:
            self._relax(node, ready, direction)
        return ready

    def _inside(self, node: int, key: str, value: Json, direction: Direction, *, negated: bool) -> Json:
        """Convert the schemas that a keyword holds; other values stay, so that the validator rejects them."""
        kids = self._tree.kids[node]
        if key not in kids:
            return value
        kid = kids[key]
        within = self._tree.kids[kid]
        if key in NAMED and isinstance(value, dict):
            entries = cast("dict[str, Json]", value)
            return {
                name: self._ready(within[name], direction, negated=negated) if name in within else each
                for name, each in entries.items()
            }
        if isinstance(value, list):
            places = cast("list[Json]", value)
            return [
                self._ready(within[place], direction, negated=negated) if place in within else each
                for place, each in enumerate(places)
            ]
        return self._ready(kid, direction, negated=negated)

    def _widen(self, fields: Mapping[str, Json], ready: dict[str, Any]) -> None:
        """Allow null if the schema is nullable."""
        nullable = fields.get("nullable", fields.get("x-nullable") if self._swagger else None)
        if nullable is None:
            return
        types = fields.get("type")
        if types is None:
            raise UnusableSchema("`nullable` stands without a `type`")
        if nullable is True:
            several = cast("list[Json]", types) if isinstance(types, list) else [types]
            ready["type"] = [*several, *([] if "null" in several else ["null"])]

    def _shape(self, fields: Mapping[str, Json], ready: dict[str, Any]) -> None:
        """Keep patterns and formats that the validator supports."""
        pattern, form = fields.get("pattern"), text_of(fields.get("format"))
        if isinstance(pattern, str):
            known = _readable(pattern)
            if known is not None:
                ready["pattern"] = known
        if form in FORMATS:
            ready["format"] = form
        elif form in {"int32", "int64"}:
            ready.setdefault("allOf", [])
            whole = {"anyOf": [{"not": {"type": "number"}}, {"type": "integer"}]}
            ready["allOf"] = [*ready["allOf"], *([_INT32] if form == "int32" else []), whole]

    def _relax(self, node: int, ready: dict[str, Any], direction: Direction) -> None:
        """Drop required properties that only the other direction sends."""
        required = ready.get("required")
        properties = self._tree.child(node, "properties")
        if not isinstance(required, list) or properties < 0:
            return
        mark = "readOnly" if direction == "request" else "writeOnly"
        foreign = {name for name, kid in self._tree.children(properties) if self._tree.mapping(kid).get(mark) is True}
        kept = [name for name in cast("list[Json]", required) if not isinstance(name, str) or name not in foreign]
        if kept or not foreign:
            ready["required"] = kept
        else:
            del ready["required"]


_HYPHEN: Final = re.compile(r"(\\[wdsWDS])-(?=[^\]])")


def _readable(pattern: str) -> str | None:
    """Return the pattern in the validator's syntax; unchanged if invalid, None if only the validator rejects it."""
    for tried in (pattern, _HYPHEN.sub(r"\1\\-", pattern)):
        try:
            jsonschema_rs.Draft4Validator({"pattern": tried})
        except ValueError:
            continue
        return tried
    try:
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError):
        return pattern
    return None


def trivial(schema: Mapping[str, Any], value: Json) -> bool:
    """Return whether a schema only demands a type that the value plainly has, so that no validator is needed."""
    return len(schema) == 1 and schema.get("type") == "string" and isinstance(value, str)


def defined(schema: Mapping[str, Any], ref: str) -> dict[str, Any]:
    """Return the target of a reference in a schema that `schema` returned."""
    found: Iterable[str] = ref.split("/")[1:]
    value: Any = schema
    for key in found:
        value = value[key]
    return value
