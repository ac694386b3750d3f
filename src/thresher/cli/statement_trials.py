"""Shows an evaluation of the guard: figures, and the statements that it judged otherwise than expected.

Invariant: takes decoded JSON and returns something that Rich can print; SQL is never markup.
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
"""Wrong statements; `--json` has them all."""
_LINE = 110


def statement_trial(answer: Row) -> RenderableType:
    """The figures, then the statements that were judged wrongly with the guard's reason."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    for heading in ("figure", answer["dialect"]):
        table.add_column(heading)
    for name, value in answer.items():
        if name not in ("dialect", "wrong"):
            table.add_row(name, _value(value))
    wrong = answer["wrong"]
    parts: list[RenderableType] = [table]
    if wrong:
        parts.append(Text(f"\n{len(wrong):,} of {answer['statements']:,} were judged wrongly:", style="bold"))
        parts += [_wrong(line) for line in wrong[:_SHOWN]]
    if len(wrong) > _SHOWN:
        parts.append(Text(f"and {len(wrong) - _SHOWN:,} more (--json has all)", style="dim"))
    return Group(*parts)


def _wrong(line: Row) -> Text:
    shown = Text(f"line {line['line']} ", style="dim")
    shown.append("refused " if line["expected"] == "allow" else "ACCEPTED ", style="red")
    shown.append(_short(line["sql"]), style="bold")
    told = f"{line['rule']}: {line['reason']}" if line["rule"] else line["why"]
    if told:
        shown.append(f"\n  {_short(told)}")
    return shown


def _value(value: Any) -> str:
    return "-" if value is None else f"{value:.4g}" if isinstance(value, float) else f"{value:,}"


def _short(text: str) -> str:
    return shortened(text, _LINE)
