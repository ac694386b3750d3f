"""Examples for schemas: given ones if they are valid, else generated from types, formats and bounds.

Invariant: pure; an example is small whatever the schema, recursion is cut, and the result is validated: a value that
fails is built again without the part that caused the failure.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias, cast

from thresher.openapi.example_values import number_of, text_of
from thresher.openapi.reader.description import Description
from thresher.openapi.records import Json
from thresher.openapi.schema_checks import Direction, SchemaCheck
from thresher.openapi.schemas import Group, SchemaShape, listed, mapped, name_of, shape_of

Path: TypeAlias = tuple[str | int, ...]

TRIES: Final = 12
"""Attempts to build a valid example of one schema."""
_NODES: Final = 600
"""Values in one example beyond which only required parts are added."""
_MOST: Final = 2_000
"""Values in one example beyond which nothing is added, so that endless demands come to an end."""
_WORK: Final = 100_000
"""Schemas and properties that one builder visits in all its attempts, for the same reason."""
_DEEPEST: Final = 40
"""Deepest nesting of objects."""
WIDE: Final = (100, 20, 6)
"""Optional properties shown per level of nesting, if the narrower example is not valid."""
_FIRST: Final = frozenset({"name", "title", "key"})
_FILLED: Final = re.compile(
    r"\bread[- ]only\b|\b(populated|set|filled|assigned|generated) by the (system|server|service)\b"
    r"|\bshouldn't need to set\b|\bmost recently observed\b",
    re.IGNORECASE,
)
_OLD: Final = re.compile(r"\W*deprecated\b", re.IGNORECASE)
_ITEMS: Final = 20
_LARGE: Final = 20_000
"""Longest given example that is used, in characters."""


class _Cut:
    """Stands for a value that would contain itself."""


_CUT: Final = _Cut()


class Builder:
    """Builds examples and learns from those that were not valid.

    Attributes:
        banned: Places whose given example is not valid.
        chosen: Index of the alternative taken, by place.
        dropped: Places of optional properties that made the value invalid.
    """

    def __init__(
        self, description: Description, direction: Direction, depth: int, shown: Sequence[int], *, given: bool
    ) -> None:
        self._description = description
        self._hidden = "readOnly" if direction == "request" else "writeOnly"
        self._depth = depth
        self._shown = shown
        self._given = given
        self._nodes = 0
        self._left = _WORK
        self._taken: set[Path] = set()
        self._branches: dict[Path, int] = {}
        self._optional: set[Path] = set()
        self.banned: set[Path] = set()
        self.chosen: dict[Path, int] = {}
        self.dropped: set[Path] = set()

    def build(self, schema: Json) -> Json:
        """Build an example of a schema."""
        self._nodes = 0
        self._taken.clear()
        self._branches.clear()
        self._optional.clear()
        value = self._value((schema,), (), 0, (), "")
        return None if isinstance(value, _Cut) else value

    def mend(self, at: Path) -> bool:
        """Change the decision nearest to the place of a failure. Return whether there was one to change."""
        for length in range(len(at), -1, -1):
            place = at[:length]
            if place in self._taken and place not in self.banned:
                self.banned.add(place)
                return True
            tried = self.chosen.get(place, 0)
            if tried + 1 < self._branches.get(place, 0):
                self.chosen[place] = tried + 1
                return True
            if place in self._optional and place not in self.dropped:
                self.dropped.add(place)
                return True
        return False

    def _value(self, schemas: tuple[Json, ...], at: Path, level: int, opened: tuple[str, ...], name: str) -> Any:
        """Build a value for schemas that all apply; `_CUT` if one is under construction or no work is left."""
        if self._nodes >= _MOST or self._left <= 0 or level > _DEEPEST:
            return _CUT
        self._nodes += 1
        shape = shape_of(self._description, *schemas)
        self._left -= 1 + len(shape.refs) + len(shape.properties)
        if any(ref in opened for ref in shape.refs):
            return _CUT
        inner = (*opened, *shape.refs)
        for told in self._declared_values(shape, at):
            return told
        if shape.groups:
            return self._alternative(schemas, shape, at, level, inner, name)
        return self._generated(shape, at, level, inner, name or shape.name)

    def _declared_values(self, shape: SchemaShape, at: Path) -> Iterator[Json]:
        """Yield the values that the schema itself gives, best first."""
        keywords = shape.keywords
        if "const" in keywords:
            yield keywords["const"]
        if self._given and at not in self.banned:
            examples = [keywords[key] for key in ("example", "default") if keywords.get(key) is not None]
            examples[1:1] = listed(keywords.get("examples"))[:1]
            fitting = [one for one in examples if one != "" and one != [] and one != {} and _small(one)]
            if fitting:
                self._taken.add(at)
                yield fitting[0]
        if values := [one for one in listed(keywords.get("enum")) if one is not None]:
            yield values[0]

    def _alternative(
        self, schemas: tuple[Json, ...], shape: SchemaShape, at: Path, level: int, opened: tuple[str, ...], name: str
    ) -> Any:
        """Build the first alternative that does not contain itself."""
        groups = [group for group in shape.groups if _branches(group)]
        count = max((len(_branches(group)) for group in groups), default=0)
        self._branches[at] = max(count, self._branches.get(at, 0))
        start = self.chosen.get(at, 0)
        for turn in range(start, start + max(1, count)):
            picked = [_branches(group)[turn % len(_branches(group))] for group in groups]
            whole = shape_of(self._description, *schemas, *picked)
            new = [ref for ref in whole.refs if ref not in shape.refs]
            if any(ref in opened and ref not in shape.refs for ref in new):
                continue
            whole.groups = _inner_groups(self._description, picked, shape)
            _tell_apart(whole, groups, picked)
            if whole.groups and len(opened) < TRIES:
                nested = tuple(branch for group in whole.groups for branch in _branches(group)[:1])
                whole = shape_of(self._description, *schemas, *picked, *nested)
            for told in self._declared_values(whole, at):
                return told
            return self._generated(whole, at, level, (*opened, *new), name or whole.name)
        return _CUT

    def _generated(self, shape: SchemaShape, at: Path, level: int, opened: tuple[str, ...], name: str) -> Any:
        kind = shape.type
        if kind == "object":
            return self._object(shape, at, level, opened)
        if kind == "array":
            return self._array(shape, at, level, opened, name)
        if kind == "string" or kind == "file":
            return text_of(shape.keywords, name)
        if kind in {"integer", "number"}:
            return number_of(shape.keywords, whole=kind == "integer")
        if kind == "boolean":
            return True
        return None if kind == "null" else {}

    def _object(self, shape: SchemaShape, at: Path, level: int, opened: tuple[str, ...]) -> dict[str, Json]:
        made: dict[str, Json] = {}
        known = _known(shape)
        for key, must in self._property_names(shape, at, level):
            if key in known:
                made[key] = known[key]
                continue
            schema = shape.properties.get(key, shape.keywords.get("additionalProperties", {}))
            value = self._value((schema,), (*at, key), level + 1, opened, key)
            if isinstance(value, _Cut):
                continue
            made[key] = value
            if not must:
                self._optional.add((*at, key))
        return made | self._further(shape, made, at, level, opened)

    def _property_names(self, shape: SchemaShape, at: Path, level: int) -> Iterator[tuple[str, bool]]:
        """Yield property names in schema order, each with whether it is required."""
        offered = self._optional_names(shape, at, level)
        for key, schema in shape.properties.items():
            if key in shape.required or key == shape.discriminator:
                if not self._is_hidden(schema):
                    yield key, True
            elif key in offered:
                yield key, False
        yield from ((key, True) for key in shape.required if key not in shape.properties)

    def _optional_names(self, shape: SchemaShape, at: Path, level: int) -> frozenset[str]:
        """Yield the optional properties to show: names first, then in schema order."""
        shown = self._shown[min(level, len(self._shown) - 1)] if level < self._depth and self._nodes < _NODES else 0
        if level and shape.required and self._shown is not WIDE:
            shown = 0
        fewest = shape.keywords.get("minProperties")
        if isinstance(fewest, int) and not isinstance(fewest, bool):
            shown = max(shown, min(fewest, _ITEMS))
        free = [key for key in shape.properties if key not in shape.required and (*at, key) not in self.dropped]
        free.sort(key=lambda key: key not in _FIRST)
        found: list[str] = []
        for key in free:
            if len(found) + len(shape.required) >= shown:
                break
            if not self._is_hidden(shape.properties[key], old=True):
                found.append(key)
        return frozenset(found)

    def _is_hidden(self, schema: Json, *, old: bool = False) -> bool:
        """Return whether a property belongs to the other direction only or, with `old`, is best left out."""
        parts = [mapped(schema), mapped(self._description.follow(schema))]
        parts += [mapped(one) for one in listed(parts[-1].get("allOf"))]
        if any(part.get(self._hidden) is True for part in parts):
            return True
        return old and any(part.get("deprecated") is True or self._is_filled(part.get("description")) for part in parts)

    def _is_filled(self, said: Json) -> bool:
        """Return whether a property's description says that the other side fills it, or that it is deprecated."""
        if not isinstance(said, str):
            return False
        return (self._hidden == "readOnly" and _FILLED.search(said[:2_000]) is not None) or _OLD.match(said) is not None

    def _further(
        self, shape: SchemaShape, made: Mapping[str, Json], at: Path, level: int, opened: tuple[str, ...]
    ) -> dict[str, Json]:
        """Yield one entry of a mapping with free keys if it would otherwise be empty."""
        free = shape.keywords.get("additionalProperties")
        if made or shape.properties or not isinstance(free, dict) or level >= max(1, self._depth):
            return {}
        value = self._value((cast("Json", free),), (*at, "key"), level + 1, opened, "value")
        return {} if isinstance(value, _Cut) else {"key": value}

    def _array(self, shape: SchemaShape, at: Path, level: int, opened: tuple[str, ...], name: str) -> list[Json]:
        first = listed(shape.keywords.get("prefixItems"))[:_ITEMS]
        made = [self._value((one,), (*at, place), level, opened, name) for place, one in enumerate(first)]
        fewest, most = shape.keywords.get("minItems"), shape.keywords.get("maxItems")
        wanted = max(1, fewest) if isinstance(fewest, int) else 1
        wanted = min(wanted, most if isinstance(most, int) else wanted, _ITEMS)
        items = shape.keywords.get("items", {})
        if len(made) < wanted and items is not False:
            before = self._nodes
            one = self._value((items,), (*at, len(made)), level, opened, _singular(name))
            count = max(1, min(wanted - len(made), (_MOST - before) // (self._nodes - before or 1)))
            self._nodes += (count - 1) * (self._nodes - before)
            made += [] if isinstance(one, _Cut) else list(_copies(one, count))
        return [value for value in made if not isinstance(value, _Cut)]


def _branches(group: Group) -> list[Json]:
    """Return the alternatives that say more than `null`."""
    return [one for one in group.branches if mapped(one).get("type") != "null"] or list(group.branches)


def _inner_groups(description: Description, picked: Iterable[Json], outer: SchemaShape) -> list[Group]:
    """Return the alternatives inside the chosen ones."""
    return shape_of(description, *picked, known=tuple(outer.refs)).groups


def _tell_apart(shape: SchemaShape, groups: Iterable[Group], picked: Iterable[Json]) -> None:
    """Set the discriminator property to the chosen alternative."""
    for group, branch in zip(groups, picked, strict=True):
        if group.property:
            shape.discriminator, shape.mapping = group.property, group.mapping
            ref = mapped(branch).get("$ref")
            if isinstance(ref, str):
                shape.refs = {ref: None, **{one: None for one in shape.refs if one != ref}}


def _known(shape: SchemaShape) -> dict[str, Json]:
    """Return the properties whose value follows from which schema applies."""
    known: dict[str, Json] = {}
    if shape.discriminator and shape.refs:
        ref = next(iter(shape.refs))
        meant = [value for value, one in shape.mapping.items() if one == ref or name_of(one) == name_of(ref)]
        allowed = listed(mapped(shape.properties.get(shape.discriminator)).get("enum"))
        value = meant[0] if meant else shape.name
        if not allowed or value in allowed:
            known[shape.discriminator] = value
    kinds = [mapped(one) for one in listed(shape.keywords.get("x-kubernetes-group-version-kind"))]
    if len(kinds) == 1 and {"apiVersion", "kind"} <= shape.properties.keys():
        group, version, kind = (kinds[0].get(key) for key in ("group", "version", "kind"))
        known |= {"apiVersion": f"{group}/{version}" if group else version, "kind": kind}
    return known


def _copies(value: Json, count: int) -> Iterator[Json]:
    """Return a value repeated, with the copies made distinct where that is easy."""
    for number in range(count):
        if number and isinstance(value, str):
            yield f"{value} {number + 1}"
        elif number and isinstance(value, (int, float)) and not isinstance(value, bool):
            yield value + number
        else:
            yield value


def _singular(name: str) -> str:
    return name[:-1] if name.endswith("s") and not name.endswith("ss") else name


def _small(value: Json) -> bool:
    return len(value if isinstance(value, str) else json.dumps(value, default=str)) <= _LARGE


DEPTH: Final = 3
"""Levels of objects that show optional properties."""
_SHOWN: Final = (12, 4, 2)
"""Optional properties shown per level; below the first level only by objects without required ones."""


def example_of(
    description: Description, schema: Json, *, direction: Direction = "request", depth: int = DEPTH, given: bool = True
) -> Json:
    """Return an example of a schema; the nearest attempt if none is valid.

    Args:
        description: Resolves references.
        schema: A schema or a reference to one.
        direction: A request shows no read-only properties, a response no write-only ones.
        depth: Levels of objects that show optional properties.
        given: Whether examples in the schemas are used.
    """
    return checked_example(description, schema, direction=direction, depth=depth, given=given)[0]


def checked_example(
    description: Description, schema: Json, *, direction: Direction = "request", depth: int = DEPTH, given: bool = True
) -> tuple[Json, bool]:
    """Return an example, as `example_of` does, and whether it is valid."""
    check = SchemaCheck(description, schema, direction)
    made: list[Json] = []
    for levels, shown, offered in ((depth, _SHOWN, given), (depth, WIDE, given), (0, _SHOWN, False)):
        value, holds = _attempt(Builder(description, direction, levels, shown, given=offered), schema, check)
        if holds:
            return value, True
        made.append(value)
    return made[0], False


def _attempt(builder: Builder, schema: Json, check: SchemaCheck) -> tuple[Json, bool]:
    """Return what a builder makes of a schema within its attempts, and whether it is valid."""
    value: Json = None
    for _ in range(TRIES):
        value = builder.build(schema)
        at = check.fails_at(value)
        if at is None:
            return value, True
        if not builder.mend(at):
            break
    return value, False


def best_example(
    description: Description, schema: Json, given: Json, *, direction: Direction, depth: int = DEPTH
) -> Json:
    """Return the given example if it is valid, else a generated one.

    Args:
        description: Resolves references.
        schema: The schema, or None if there is none.
        given: The example in the description, or None. Text that holds JSON is parsed.
        direction: As for `example_of`.
        depth: As for `example_of`.
    """
    if given is None:
        return None if schema is None else example_of(description, schema, direction=direction, depth=depth)
    if schema is None:
        return given
    check = SchemaCheck(description, schema, direction)
    for candidate in _readings(given):
        if check.fits(candidate):
            return candidate
    return example_of(description, schema, direction=direction, depth=depth)


def _readings(given: Json) -> Iterator[Json]:
    """Yield an example as it stands, then as the JSON in its text."""
    yield given
    if isinstance(given, str) and given.lstrip()[:1] in {"{", "["}:
        try:
            yield json.loads(given)
        except (ValueError, RecursionError):
            return
