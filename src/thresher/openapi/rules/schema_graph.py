"""Which schemas a schema names, whether all of that can be written out, and how much it would be.

Invariant: nothing here recurses over references; a schema that reaches itself is never written out.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator
from functools import cached_property
from typing import Final

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
"""Schemas that one may consist of when every reference is written out; real ones have up to 7,400."""


AGAIN: Final = 4
"""Times that a checker looks at what stands in a schema with `unevaluated...`, once for each that holds another."""


class SchemaGraph:
    """The schemas of one description, by what they name.

    Args:
        tree: Its containers.
    """

    def __init__(self, tree: Tree) -> None:
        self._tree = tree

    def size(self, node: int) -> int:
        """Schemas that one consists of when every reference is written out.

        Returns:
            That number; 0 where it cannot be written out: it reaches itself, names what is not there, or is too large.
        """
        target = self._tree.target(node)
        if target < 0:
            return 0
        if target in self._sizes:
            return self._sizes[target]
        own, named = self._look(target)
        return self._sum(own, named) if all(name in self._sizes for name in named) else 0

    def reached(self, node: int) -> list[int]:
        """Everything that a schema names, directly or not."""
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
        """The sizes of what references name, where it can be written out; 0 for what is too large."""
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
        """How many schemas one has in itself, and what they name, how often; -1 for what is not there."""
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
        """The schemas that one holds."""
        tree = self._tree
        for key, kid in tree.kids[node].items():
            listed = isinstance(tree.values[kid], list)
            if (key in NAMED and not listed) or (key in SEVERAL and listed):
                yield from tree.kids[kid].values()
            elif key in ONE and not listed:
                yield kid
