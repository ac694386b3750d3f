"""Judges plans: whether a statement would cost more than a connection's owner allows.

Invariant: pure. Estimates are an engine's guesses, so bounds are generous: they stop what would run for hours, and the
time-out stops the rest.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from thresher.connectors.connector import ConnectorOptions
from thresher.core import StatementRefused


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a planner expects.

    Attributes:
        cost: Of the whole, in its own unit; 0 where it tells none.
        rows: The most that any one step makes or looks at; 0 where it tells none.
        broken: Whether the statement could not be planned at all.
    """

    cost: float = 0.0
    rows: float = 0.0
    broken: bool = False


def refuse_dear(estimate: Estimate, options: ConnectorOptions) -> None:
    """Raise where a statement is expected to cost more than is allowed.

    Raises:
        StatementRefused: Rule `cost`.
    """
    if options.most_rows is not None and estimate.rows > options.most_rows:
        raise too_dear(f"about {estimate.rows:,.0f} rows in one step, and allowed are {options.most_rows:,.0f}")
    if options.most_cost is not None and estimate.cost > options.most_cost:
        raise too_dear(f"a cost of about {estimate.cost:,.0f}, and allowed is {options.most_cost:,.0f}")


def too_dear(expected: str) -> StatementRefused:
    """The refusal of a statement of which the database expects too much."""
    return StatementRefused(
        f"The statement costs too much: the database expects {expected}.",
        hint="Join on keys, filter or aggregate first; sql_explain shows the plan.",
        rule="cost",
    )


def postgresql_estimate(plan: Any) -> Estimate:
    """From the answer of `explain (format json)`; commands that are not planned have none."""
    document = json.loads(plan) if isinstance(plan, str | bytes) else plan
    if not isinstance(document[0], dict):
        return Estimate()
    top: Mapping[str, Any] = document[0]["Plan"]
    return Estimate(float(top.get("Total Cost", 0)), max(_rows_of(top)))


def _rows_of(node: Mapping[str, Any]) -> Iterable[float]:
    nodes = [node]
    while nodes:
        one = nodes.pop()
        yield float(one.get("Plan Rows", 0))
        nodes.extend(one.get("Plans", ()))
