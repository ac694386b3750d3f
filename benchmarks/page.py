"""Writes the page of figures from the results: `python -m benchmarks page`.

The prose stands in `benchmarks/page.md`, with `{{...}}` where a figure belongs: `{{file.path.to.value|format}}`, or
`{{word argument}}` for a piece of a table.

Invariant: the same results give the same page, and a figure that is missing is an error.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from benchmarks.machine import RESULTS

TEMPLATE = Path(__file__).with_name("page.md")
PAGE = Path(__file__).resolve().parents[1] / "docs" / "reference" / "benchmarks.md"
ERAS = ("2026-07-28", "2025-11-25")
_PLACE = re.compile(r"\{\{([^{}]+)\}\}")

Results = Mapping[str, Any]


def results() -> dict[str, Any]:
    """All saved results, by the name of their file."""
    return {file.stem: json.loads(file.read_text(encoding="utf-8")) for file in sorted(RESULTS.glob("*.json"))}


def page(template: str, found: Results) -> str:
    """Fill a template in.

    Raises:
        KeyError: A figure that it names is in no result.
    """
    return _PLACE.sub(lambda match: _filled(match[1].strip(), found), template)


def _filled(place: str, found: Results) -> str:
    word, _, argument = place.partition(" ")
    if word in PIECES:
        return PIECES[word](found, argument)
    path, _, style = place.partition("|")
    return format(value(found, path), style)


def value(found: Results, path: str) -> Any:
    """One figure by its path; parts may hold dots where they stand in quotes.

    Raises:
        KeyError: There is none.
    """
    here: Any = found
    for part in re.findall(r"'[^']*'|[^.]+", path):
        key = part.strip("'")
        if not isinstance(here, Mapping) or key not in here:
            raise KeyError(f"benchmarks/page.md names {path}, which no result holds; run the benchmark")
        here = here[key]
    return here


def _interval(bounds: list[float], sign: str = "") -> str:
    return "[" + ", ".join(format(bound, f"{sign}.3f") for bound in bounds) + "]"


def _recall(found: Results, name: str) -> str:
    """The cells of one set: ours, the two baselines, and what we lead by."""
    bench = value(found, f"quality.{name}")
    ours = bench["thresher"]["recall_at_5"]
    cells = [f"**{ours['mean']:.3f}** {_interval(ours['interval'])}"]
    cells += [f"{bench[other]['recall_at_5']['mean']:.3f}" for other in ("fastmcp_bm25", "bge_small")]
    for other in ("fastmcp_bm25", "bge_small"):
        lead = bench["lead_at_5"][other]
        cells.append(f"{lead['difference']:+.3f} {_interval(lead['interval'], '+')}")
    return " | ".join(cells)


def _learned(found: Results, name: str) -> str:
    """What learning or training changes for one kind of message: in the answer, among the first five, first."""
    path = name if "." in name else f"learning.{name}"
    measures = [value(found, f"{path}.{measure}") for measure in ("delivered", "first_five", "first")]
    return " | ".join(
        f"{one['before']:.3f}, **{one['difference']:+.3f}** {_interval(one['interval'], '+')}" for one in measures
    )


def _delivered(found: Results, name: str) -> str:
    """The cells of one set: needed tools at 150 and 300 tokens; at 300 signatures, confusion and cost."""
    small, usual = (value(found, f"quality.{name}.delivered.{budget}") for budget in (150, 300))
    needed = usual["needed"]
    cells = [f"**{small['needed']['mean']:.3f}**", f"**{needed['mean']:.3f}** {_interval(needed['interval'])}"]
    cells += [f"{usual[figure]['mean']:.3f}" for figure in ("signature", "confusion")]
    return " | ".join([*cells, f"{usual['tokens']:.0f}"])


def _growth(found: Results, size: str) -> str:
    """The cells of one size of the catalogue."""
    row = value(found, f"speed.in_process.{size}")
    cells: list[str] = []
    for clauses in ("clauses_1", "clauses_3"):
        find = row[clauses]["find"]
        cells += [f"{find['p50_ms']} / {find['p95_ms']}", f"{row[clauses]['share_of_embedding']}"]
    return " | ".join([*cells, str(row["tools_per_second_without_embedding"]), str(row["memory_mb"])])


def _eras(found: Results, path: str) -> str:
    """One figure of the gateway's in both eras, newest first; the first one in bold."""
    first, second = (value(found, f"gateway.'{era}'.{path}") for era in ERAS)
    return f"**{first}**, {second}"


