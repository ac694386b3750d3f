"""What rules look at: the document with its operations, references followed as far as a rule needs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final, cast

from thresher.openapi.records import Dialect, Json
from thresher.openapi.rules.tree import Tree


def stands(value: Json) -> bool:
    """Whether a value counts as given: empty lists and mappings do; null, false, zero and empty text do not."""
    return isinstance(value, dict | list) or bool(value)


def look(value: Json, *keys: str) -> Json:
    """What stands under these keys; None where there is nothing."""
    for key in keys:
        if not isinstance(value, dict):
            return None
        value = cast("dict[str, Json]", value).get(key)
    return value


def counted(value: Json, most: int) -> int:
    """How many values one holds, itself among them; counting ends above `most`."""
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
    """The value where it is text; empty text else."""
    return value if isinstance(value, str) else ""


def texts_of(value: Json) -> list[str]:
    """The texts of a list."""
    return [each for each in cast("list[Json]", value) if isinstance(each, str)] if isinstance(value, list) else []


if TYPE_CHECKING:
    from thresher.openapi.reader.description import Description

METHODS: Final = frozenset({"get", "put", "post", "delete", "options", "head", "patch", "trace"})
"""Of a path; those that shared rules look at, in every version."""


@dataclass(frozen=True, slots=True)
class PlacedOperation:
    """An operation and where it is reached from.

    Attributes:
        path: As in `paths`.
        method: Lower case.
        item: Container of its path.
        node: Its container; -1 where it is no mapping.
        value: Whatever stands there.
        pointer: Where it stands, references of its path followed.
    """

    path: str
    method: str
    item: int
    node: int
    value: Json
    pointer: str


class RuleSubject:
    """One description, as rules see it.

    Args:
        description: It.
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
        """Those under `paths`, whatever they hold."""
        return tuple(self._operations())

    def _operations(self) -> Iterator[PlacedOperation]:
        tree = self.tree
        for path, item in tree.children(tree.child(0, "paths")):
            for method, value in tree.mapping(item).items():
                if method in METHODS:
                    node = tree.child(item, method)
                    pointer = tree.pointer(node) if node >= 0 else tree.pointer(item, method)
                    yield PlacedOperation(str(path), method, item, node, value, pointer)
