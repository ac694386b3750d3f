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
        raise _refused(f"about {estimate.rows:,.0f} rows in one step", f"{options.most_rows:,.0f} rows")
    if options.most_cost is not None and estimate.cost > options.most_cost:
        raise _refused(f"a cost of about {estimate.cost:,.0f}", f"{options.most_cost:,.0f}")


def _refused(expected: str, allowed: str) -> StatementRefused:
    return StatementRefused(
        f"The database expects {expected}, and this connection allows {allowed}.",
        hint="Join on keys, filter or aggregate first; sql_explain shows the plan.",
        rule="cost",
    )


def postgresql_estimate(plan: Any) -> Estimate:
    """From the answer of `explain (format json)`."""
    document = json.loads(plan) if isinstance(plan, str | bytes) else plan
    top: Mapping[str, Any] = document[0]["Plan"]
    return Estimate(float(top.get("Total Cost", 0)), max(_rows_of(top)))


def _rows_of(node: Mapping[str, Any]) -> Iterable[float]:
    nodes = [node]
    while nodes:
        one = nodes.pop()
        yield float(one.get("Plan Rows", 0))
        nodes.extend(one.get("Plans", ()))


def mysql_estimate(columns: Iterable[str], rows: Iterable[Iterable[Any]]) -> Estimate:
    """From the table that `EXPLAIN` gives: the tables of one select are looked at once for each row before them."""
    names = [name.lower() for name in columns]
    products: dict[Any, float] = {}
    for row in rows:
        entry = dict(zip(names, row, strict=True))
        count = entry.get("rows")
        if count is not None:
            products[entry.get("id")] = products.get(entry.get("id"), 1.0) * max(1.0, float(count))
    return Estimate(rows=max(products.values(), default=0.0))
