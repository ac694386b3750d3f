"""What rules work on: the description, its operations, and plain data with the truth values of JavaScript."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final, cast

from thresher.openapi.records import Dialect, Json
from thresher.openapi.rules.tree import Tree


def stands(value: Json) -> bool:
    """Return whether a value is truthy in JavaScript: empty lists and mappings are; null, false, 0 and "" are not."""
    return isinstance(value, dict | list) or bool(value)


def look(value: Json, *keys: str) -> Json:
    """Return the value under these nested keys, or None."""
    for key in keys:
        if not isinstance(value, dict):
            return None
        value = cast("dict[str, Json]", value).get(key)
    return value


def counted(value: Json, most: int) -> int:
    """Count the values inside a value, itself included; stop above `most`."""
    count = 0
    left = [value]
    while left and count <= most:
        here = left.pop()
        count += 1
        if isinstance(here, dict):
            left += cast("dict[str, Json]", here).values()
        elif isinstance(here, list):
            left += cast("list[Json]", here)
    return count


def text_of(value: Json) -> str:
    """Return the value if it is text, else ""."""
    return value if isinstance(value, str) else ""


def texts_of(value: Json) -> list[str]:
    """Return the texts in a list."""
    return [each for each in cast("list[Json]", value) if isinstance(each, str)] if isinstance(value, list) else []


if TYPE_CHECKING:
    from thresher.openapi.reader.description import Description

METHODS: Final = frozenset({"get", "put", "post", "delete", "options", "head", "patch", "trace"})
"""Methods that shared rules check, in every version."""


@dataclass(frozen=True, slots=True)
class PlacedOperation:
    """An operation and the path that leads to it.

    Attributes:
        path: As in `paths`.
        method: Lower case.
        item: Node of its path item.
        node: Its node; -1 if it is not a mapping.
        value: Its plain data, whatever that is.
        pointer: Where it is defined, with the path's reference followed.
    """

    path: str
    method: str
    item: int
    node: int
    value: Json
    pointer: str


class RuleSubject:
    """One description as rules see it.

    Args:
        description: The description.
    """

    def __init__(self, description: Description) -> None:
        self.description = description
        self.root: Mapping[str, Json] = description.root
        self.dialect: Dialect = description.dialect
        self.tree = Tree(description.root)

    @property
    def swagger(self) -> bool:
        """Whether it is Swagger 2.0."""
        return self.dialect == "2.0"

    @cached_property
    def operations(self) -> tuple[PlacedOperation, ...]:
        """All operations under `paths`, well-formed or not."""
        return tuple(self._operations())

    def _operations(self) -> Iterator[PlacedOperation]:
        tree = self.tree
        for path, item in tree.children(tree.child(0, "paths")):
            for method, value in tree.mapping(item).items():
                if method in METHODS:
                    node = tree.child(item, method)
                    pointer = tree.pointer(node) if node >= 0 else tree.pointer(item, method)
                    yield PlacedOperation(str(path), method, item, node, value, pointer)
