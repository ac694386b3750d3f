"""Which checkpoints others rest on."""

from __future__ import annotations

from uuid import UUID

from thresher.agent.threads.lineage import CheckpointNode, ancestry, latest, needed, without_runs

DELTA = frozenset({"said"})


def node(number: int, parent: int | None, ns: str = "", **more: object) -> CheckpointNode:
    """A checkpoint by a small number."""
    return CheckpointNode(ns, UUID(int=number), None if parent is None else UUID(int=parent), **more)  # type: ignore[arg-type]


def shape(*nodes: CheckpointNode) -> dict[tuple[str, UUID], CheckpointNode]:
    """A thread."""
    return {one.key: one for one in nodes}


def numbers(keys: set[tuple[str, UUID]]) -> list[int]:
    """Which ones."""
    return sorted(one.int for _, one in keys)


def test_a_value_is_needed_back_to_where_it_is_stored() -> None:
    """And no further; a checkpoint that stores it itself needs no other."""
    nodes = shape(
        node(1, None, deltas=DELTA),
        node(2, 1, stored=DELTA),
        node(3, 2, deltas=DELTA),
        node(4, 3, deltas=DELTA),
        node(5, 4, deltas=DELTA, stored=DELTA),
    )

    assert numbers(needed(nodes, [nodes["", UUID(int=4)]])) == [2, 3, 4]
    assert numbers(needed(nodes, [nodes["", UUID(int=5)]])) == [5]
    assert numbers(needed(nodes, latest(nodes.values()).values())) == [5]


def test_a_value_that_is_nowhere_stored_needs_all_that_is_left_of_the_line() -> None:
    """Each channel has its own end; a line that was cut ends where it is cut."""
    both = frozenset({"said", "heard"})
    nodes = shape(node(2, 1), node(3, 2, stored=frozenset({"heard"})), node(4, 3, deltas=both))

    assert numbers(needed(nodes, [nodes["", UUID(int=4)]])) == [2, 3, 4]


def test_runs_go_but_for_what_later_ones_rest_on() -> None:
    """Of a thread without delta channels all of them go."""
    plain = shape(node(1, None, run="a"), node(2, 1, run="b"), node(3, 2))
    delta = shape(node(1, None, run="a"), node(2, 1, run="a", stored=DELTA), node(3, 2, run="b", deltas=DELTA))

    assert numbers(without_runs(plain, ["a"])) == [2, 3]
    assert numbers(without_runs(delta, ["a"])) == [2, 3]


def test_an_ancestry_has_the_subgraphs_that_ran_under_it() -> None:
    """And neither later states nor other branches."""
    nodes = shape(
        node(1, None),
        node(2, 1),
        node(3, 2),
        node(4, 1),
        node(12, None, "child:x", root=str(UUID(int=2))),
        node(14, None, "child:y", root=str(UUID(int=4))),
    )

    assert numbers(ancestry(nodes, nodes["", UUID(int=2)])) == [1, 2, 12]
    assert numbers(ancestry(nodes, nodes["", UUID(int=4)])) == [1, 4, 14]
