"""Shows an evaluation of the router: figures, those of a second encoder beside them, and what went wrong.

Invariant: takes decoded JSON and returns something that Rich can print; texts of lines are never markup.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from thresher.cli.output import shortened

Row = Mapping[str, Any]
_SHOWN = 40
"""Wrong lines; `--json` has them all."""
_LINE = 90


def trial(answer: Row) -> RenderableType:
    """The figures, then the lines that were decided wrongly with the reason."""
    parts: list[RenderableType] = [_figures(answer, answer["compared_with"])]
    wrong = answer["wrong"]
    if wrong:
        parts.append(Text(f"\n{len(wrong):,} of {answer['tests']:,} lines were decided wrongly:", style="bold"))
        parts += [_wrong(line) for line in wrong[:_SHOWN]]
    if len(wrong) > _SHOWN:
        parts.append(Text(f"and {len(wrong) - _SHOWN:,} more (--json has all)", style="dim"))
    return Group(*parts)


def _figures(answer: Row, other: Row | None) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    for heading in ("figure", answer["model"], *([other["model"]] if other else [])):
        table.add_column(Text(heading), overflow="fold")
    for name, value in answer.items():
        if name not in ("model", "wrong", "compared_with"):
            table.add_row(name, _value(value), *([_value(other[name])] if other else []))
    if other:
        table.add_row("wrong lines", str(len(answer["wrong"])), str(len(other["wrong"])))
    return table


def _value(value: Any) -> str:
    return "-" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)


def _wrong(line: Row) -> Text:
    shown = Text(f"line {line['line']}", style="dim")
    shown.append(f" {line['kind']} ", style="yellow")
    shown.append(_short(line["text"]), style="bold")
    shown.append(f"\n  expected {_names(line['expected'])}, got {_names(line['got'])}")
    shown.append(f"; {_reason(line)}", style="dim")
    return shown


def _names(names: list[str]) -> str:
    return " and ".join(names) or "none"


def _reason(line: Row) -> str:
    side = "at or above" if line["score"] >= line["threshold"] else "below"
    reason = f"best {line['best']} {line['score']:.2f}, {side} its threshold {line['threshold']:.2f}"
    if line["best_line"]:
        reason += f", like “{_short(line['best_line'])}”"
    if line["expected_score"] is not None and line["best"] not in line["expected"]:
        reason += f"; the expected scored {line['expected_score']:.2f}"
    return reason + (f"; judged as {' | '.join(map(_short, line['clauses']))}" if len(line["clauses"]) > 1 else "")


def _short(text: str) -> str:
    return shortened(text, _LINE)
