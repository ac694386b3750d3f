"""`thresher tools stats` and `thresher purge`: what the logs say, and how they are kept short.

Invariant: a share that nothing was counted for shows as `-`, never as a number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from thresher.cli.client import ask
from thresher.cli.dry_run import writes
from thresher.cli.output import AsJson, show

if TYPE_CHECKING:
    from rich.console import RenderableType

Tenant = Annotated[str | None, typer.Option("--tenant", help="A tenant that keys stand for; local unless told.")]

_SHOWN = 20
"""Names in one row of the table; `--json` has them all."""
_FALLBACK_AIM = 0.001


def register(application: typer.Typer, tools: typer.Typer) -> None:
    """Add the commands of the logs."""
    tools.command("stats")(stats)
    application.command("purge")(writes(purge))


def stats(
    days: Annotated[float, typer.Option(help="Over how many days.")] = 30.0,
    tenant: Tenant = None,
    as_json: AsJson = False,
) -> None:
    """Show how fast and how well tools were found, and which are never chosen."""
    show(ask("stats", _given(days=days, tenant=tenant)), as_json, figures)


def purge(
    older_than: Annotated[
        float | None, typer.Option("--older-than", help="Age in days; THRESHER_LOG_DAYS unless told. 0 removes all.")
    ] = None,
    tenant: Tenant = None,
    as_json: AsJson = False,
) -> None:
    """Remove old rows of the logs, and embeddings that nothing has used for long."""
    show(ask("purge", _given(older_than=older_than, tenant=tenant)), as_json, purged)


def _given(**arguments: Any) -> dict[str, Any]:
    return {name: value for name, value in arguments.items() if value is not None}


def figures(answer: Mapping[str, Any]) -> RenderableType:
    """The figures of a period, in three parts: discoveries, calls, tools."""
    from rich.table import Table  # noqa: PLC0415 - `--help` does without
    from rich.text import Text  # noqa: PLC0415 - as above

    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in (*_discoveries(answer), *_calls(answer), *_tools(answer)):
        table.add_row(name, Text(value))
    return table


def purged(answer: Mapping[str, Any]) -> str:
    """What was removed, in a line."""
    return f"Removed {answer['rows']:,} log rows and {answer['embeddings']:,} unused embeddings."


def _discoveries(answer: Mapping[str, Any]) -> list[tuple[str, str]]:
    shadow = f", {answer['shadow']:,} in shadow" if answer["shadow"] else ""
    times = " / ".join(_milliseconds(answer[f"latency_{part}_ms"]) for part in ("p50", "p95", "p99"))
    rate = answer["fallback_rate"]
    late = "" if rate is None or rate < _FALLBACK_AIM else " - above the aim of 0.1 %: see `degraded` in the log"
    sources = ", ".join(f"{name} {count:,}" for name, count in answer["sources"].items() if count)
    lost = f"{answer['lost_rows']:,}: the database did not take them" if answer["lost_rows"] else "none"
    return [
        ("since", str(answer["since"])[:16].replace("T", " ")),
        ("discoveries", f"{answer['discoveries']:,}{shadow}"),
        ("time p50 / p95 / p99", times),
        ("embedding p50", f"{_milliseconds(answer['embedding_p50_ms'])} in {_share(answer['embedded_share'])}"),
        ("answered by", sources or "-"),
        ("fallback", f"{_share(rate, 2)}{late}"),
        ("nothing fitted", _share(answer["abstained_share"])),
        ("degraded", _share(answer["degraded_share"])),
        ("log rows lost", lost),
    ]


def _calls(answer: Mapping[str, Any]) -> list[tuple[str, str]]:
    asked = f"{_share(answer['chosen_share'])} of the {answer['asked_calls']:,} whose client had asked"
    rank = answer["mean_rank"]
    return [
        ("calls", f"{answer['calls']:,}, {_share(answer['error_rate'])} failed"),
        ("called tool was chosen", asked),
        ("the same in shadow", _share(answer["shadow_chosen_share"])),
        ("mean place when chosen", "-" if rank is None else f"{rank:.1f}"),
    ]


def _tools(answer: Mapping[str, Any]) -> list[tuple[str, str]]:
    never: Sequence[str] = answer["never_chosen"]
    return [
        ("most chosen", _counted(answer["most_chosen"])),
        ("called, never chosen", _counted(answer["called_unchosen"])),
        ("never chosen", f"{len(never):,} of {answer['tools']:,} tools" + (f": {_names(never)}" if never else "")),
    ]


def _counted(tools: Sequence[Mapping[str, Any]]) -> str:
    return _names([f"{tool['name']} {tool['count']:,}" for tool in tools]) or "-"


def _names(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN:,} more (--json has all)" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


def _share(value: float | None, digits: int = 1) -> str:
    return "-" if value is None else f"{100 * value:.{digits}f} %"


def _milliseconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f} ms"
