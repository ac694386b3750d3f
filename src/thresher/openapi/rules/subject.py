"""What rules look at: the document with its operations, references followed as far as a rule needs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

from thresher.openapi.records import Dialect, Json
from thresher.openapi.rules.tree import Tree

if TYPE_CHECKING:
    from thresher.openapi.description import Description

METHODS: Final = frozenset({"get", "put", "post", "delete", "options", "head", "patch", "trace"})
"""Of a path; those that shared rules look at, in every version."""


@dataclass(frozen=True, slots=True)
class Placed:
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


class Subject:
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
    def operations(self) -> tuple[Placed, ...]:
        """Those under `paths`, whatever they hold."""
        return tuple(self._operations())

    def _operations(self) -> Iterator[Placed]:
        tree = self.tree
        for path, item in tree.children(tree.child(0, "paths")):
            for method, value in tree.mapping(item).items():
                if method in METHODS:
                    node = tree.child(item, method)
                    pointer = tree.pointer(node) if node >= 0 else tree.pointer(item, method)
                    yield Placed(str(path), method, item, node, value, pointer)
