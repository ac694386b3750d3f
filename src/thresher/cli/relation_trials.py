"""Shows an evaluation of potential relations: figures, and the keys that were invented or missed.

Invariant: takes decoded JSON and returns something that Rich can print; names of tables are never markup.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

Row = Mapping[str, Any]

_SHOWN = 40
"""Wrong relations; `--json` has them all."""


def relation_trial(answer: Row) -> RenderableType:
    """The figures, then what was found and is not declared, and what was missed."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("figure")
    table.add_column("with data" if answer["with_data"] else "metadata alone")
    for name, value in answer.items():
        if name not in ("with_data", "wrong"):
            table.add_row(name, _value(value))
    wrong = answer["wrong"]
    parts: list[RenderableType] = [table]
    if wrong:
        parts.append(Text(f"\n{len(wrong):,} relations are wrong:", style="bold"))
        parts += [_wrong(one, several=answer["databases"] > 1) for one in wrong[:_SHOWN]]
    if len(wrong) > _SHOWN:
        parts.append(Text(f"and {len(wrong) - _SHOWN:,} more (--json has all)", style="dim"))
    return Group(*parts)


def _wrong(one: Row, *, several: bool) -> Text:
    shown = Text(f"{one['database']}: " if several else "", style="dim")
    shown.append(f"{one['kind']} ", style="yellow")
    shown.append(f"{one['child']} -> {one['parent']}", style="bold")
    if one["score"] is not None:
        shown.append(f" {one['score']:.2f}")
    if one["instead"]:
        shown.append(f"; found {one['instead']} instead")
    if one["evidence"]:
        shown.append(f"\n  {'; '.join(one['evidence'])}", style="dim")
    return shown


def _value(value: Any) -> str:
    return "-" if value is None else f"{value:.4g}" if isinstance(value, float) else f"{value:,}"
