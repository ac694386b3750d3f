"""`thresher prompt`, `context`, `explain`, `ask` and `intents`: what a message gets, and the reasons.

Invariant: text of packs, messages and answers is never markup.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Annotated, Any, Literal

import typer
from rich.console import Group, RenderableType
from rich.markdown import Markdown
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from thresher.cli.client import ask, without_none
from thresher.cli.command_table import new_group
from thresher.cli.commands import add_command, writes
from thresher.cli.output import AsJson, note, shortened, show
from thresher.cli.views import Row, figure_table, milliseconds, percent, plain_table, tool_reasons
from thresher.verbs import INTENTS


def plain_text(answer: Row) -> RenderableType:
    """The text that a model would read."""
    return Text(answer["text"])


_SHOWN = 20
"""Rows of a table; `--json` has all."""

_LINE = 70

_REASONS = {
    "keyword": "named",
    "history": "from the previous turn",
    "file": "by its files",
    "always": "applies to every message",
    "negated": "excluded by the message",
}


def intent_list(answer: Row) -> RenderableType:
    """The intents in use, the packs that are not used, and problems."""
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
    text = f"{problem['path']}: {problem['message']} {problem['hint']}".rstrip()
    return Text(text, "red" if problem["severity"] == "error" else "yellow")


def _intent_table(intents: Sequence[Row]) -> Table:
    table = plain_table("intent", "from", "lines", "threshold", "what it is for")
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
    """A decision with its reasons: the intents, best first, then its basis."""
    scores: Sequence[Row] = answer["scores"]
    matched = [score["intent"] for score in scores if score["matched"]]
    head = f"Rules of: {', '.join(matched)}." if matched else "PASS_THROUGH: no rules fit."
    confidence = f" Confidence {answer['confidence']:.2f}, margin to the next {answer['margin']:.2f}."
    parts: list[RenderableType] = [Text(head, "bold").append(confidence, style="dim")]
    if scores:
        parts.append(_score_table(scores, answer["clauses"]))
    if (more := len(scores) - max(_SHOWN, len(matched))) > 0:
        parts.append(Text(f"and {more} more (--json has all)", "dim"))
    if answer["clarify"]:
        parts.append(Text(f"ask the user: {answer['clarify']}", "yellow"))
    if answer["degraded"]:
        parts.append(Text(f"degraded: {answer['degraded']}", "yellow"))
    if len(answer["clauses"]) > 1:
        judged = " | ".join(f"{place} {_short(text)}" for place, text in enumerate(answer["clauses"]))
        parts.append(Text(f"judged as: {judged}", "dim"))
    spent = f"by {answer['basis']}, {answer['duration_ms']:.1f} ms, of that {answer['embedding_ms']:.1f} embedding"
    return Group(*parts, Text(spent + (", from the cache" if answer["cached"] else ""), "dim"))


def _score_table(scores: Sequence[Row], clauses: Sequence[str]) -> Table:
    table = plain_table("", "intent", "score", "threshold", "margin", "similarity", "why")
    shown = [score for score in scores if score["matched"]]
    shown += [score for score in scores if not score["matched"]][: max(0, _SHOWN - len(shown))]
    for score in shown:
        style = "bold" if score["matched"] else "dim"
        figures = (f"{score['score']:.2f}", f"{score['threshold']:.2f}", f"{score['margin']:+.2f}")
        row = (Text("yes" if score["matched"] else "", "green"), Text(score["intent"], style), *figures)
        table.add_row(
            *row,
            f"{score['similarity']:.2f}",
            Text(intent_reasons(score, len(clauses)), "" if style == "bold" else style),
        )
    return table


def intent_reasons(score: Row, clauses: int) -> str:
    """What speaks for an intent, in a line."""
    reasons = [_REASONS[score["why"]]] if score["why"] in _REASONS else []
    if score["keywords"]:
        reasons.append(f"names {', '.join(score['keywords'][:5])}")
    if score["best_line"]:
        reasons.append(f"like “{_short(score['best_line'])}”")
    if clauses > 1 and score["clause"] and score["matched"]:
        reasons.append(f"in part {score['clause']}")
    return ", ".join(reasons)


def threshold_set(answer: Row) -> RenderableType:
    """The threshold that applies now."""
    how = "set by hand" if answer["by_hand"] is not None else "as fitted"
    value = "-" if answer["threshold"] is None else f"{answer['threshold']:.2f}"
    return Text(f"{answer['name']}: threshold {value}, {how}.")


def statistics(answer: Row) -> RenderableType:
    """The figures of a period: decisions, intents, and where the router may be wrong."""
    return figure_table([*_decisions(answer), *_intents(answer), *_doubts(answer)])


def _decisions(answer: Row) -> list[tuple[str, str]]:
    times = " / ".join(milliseconds(answer[f"latency_{part}_ms"]) for part in ("p50", "p95", "p99"))
    bases = ", ".join(f"{name} {count:,}" for name, count in answer["bases"].items() if count)
    lost = f"{answer['lost_rows']:,}: the database did not take them" if answer["lost_rows"] else "none"
    return [
        ("since", str(answer["since"])[:16].replace("T", " ")),
        ("decisions", f"{answer['decisions']:,}, {percent(answer['cached_share'])} from the cache"),
        ("time p50 / p95 / p99", times),
        ("embedding p50", milliseconds(answer["embedding_p50_ms"])),
        ("decided by", bases or "-"),
        ("degraded", percent(answer["degraded_share"])),
        ("log rows lost", lost),
    ]


def _intents(answer: Row) -> list[tuple[str, str]]:
    common = [f"{row['intent']} {row['count']:,} (score {row['mean_score']:.2f})" for row in answer["intents"]]
    return [
        ("passed through", percent(answer["pass_through_rate"])),
        ("several intents", percent(answer["several_share"])),
        ("most frequent", _listed(common)),
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
        ("low confidence", percent(answer["unsure_share"])),
        ("a question suggested", percent(answer["clarified_share"])),
        ("least sure of", "\n".join(unsure) or "-"),
        ("wrong tool next", percent(answer["wrong_tool_rate"])),
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


def _short(text: str, limit: int = _LINE) -> str:
    return shortened(text, limit)


Message = Annotated[str, typer.Argument(help="The user's message.")]

History = Annotated[list[str] | None, typer.Option(help="An earlier turn, oldest first; repeatable.")]

Queries = Annotated[list[str] | None, typer.Option("--query", "-q", help="A short action phrase; repeatable.")]

Files = Annotated[list[str] | None, typer.Option("--file", "-f", help="A file that the message is about; repeatable.")]


def prompt(
    message: Message, history: History = None, query: Queries = None, file: Files = None, as_json: AsJson = False
) -> None:
    """Print the rules for a message, with the tools of their packs, or PASS_THROUGH if none fit."""
    arguments = {"prompt": message, "history": history, "queries": query, "files": file}
    answer = ask("process_prompt", without_none(arguments))
    show(answer, as_json, plain_text)
    if answer["pass_through"] and not as_json:
        for one in answer.get("notes", ()):
            note(f"({one})")


def context(
    message: Message,
    budget: Annotated[int | None, typer.Option("--budget", "-b", help="The most tokens of the answer.")] = None,
    history: History = None,
    query: Queries = None,
    file: Files = None,
    cursor: Annotated[str | None, typer.Option(help="The cursor of the last answer, to get what it left out.")] = None,
    why: Annotated[bool, typer.Option("--why", help="Print what each kind got, and why, instead.")] = False,
    as_json: AsJson = False,
) -> None:
    """Print what a message needs of everything that is indexed, within a token budget."""
    arguments = {"message": message, "budget": budget, "history": history, "queries": query, "files": file}
    answer = ask("get_context", without_none({**arguments, "cursor": cursor}))
    show(answer, as_json, shares_table if why else plain_text)


def shares_table(answer: Row) -> RenderableType:
    """The share of each kind in a context."""
    table = plain_table("kind", "probability", "offered", "taken", "tokens", "why")
    for share in answer["why"]:
        counts = (f"{share[name]:,}" for name in ("offered", "taken", "tokens"))
        table.add_row(share["kind"], f"{share['probability']:.2f}", *counts, share["why"])
    return table if answer["why"] else Text("Nothing was offered for this message.")


FAILED = 1
"""Exit code if no tool could answer."""


def ask_assistant(
    query: Annotated[str, typer.Argument(help="The question, in any words.")],
    session: Annotated[str | None, typer.Option("--session", "-s", help="Continue this conversation.")] = None,
    context: Annotated[str | None, typer.Option(help="What the conversation is about.")] = None,
    as_json: AsJson = False,
) -> None:
    """Answer a question from APIs, documents, databases and tools, without a model."""
    given = {"query": query, "session_id": session, "context": context}
    answer = ask("ask", {name: value for name, value in given.items() if value is not None})
    show(answer, as_json, _formatted)
    if not as_json:
        note(f"(continue with: --session {answer['session_id']})")
    if answer["response"]["type"] == "error":
        raise typer.Exit(FAILED)


def _formatted(answer: Mapping[str, Any]) -> RenderableType:
    """The answer, rendered on a terminal; in a pipe its Markdown."""
    text = str(answer["response"]["text"])
    if not sys.stdout.isatty():
        return plain_text({"text": text})

    return Markdown(text, hyperlinks=False)


intents = new_group()


@intents.command("list")
def list_intents(as_json: AsJson = False) -> None:
    """List the intents in use, and the packs that are not used."""
    show(ask("list_intents"), as_json, intent_list)


@intents.command("threshold")
@writes
def threshold(
    name: Annotated[str, typer.Argument(help="An intent, as `intents list` names it.")],
    value: Annotated[float | None, typer.Argument(help="The lowest score that matches, 0 to 1.")] = None,
    reset: Annotated[bool, typer.Option("--reset", help="Restore the fitted threshold.")] = False,
    as_json: AsJson = False,
) -> None:
    """Set the threshold of an intent by hand."""
    if reset == (value is not None):
        raise typer.BadParameter("Give a VALUE from 0 to 1, or --reset.")
    show(ask("set_threshold", {"name": name, "value": value}), as_json, threshold_set)


@intents.command("stats")
def stats(
    days: Annotated[float, typer.Option(help="The number of days to look back.")] = 30.0,
    tenant: Annotated[str | None, typer.Option("--tenant", help="The tenant; `local` by default.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show the most frequent intents, how many messages pass through, uncertain decisions, and wrong tools."""
    arguments = {"days": days} | ({"tenant": tenant} if tenant is not None else {})
    show(ask("intent_stats", arguments), as_json, statistics)


