"""Shows what the router decides: intents, explanations, statistics.

Invariant: takes decoded JSON and returns something that Rich can print; text of packs and messages is never markup.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from thresher.cli.output import shortened

Row = Mapping[str, Any]

_SHOWN = 20
"""Rows of unmatched intents; `--json` has them all."""
_LINE = 70
_REASONS = {
    "keyword": "named",
    "history": "from the turn before",
    "file": "by its files",
    "always": "applies to every message",
    "negated": "the message says that it is not meant",
}


def intent_list(answer: Row) -> RenderableType:
    """The intents in use, what is found and not used, what is broken."""
    parts: list[RenderableType] = []
    if answer["intents"]:
        parts.append(_intent_table(answer["intents"]))
    else:
        parts.append(Text("No intents yet. Make a pack: thresher packs new NAME", "bold"))
    parts += [Text(_unused(pack), "yellow") for pack in answer["inert"]]
    parts += [_problem(problem) for problem in answer["problems"]]
    return Group(*parts)


def _unused(pack: Row) -> str:
    return f"not used: {pack['name']} ({pack['reason']}, {pack['path']}). {pack['hint']}"


def _problem(problem: Row) -> Text:
    told = f"{problem['path']}: {problem['message']} {problem['hint']}".rstrip()
    return Text(told, "red" if problem["severity"] == "error" else "yellow")


def _intent_table(intents: Sequence[Row]) -> Table:
    table = _table("intent", "from", "lines", "threshold", "what it is for")
    for intent in intents:
        lines = f"{intent['lines']}" + (f" (+{intent['negatives']} not)" if intent["negatives"] else "")
        row = (Text(intent["name"], "bold"), intent["origin"], lines, _threshold(intent))
        table.add_row(*row, Text(_short(intent["description"]), "dim"))
    return table


def _threshold(intent: Row) -> str:
    if intent["applies"]:
        return str(intent["applies"])
    if intent["threshold"] is None:
        return "-"
    return f"{intent['threshold']:.2f}" + (" by hand" if intent["by_hand"] is not None else "")


def explained(answer: Row) -> RenderableType:
    """A decision with its reasons: the intents, best first, then what it rests on."""
    scores: Sequence[Row] = answer["scores"]
    matched = [score["intent"] for score in scores if score["matched"]]
    head = f"Rules of: {', '.join(matched)}." if matched else "PASS_THROUGH: no rules fit."
    told = f" Confidence {answer['confidence']:.2f}, margin to the next {answer['margin']:.2f}."
    parts: list[RenderableType] = [Text(head, "bold").append(told, style="dim")]
    if scores:
        parts.append(_score_table(scores, answer["clauses"]))
    if (more := len(scores) - max(_SHOWN, len(matched))) > 0:
        parts.append(Text(f"and {more} more (--json has all)", "dim"))
    if answer["clarify"]:
        parts.append(Text(f"ask the person: {answer['clarify']}", "yellow"))
    if answer["degraded"]:
        parts.append(Text(f"degraded: {answer['degraded']}", "yellow"))
    if len(answer["clauses"]) > 1:
        judged = " | ".join(f"{place} {_short(text)}" for place, text in enumerate(answer["clauses"]))
        parts.append(Text(f"judged as: {judged}", "dim"))
    spent = f"by {answer['basis']}, {answer['duration_ms']:.1f} ms, of that {answer['embedding_ms']:.1f} embedding"
    return Group(*parts, Text(spent + (", from the cache" if answer["cached"] else ""), "dim"))


def _score_table(scores: Sequence[Row], clauses: Sequence[str]) -> Table:
    table = _table("", "intent", "score", "threshold", "margin", "similarity", "why")
    shown = [score for score in scores if score["matched"]]
    shown += [score for score in scores if not score["matched"]][: max(0, _SHOWN - len(shown))]
    for score in shown:
        style = "bold" if score["matched"] else "dim"
        figures = (f"{score['score']:.2f}", f"{score['threshold']:.2f}", f"{score['margin']:+.2f}")
        row = (Text("yes" if score["matched"] else "", "green"), Text(score["intent"], style), *figures)
        table.add_row(
            *row, f"{score['similarity']:.2f}", Text(_why(score, len(clauses)), "" if style == "bold" else style)
        )
    return table


def _why(score: Row, clauses: int) -> str:
    said = [_REASONS[score["why"]]] if score["why"] in _REASONS else []
    if score["keywords"]:
        said.append(f"names {', '.join(score['keywords'][:5])}")
    if score["best_line"]:
        said.append(f"like “{_short(score['best_line'])}”")
    if clauses > 1 and score["clause"] and score["matched"]:
        said.append(f"in part {score['clause']}")
    return ", ".join(said)


def threshold_set(answer: Row) -> RenderableType:
    """The threshold that counts now."""
    how = "set by hand" if answer["by_hand"] is not None else "as fitted"
    value = "-" if answer["threshold"] is None else f"{answer['threshold']:.2f}"
    return Text(f"{answer['name']}: threshold {value}, {how}.")


def statistics(answer: Row) -> RenderableType:
    """The figures of a period: decisions, intents, where the router may be wrong."""
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in (*_decisions(answer), *_intents(answer), *_doubts(answer)):
        table.add_row(name, Text(value))
    return table


def _decisions(answer: Row) -> list[tuple[str, str]]:
    times = " / ".join(_milliseconds(answer[f"latency_{part}_ms"]) for part in ("p50", "p95", "p99"))
    bases = ", ".join(f"{name} {count:,}" for name, count in answer["bases"].items() if count)
    lost = f"{answer['lost_rows']:,}: the database did not take them" if answer["lost_rows"] else "none"
    return [
        ("since", str(answer["since"])[:16].replace("T", " ")),
        ("decisions", f"{answer['decisions']:,}, {_share(answer['cached_share'])} from the cache"),
        ("time p50 / p95 / p99", times),
        ("embedding p50", _milliseconds(answer["embedding_p50_ms"])),
        ("decided by", bases or "-"),
        ("degraded", _share(answer["degraded_share"])),
        ("log rows lost", lost),
    ]


def _intents(answer: Row) -> list[tuple[str, str]]:
    common = [f"{row['intent']} {row['count']:,} (score {row['mean_score']:.2f})" for row in answer["intents"]]
    return [
        ("passed through", _share(answer["pass_through_rate"])),
        ("several intents", _share(answer["several_share"])),
        ("commonest", _listed(common)),
        ("never matched", _listed(answer["unused"])),
    ]


def _doubts(answer: Row) -> list[tuple[str, str]]:
    unsure = [
        f"“{_short(row['message'] or row['message_hash'][:12])}” {row['count']:,} (confidence {row['confidence']:.2f}"
        f"{', perhaps ' + ' or '.join(row['intents']) if row['intents'] else ''})"
        for row in answer["unsure"]
    ]
    signals = [_SIGNALS[row["kind"]].format(**row, was=" and ".join(row["decided"])) for row in answer["signals"]]
    return [
        ("low confidence", _share(answer["unsure_share"])),
        ("a question suggested", _share(answer["clarified_share"])),
        ("least sure of", "\n".join(unsure) or "-"),
        ("wrong tool next", _share(answer["wrong_tool_rate"])),
        ("signals", "\n".join(signals) or "-"),
    ]


_SIGNALS = {
    "other": "{count:,} times a tool of {pack} was called after {was}",
    "missed": "{count:,} times a tool of {pack} was called after a message that had passed through",
    "unread": "{count:,} times a tool of {pack} was called without its rules, and answered with them",
}


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN:,} more (--json has all)" if len(names) > _SHOWN else ""
    return (", ".join(names[:_SHOWN]) or "-") + more


def _share(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.1f} %"


def _milliseconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f} ms"


def _short(text: str, limit: int = _LINE) -> str:
    return shortened(text, limit)


def _table(*headings: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    for heading in headings:
        table.add_column(heading, overflow="fold")
    return table
