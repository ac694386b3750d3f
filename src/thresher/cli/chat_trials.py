"""Shows an evaluation of conversations: this product beside the standard pattern.

Invariant: takes decoded JSON and returns something that Rich can print.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

Row = Mapping[str, Any]

_BESIDE: Final = {
    "calls": "standard_calls",
    "prompt_tokens": "standard_prompt_tokens",
    "cached_cost": "standard_cached_cost",
    "tokens_per_turn": "standard_tokens_per_turn",
    "p50_ms": "standard_p50_ms",
}
_SHOWN: Final = 40
"""Turns; `--json` has them all."""


def chat_trial(answer: Row) -> RenderableType:
    """One row a figure, then one a turn, then what a judge says."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    for heading in ("figure", "thresher", "standard"):
        table.add_column(heading, justify="left" if heading == "figure" else "right")
    for name, value in answer.items():
        if name not in ("each", "quality") and name not in _BESIDE.values():
            table.add_row(name, _value(value), _value(answer[_BESIDE[name]]) if name in _BESIDE else "")
    quality: Row = answer["quality"] or {}
    for name, value in quality.items():
        table.add_row(name, _value(value), "")
    return Group(table, Text(""), _turns(answer))


def _turns(answer: Row) -> RenderableType:
    table = Table(box=None, pad_edge=False, header_style="dim")
    for heading in ("conversation", "turn", "calls", "tokens", "standard", "passages", "ms"):
        table.add_column(heading, justify="left" if heading == "conversation" else "right")
    for row in answer["each"][:_SHOWN]:
        tokens = (f"{row['prompt_tokens']:,}", f"{row['standard_prompt_tokens']:,}")
        cells = (row["turn"], row["calls"], *tokens, row["documents"], round(row["ms"]))
        table.add_row(Text(row["conversation"]), *map(str, cells))
    left = len(answer["each"]) - _SHOWN
    return Group(table, Text(f"and {left:,} more (--json has all)", style="dim")) if left > 0 else table


def _value(value: Any) -> str:
    return "-" if value is None else f"{value:,.3g}" if isinstance(value, float) and value < 100 else f"{value:,.0f}"