add_command(
    intents,
    "explain",
    INTENTS["explain_intents"],
    explained,
    arguments={"message": "MESSAGE"},
    flags={"queries": "--query -q", "files": "--file -f"},
)


_OTHERS = 8
"""Tools or pieces of a kind that are not given and shown; `--json` has all."""
_ANSWERS = ("process_prompt", "find_tools", "get_context")


def explain(
    message: Message,
    budget: Annotated[int | None, typer.Option("--budget", "-b", help="The most tokens of the context.")] = None,
    find_budget: Annotated[int | None, typer.Option(help="The most tokens of the answer of find_tools.")] = None,
    server: Annotated[
        list[str] | None, typer.Option("--server", "-s", help="Only tools of this server; repeatable.")
    ] = None,
    threshold: Annotated[float | None, typer.Option(help="The least probability that a tool fits, 0 to 1.")] = None,
    intent_threshold: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="The least score of an intent, `*` for all others; repeatable."),
    ] = None,
    kind: Annotated[
        list[str] | None,
        typer.Option(help="Only rules, tools, passages, endpoints or schemas in the context; repeatable."),
    ] = None,
    expect: Annotated[
        list[str] | None, typer.Option("--expect", "-e", help="A tool that should have come; repeatable.")
    ] = None,
    limit: Annotated[int | None, typer.Option("--limit", "-n", help="The most tools and intents.")] = None,
    history: History = None,
    query: Queries = None,
    file: Files = None,
    text: Annotated[
        Literal["process_prompt", "find_tools", "get_context"] | None,
        typer.Option(help="Print the text that a model gets from this instead."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show what a model is given for a message, what it is not, and why."""
    arguments = {
        "message": message,
        "budget": budget,
        "find_budget": find_budget,
        "servers": server,
        "threshold": threshold,
        "thresholds": _thresholds(intent_threshold) if intent_threshold else None,
        "kinds": kind,
        "expected": expect,
        "limit": limit,
        "history": history,
        "queries": query,
        "files": file,
    }
    answer = ask("explain_context", without_none(arguments))
    show(answer, as_json, partial(_text_of, name=text) if text else explanation)


def _thresholds(given: Sequence[str]) -> dict[str, float]:
    found: dict[str, float] = {}
    for one in given:
        name, equals, value = one.rpartition("=")
        try:
            found[name] = float(value)
        except ValueError:
            equals = ""
        if not (equals and name):
            raise typer.BadParameter(f"{one!r} is not NAME=VALUE, such as git=0.4.")
    return found


def _text_of(answer: Row, name: str) -> RenderableType:
    return Text(answer[name]["text"])


def explanation(answer: Row) -> RenderableType:
    """Tasks, rules, tools, the context with its pieces, times, and what is missing."""
    tree = Tree(Text(shortened(answer["message"]), "bold"))
    _add_tasks(tree, answer)
    _add_rules(tree, answer)
    _add_tools(tree, answer["tools"], answer["find_tools"])
    _add_context(tree, answer)
    times = tree.add(Text("times", "bold"))
    for name in _ANSWERS:
        spent = ", ".join(f"{stage} {milliseconds(value)}" for stage, value in answer[name]["timings"].items())
        times.add(Text(f"{name}: {spent}"))
    notes = dict.fromkeys(one for name in _ANSWERS for one in answer[name]["notes"])
    if notes:
        branch = tree.add(Text("missing or degraded", "bold yellow"))
        for one in notes:
            branch.add(Text(one, "yellow"))
    return tree


def _add_tasks(tree: Tree, answer: Row) -> None:
    tasks: Sequence[str] = answer["tasks"]
    if len(tasks) > 1 or len(answer["tools"]["clauses"]) > 1:
        branch = tree.add(Text("split", "bold"))
        branch.add(Text(f"for the context: {' | '.join(map(shortened, tasks))}"))
        branch.add(Text(f"for find_tools: {' | '.join(map(shortened, answer['tools']['clauses']))}"))


def _add_rules(tree: Tree, answer: Row) -> None:
    decision: Row = answer["decision"]
    head = Text("rules", "bold").append(f" by {decision['basis']}, confidence {decision['confidence']:.2f}", "dim")
    branch = tree.add(head)
    for score in decision["scores"]:
        state = "given" if score["matched"] else "below its threshold" if score["margin"] < 0 else "not matched"
        reasons = intent_reasons(score, len(decision["clauses"]))
        branch.add(_item(score["intent"], f"{score['score']:.2f} of {score['threshold']:.2f}", state, reasons))
    for name, reason in answer["withheld"].items():
        branch.add(_item(name, "matched", f"not given: {reason}", ""))
    if decision["clarify"]:
        branch.add(Text(f"ask the user: {decision['clarify']}", "yellow"))


def _add_tools(tree: Tree, tools: Row, answer: Row) -> None:
    figures = f" p={tools['probability']:.2f} of at least {tools['threshold']:.2f}, {tools['searched']:,} searched"
    branch = tree.add(Text("tools", "bold").append(f"{figures}; {_spent(answer)}", "dim"))
    for tool in _cut(branch, tools["ranked"]):
        place = f"{tool['rank']}. " if tool["rank"] is not None else ""
        figures = f"needed {tool['need']:.2f}, fits {tool['score']:.2f}" if tool["server"] else "-"
        state = f"{tool['reason']}, {tool['tokens']} tokens" if tool["fate"] == "given" else tool["reason"]
        why = tool_reasons(tool["why"]) if tool["why"]["source"] != "none" else ""
        mark = "expected: " if tool["expected"] else ""
        branch.add(_item(f"{place}{tool['name']}", figures, f"{mark}{state}", why, given=tool["fate"] == "given"))


def _add_context(tree: Tree, answer: Row) -> None:
    context: Row = answer["get_context"]
    branch = tree.add(Text("context", "bold").append(f" {_spent(context)}", "dim"))
    for kind in answer["kinds"]:
        share: Row = kind["share"]
        figures = f" p={share['probability']:.2f} of at least {kind['least']:.2f}, {share['tokens']:,} tokens: "
        lane = branch.add(Text(share["kind"], "bold").append(f"{figures}{share['why']}", "dim"))
        for piece in _cut(lane, [one for one in answer["pieces"] if one["kind"] == share["kind"]]):
            figures = f"{piece['probability']:.2f}, {piece['tokens']:,} tokens"
            lane.add(_item(piece["name"], figures, piece["reason"], piece["why"], given=piece["fate"] == "given"))
        for find in kind["finds"][:_OTHERS]:
            lane.add(_item(find["name"], f"{find['probability']:.2f}", "found", find["why"], given=False))


def _cut(branch: Tree, entries: Sequence[Row]) -> Iterator[Row]:
    """What is given or expected, and the best others; then how many more there are."""
    others = 0
    for one in entries:
        refused = one["fate"] != "given" and not one.get("expected")
        others += refused
        if not refused or others <= _OTHERS:
            yield one
    if others > _OTHERS:
        branch.add(Text(f"and {others - _OTHERS} more that are not given (--json has all)", "dim"))


def _item(name: str, figures: str, state: str, why: str, *, given: bool | None = None) -> Text:
    """A line; what is given stands out."""
    given = state == "given" if given is None else given
    line = Text(shortened(name), "bold green" if given else "")
    line.append(f"  {figures}  ", "dim").append(state, "" if given else "yellow")
    return line.append(f"  ({shortened(why)})", "dim") if why else line


def _spent(answer: Row) -> str:
    parts = ", ".join(f"{name} {tokens:,}" for name, tokens in answer["parts"].items() if tokens)
    return f"{answer['tokens']:,} of {answer['budget']:,} tokens ({parts}), {answer['left']:,} left"
