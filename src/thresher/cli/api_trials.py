"""Shows an evaluation of the search of operations: figures, and the questions that it failed.

Invariant: takes decoded JSON and returns something that Rich can print; queries are never markup.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

Row = Mapping[str, Any]

_SHOWN: Final = 20
"""Failed questions; `--json` has them all."""


def api_trial(answer: Row) -> RenderableType:
    """One row a figure, then the questions without a relevant operation among the first five."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("figure")
    table.add_column("value", justify="right")
    for name, value in answer.items():
        if name != "failed":
            table.add_row(name, "-" if value is None else f"{value:.3g}" if isinstance(value, float) else f"{value:,}")
    failed = answer["failed"]
    parts: list[RenderableType] = [table]
    if failed:
        parts.append(Text(f"\n{len(failed):,} questions have no right operation among the first five:", style="bold"))
        parts += [_line(one) for one in failed[:_SHOWN]]
    if len(failed) > _SHOWN:
        parts.append(Text(f"and {len(failed) - _SHOWN:,} more (--json has all)", style="dim"))
    return Group(*parts)


def _line(one: Row) -> Text:
    shown = Text(f"line {one['line']}: ", style="dim")
    shown.append(one["query"])
    shown.append(f"\n  wanted {' or '.join(one['relevant'])}; found {one['found'] or 'nothing'}", style="dim")
    return shown
