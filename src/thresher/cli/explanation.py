"""`thresher explain`: the whole decision about a message, as a tree.

Invariant: names and texts of others are never markup.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Annotated, Literal

import typer
from rich.console import RenderableType
from rich.text import Text
from rich.tree import Tree

from thresher.cli.client import ask, without_none
from thresher.cli.context import Files, History, Message, Queries, intent_reasons
from thresher.cli.output import AsJson, shortened, show
from thresher.cli.views import Row, milliseconds, tool_reasons

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
