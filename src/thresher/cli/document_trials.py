"""Shows an evaluation of documents: the product beside plain rules.

Invariant: takes decoded JSON and returns something that Rich can print.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

Row = Mapping[str, Any]

_TOLD_BELOW = ("baselines", "budget", "mode", "questions", "index_seconds")


def document_trial(answer: Row) -> RenderableType:
    """One row a figure, one column a rule."""
    names = list(answer["baselines"])
    table = Table(box=None, pad_edge=False, header_style="dim")
    for heading in ("figure", "thresher", *names):
        table.add_column(heading, justify="left" if heading == "figure" else "right")
    for name, value in answer.items():
        if name not in _TOLD_BELOW:
            table.add_row(name, _value(value), *(_value(answer["baselines"][rule].get(name)) for rule in names))
    told = f"{answer['questions']} questions, {answer['budget']:,} tokens, {answer['mode']};"
    return Group(table, Text(f"\n{told} the corpus was indexed in {answer['index_seconds']:.1f} s", style="dim"))


def _value(value: Any) -> str:
    return "-" if value is None else f"{value:.3g}" if isinstance(value, float) else str(value)