def _lost(found: Results, era: str) -> str:
    """How many scenarios a client loses behind the gateway, and which."""
    names = found["conformance"][era]["pass_direct_and_fail_through"]
    return f"**{len(names)}**" + (f" ({', '.join(names)})" if names else "")


def _retention(found: Results, place: str) -> str:
    """The cells of one set of questions under one budget."""
    name, _, budget = place.partition(" ")
    row = value(found, f"documents.{name}.{budget}")
    plain = [f"{row['baselines'][rule]['full_retention']:.3f}" for rule in ("head", "bm25_chunks", "vector_chunks")]
    return " | ".join([f"**{row['full_retention']:.3f}**", *plain, f"{row['ahead_of_best_baseline']:+.3f}"])


def _answers(found: Results, figure: str) -> list[float]:
    """One figure of every set of questions and budget that has it."""
    sets = [budgets for name, budgets in found["documents"].items() if name != "machine"]
    return [row[figure] for budgets in sets for row in budgets.values() if row[figure] is not None]


def _total(found: Results, figure: str) -> str:
    return str(sum(_answers(found, figure)))


def _least(found: Results, figure: str) -> str:
    return f"{min(_answers(found, figure)):.3f}"


def _guard(found: Results, dialect: str) -> str:
    """The cells of one dialect: reads accepted of those that its engine could run, hostile ones accepted, times."""
    figures = value(found, f"guard.{dialect}")
    reads = figures["reads"].values()
    accepted, able = (sum(part[name] for part in reads) for name in ("accepted", "in_the_grammar"))
    foreign = sum(part["of_other_engines"] for part in reads)
    cells = [f"**{accepted / (able - foreign):.1%}** of {able - foreign:,}", f"{accepted / able:.1%} of {able:,}"]
    cells += [f"**{figures['hostile_accepted']}** of {figures['hostile']:,}"]
    return " | ".join([*cells, f"**{figures['p50_ms']:.2f} / {figures['p99_ms']:.1f} ms**"])


def _points(found: Results, paths: str) -> str:
    """By how many points the first of two shares is ahead of the second."""
    ours, theirs = (value(found, path) for path in paths.split())
    return f"{100 * (ours - theirs):+.1f}"


def _pairs(found: Results, name: str) -> str:
    """A row a pair of tables: what relates them, whether it is what was declared, and why."""
    rows: list[str] = []
    for pair in value(found, f"solutions.{name}.each"):
        tables = " to ".join(pair[side].removeprefix("db:/example_data/") for side in ("primary", "foreign"))
        columns, equal = ", ".join(pair["inferred"]) or "none", "yes" if pair["equal"] else "**no**"
        why = "; ".join(text for text in pair["evidence"] if not text.startswith("read from"))
        rows.append(f"| {tables} | {columns} | {equal} | {why} |")
    return "\n".join(rows)


_FAULTS = ("stale_documents", "unanswered_tool_calls", "internal_tools_visible")


def _faults(found: Results, name: str) -> str:
    """What should be in no prompt of a conversation, counted."""
    return "; ".join(str(value(found, f"chat.{name}.{fault}")) for fault in _FAULTS)


def _scripted_faults(found: Results, _: str) -> str:
    """The same of all scripted conversations together."""
    scripted = value(found, "chat.scripted").values()
    return "; ".join(str(sum(one[fault] for one in scripted)) for fault in _FAULTS)


def _scripted(found: Results, share: str) -> str:
    """A share over the turns of all scripted conversations."""
    scripted = value(found, "chat.scripted").values()
    turns = sum(one["turns"] for one in scripted)
    return format(sum(one[share] * one["turns"] for one in scripted) / turns, ".2f")


def _scripted_span(found: Results, figure: str) -> str:
    """The least and the greatest figure of a scripted conversation."""
    figures = [one[figure] for one in value(found, "chat.scripted").values()]
    return f"{min(figures):.2f} to {max(figures):.2f}"


PIECES: Mapping[str, Callable[[Results, str], str]] = {
    "delivered": _delivered,
    "learned": _learned,
    "recall": _recall,
    "growth": _growth,
    "eras": _eras,
    "lost": _lost,
    "retention": _retention,
    "total": _total,
    "least": _least,
    "guard": _guard,
    "points": _points,
    "pairs": _pairs,
    "faults": _faults,
    "scripted_faults": _scripted_faults,
    "scripted": _scripted,
    "scripted_span": _scripted_span,
}


async def run() -> None:
    """Write the page."""
    PAGE.write_text(page(TEMPLATE.read_text(encoding="utf-8"), results()), encoding="utf-8")
    print(PAGE)
