"""Which checkpoints others depend on: pure functions over the shape of a thread.

A delta channel of LangGraph stores its value from time to time; in between, a value is rebuilt from what the ancestors'
tasks wrote. So a checkpoint depends on its ancestors back to one that stores the value.

Invariant: every value of a kept checkpoint can be rebuilt.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias
from uuid import UUID

Key: TypeAlias = tuple[str, UUID]
"""Of a checkpoint in its thread: namespace and id."""


@dataclass(frozen=True, slots=True)
class CheckpointNode:
    """A checkpoint without its contents.

    Attributes:
        ns: Namespace; empty for the whole graph.
        id: Of the checkpoint.
        parent: The one before it.
        run: The run that made it, by LangGraph's name.
        root: For a subgraph's, the id of the whole graph's checkpoint that it ran under.
        deltas: Channels whose values are rebuilt from earlier ones.
        stored: Channels whose values are stored with it.
    """

    ns: str
    id: UUID
    parent: UUID | None
    run: str | None = None
    root: str | None = None
    deltas: frozenset[str] = frozenset()
    stored: frozenset[str] = frozenset()

    @property
    def key(self) -> Key:
        """Its key."""
        return self.ns, self.id


def latest(nodes: Iterable[CheckpointNode]) -> dict[str, CheckpointNode]:
    """Return the newest checkpoint of each namespace."""
    newest: dict[str, CheckpointNode] = {}
    for node in nodes:
        if node.ns not in newest or newest[node.ns].id < node.id:
            newest[node.ns] = node
    return newest


def needed(nodes: Mapping[Key, CheckpointNode], heads: Iterable[CheckpointNode]) -> set[Key]:
    """Return some checkpoints and all that they depend on."""
    kept: set[Key] = set()
    for head in heads:
        kept.add(head.key)
        missing, here = head.deltas - head.stored, head
        while missing and here.parent is not None and (above := nodes.get((here.ns, here.parent))) is not None:
            here = above
            kept.add(here.key)
            missing -= here.stored
    return kept


def ancestry(nodes: Mapping[Key, CheckpointNode], head: CheckpointNode) -> set[Key]:
    """Return a checkpoint of the whole graph, all before it, and those of subgraphs that ran under them."""
    line: set[Key] = set()
    here: CheckpointNode | None = head
    while here is not None and here.key not in line:
        line.add(here.key)
        here = nodes.get((here.ns, here.parent)) if here.parent is not None else None
    roots = {str(one) for _, one in line}
    return line | {node.key for node in nodes.values() if node.ns and node.root in roots}


def without_runs(nodes: Mapping[Key, CheckpointNode], runs: Collection[str]) -> set[Key]:
    """Return what stays without the checkpoints of some runs: the others, and those that they depend on."""
    return needed(nodes, [node for node in nodes.values() if node.run not in runs])
