"""`thresher tools`: find, list, show and switch tools; approve changed and suspicious ones; figures of searches.

Invariant: a definition is approved only after it was shown, or by its digest; --server and --all never approve a tool
that the scanner calls dangerous. Text from servers is never markup, and hidden characters in it are escaped.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from thresher.cli.client import ask, for_each, without_none
from thresher.cli.command_table import CommandEntry, new_group
from thresher.cli.commands import writes
from thresher.cli.knowledge.servers import UPSTREAM_FAILED, lapsed_rewrites, refreshed
from thresher.cli.output import AsJson, confirm, shortened, show
from thresher.cli.views import Row, changed, figure_table, milliseconds, percent, plain_table, tool_reasons
from thresher.daemon import DaemonFailure


def found(answer: Row) -> RenderableType:
    """The tools that were found, best first, with probability and reasons; then the tokens and the time."""
    lines: list[RenderableType] = []
    if answer["abstained"]:
        lines.append(Text(f"No tool fits (probability {answer['probability']:.2f}).", style="bold"))
    if answer["tools"]:
        lines.append(_found_table(answer["tools"]))
    if answer["fallback"]:
        lines.append(Text("fallback: the search could not run; these are the first enabled tools.", style="yellow"))
    if answer["degraded"]:
        lines.append(Text(f"degraded: {answer['degraded']}", style="yellow"))
    if answer.get("held_back"):
        waiting = ", ".join(answer["held_back"])
        lines.append(Text(f"held back until approved (thresher tools held): {waiting}", style="yellow"))
    if failed := answer.get("failed_servers"):
        lines.append(Text(f"failed: {', '.join(failed)} - their tools are not known.", style="red"))
        lines.append(Text("  See why: thresher servers list. Try again: thresher servers refresh NAME.", style="red"))
    if len(answer["clauses"]) > 1:
        lines.append(Text("searched as: " + " | ".join(answer["clauses"]), style="dim"))
    saved = f"{answer['tokens_sent']} tokens in place of {answer['tokens_all']}"
    spent = f"{len(answer['tools'])} of {answer['total_searched']} tools, {saved}, {answer['duration_ms']:.1f} ms"
    return Group(*lines, Text(spent, style="dim"))


def _found_table(tools: Sequence[Row]) -> Table:
    table = plain_table("", "tool", "fits", "why", unwrapped=("fits",))
    for place, tool in enumerate(tools, 1):
        name = Text(tool["name"], style="bold" if tool["form"] == "full" else "")
        words = tool["line"] if tool["form"] == "full" else tool["gist"]
        name.append(f"\n{shortened(words)}" if words else "", style="dim")
        table.add_row(str(place), name, f"{tool['score']:.2f}", Text(tool_reasons(tool["why"])))
    return table


def tool_list(answer: Sequence[Row]) -> RenderableType:
    """Every tool: name, server, marks, and the tokens of its definition."""
    if not answer:
        return Text("No tools yet. Add a server: thresher servers add --help")
    table = plain_table("tool", "server", "marks", "tokens", unwrapped=("tokens",))
    for tool in answer:
        marks = [word for word, on in (("core", tool["core"]), ("disabled", not tool["enabled"])) if on]
        marks += [_warnings(tool["warnings"])] if tool.get("warnings") else []
        server = Text(str(tool["tool"]["server"]))
        table.add_row(Text(tool["name"], style="bold"), server, ", ".join(marks), str(tool["tokens"]))
    return table


def definitions(answer: Row) -> RenderableType:
    """Tools in full, then unknown names with similar ones."""
    parts: list[RenderableType] = []
    for entry in answer["tools"]:
        tool = entry["tool"]
        parts += [Text(entry["name"], style="bold"), Text(str(tool["description"]).strip())]
        parts.append(Text(json.dumps(tool["input_schema"], indent=2, ensure_ascii=False), style="dim"))
        if tool["annotations"]:
            parts.append(Text(f"annotations: {json.dumps(tool['annotations'], ensure_ascii=False)}", style="dim"))
        for finding in entry.get("findings", ()):
            text = f"{finding['severity']} at {finding['where']}: {finding['why']} ({finding['excerpt']})"
            parts.append(Text(text, style="yellow"))
    for name, near in answer["unknown"].items():
        meant = f"; perhaps {', '.join(near)}" if near else ""
        parts.append(Text(f"There is no tool {name!r}{meant}.", style="yellow"))
    return Group(*parts)


def _warnings(count: int) -> str:
    return "1 warning" if count == 1 else f"{count} warnings"


_REASONS = {
    "changed": "its definition is not the approved one",
    "poisoned": "it looks poisoned",
    "rejected": "it was rejected",
}

_DECIDE = "Decide: thresher tools approve NAME@DIGEST, or reject NAME@DIGEST."

_DECIDED = "No decision is needed. To use a rejected definition after all: thresher tools approve NAME@DIGEST."


def held_list(answer: Sequence[Row]) -> RenderableType:
    """The tools that wait for approval: reason, findings, and the changed lines."""
    if not answer:
        return Text("No tool waits for approval.")
    parts: list[RenderableType] = []
    for tool in answer:
        head = Text(f"{tool['name']}@{tool['digest']}", style="bold")
        head.append(f"  {_REASONS.get(tool['reason'], tool['reason'])}, since {tool['since'][:16]}", style="yellow")
        parts.append(head)
        for finding in tool["findings"]:
            style = "red" if finding["severity"] == "danger" else "yellow"
            parts.append(Text(f"  {finding['severity']}: {finding['why']} ({finding['where']})", style=style))
            parts.append(Text(f"    {finding['excerpt']}", style="dim"))
        parts += [_compared(line) for line in tool["difference"]]
        parts.append(Text(""))
    undecided = any(tool["reason"] != "rejected" for tool in answer)
    parts.append(Text(_DECIDE if undecided else _DECIDED, style="dim"))
    return Group(*parts)


def _compared(line: str) -> Text:
    style = {"+": "green", "-": "red", "@": "dim"}.get(line[:1], "")
    return Text(f"  {line}", style=style)


def decided(answer: Row) -> RenderableType:
    """The tools that were decided about, those that were left out, and those whose rewrite is dropped."""
    word = {"approve": "Approved", "reject": "Rejected"}[answer["decision"]]
    lines = [Text(f"{word}: {', '.join(answer['tools'])}." if answer["tools"] else "Nothing was waiting.")]
    if answer["left"]:
        names = ", ".join(answer["left"])
        lines.append(Text(f"Left out because they look poisoned: {names}. Name them to approve them.", style="yellow"))
    if answer["lapsed"]:
        lines.append(lapsed_rewrites(answer["lapsed"]))
    return Group(*lines)


def consent_list(answer: Sequence[Row]) -> RenderableType:
    """The tools that the user has agreed to, and whether the consent still holds."""
    if not answer:
        return Text("No consents. A chat asks before it calls a tool of a server that is not trusted.")
    table = plain_table("tool", "definition", "since", "")
    for one in answer:
        lapsed = "" if one["holds"] else "lapsed: its definition has changed"
        table.add_row(Text(one["tool"]), one["definition"], one["since"][:16].replace("T", " "), Text(lapsed, "yellow"))
    return table


def forgotten(answer: Row) -> RenderableType:
    """The tools whose consent was removed."""
    return Text(f"You will be asked again before a call of {', '.join(answer['forgotten'])}.")


_SHOWN = 20
"""Names in a row of the table; `--json` has all."""

_FALLBACK_AIM = 0.001


def figures(answer: Mapping[str, Any]) -> RenderableType:
    """The figures of a period: searches, calls, tools."""
    return figure_table([*_discoveries(answer), *_calls(answer), *_tools(answer)])


def _discoveries(answer: Mapping[str, Any]) -> list[tuple[str, str]]:
    shadow = f", {answer['shadow']:,} in shadow" if answer["shadow"] else ""
    times = " / ".join(milliseconds(answer[f"latency_{part}_ms"]) for part in ("p50", "p95", "p99"))
    rate = answer["fallback_rate"]
    late = "" if rate is None or rate < _FALLBACK_AIM else " - above the target of 0.1 %: see `degraded` in the log"
    sources = ", ".join(f"{name} {count:,}" for name, count in answer["sources"].items() if count)
    lost = f"{answer['lost_rows']:,}: the database did not take them" if answer["lost_rows"] else "none"
    return [
        ("since", str(answer["since"])[:16].replace("T", " ")),
        ("discoveries", f"{answer['discoveries']:,}{shadow}"),
        ("time p50 / p95 / p99", times),
        ("embedding p50", f"{milliseconds(answer['embedding_p50_ms'])} in {percent(answer['embedded_share'])}"),
        ("answered by", sources or "-"),
        ("fallback", f"{percent(rate, 2)}{late}"),
        ("nothing fitted", percent(answer["abstained_share"])),
        ("degraded", percent(answer["degraded_share"])),
        ("log rows lost", lost),
    ]


def _calls(answer: Mapping[str, Any]) -> list[tuple[str, str]]:
    asked = f"{percent(answer['chosen_share'])} of the {answer['asked_calls']:,} whose client had searched"
    rank = answer["mean_rank"]
    return [
        ("calls", f"{answer['calls']:,}, {percent(answer['error_rate'])} failed"),
        ("called tool was chosen", asked),
        ("the same in shadow", percent(answer["shadow_chosen_share"])),
        ("mean rank when chosen", "-" if rank is None else f"{rank:.1f}"),
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


tools = new_group(
    {
        "health": CommandEntry(
            "knowledge.findability:health",
            "Print the tools that nobody would find by what their own definitions say, and why.",
        ),
        "improve": CommandEntry(
            "knowledge.findability:improve",
            "Print how well a server's tools are found, and better descriptions with their measured effect.",
        ),
        "words": CommandEntry("knowledge.search_texts:words", "Give tools words of your own, for the search alone."),
        "rewrites": CommandEntry(
            "knowledge.search_texts:rewrites", "Search for tools by better descriptions than their servers'."
        ),
        "questions": CommandEntry(
            "knowledge.search_texts:questions", "List and remove questions that a chat model wrote for tools."
        ),
        "categories": CommandEntry(
            "knowledge.search_texts:categories", "Divide tools into categories: a map, and a filter of searches."
        ),
        "learned": CommandEntry(
            "knowledge.learning:learned", "Show what was learned from the use of tools, and whether it counts."
        ),
        "replay": CommandEntry(
            "knowledge.learning:replay", "Compute from the log what learning from use would have changed."
        ),
        "learning": CommandEntry(
            "knowledge.learning:learning", "Decide whether tools that were used after like messages rank higher."
        ),
        "unlearn": CommandEntry(
            "knowledge.learning:unlearn", "Erase what was learned from the use of some tools, or of all."
        ),
    }
)

Names = Annotated[list[str], typer.Argument(help="Tools, as `tools list` names them.")]


@tools.command("find")
def find(
    message: Annotated[str | None, typer.Argument(help="The user's message.")] = None,
    query: Annotated[list[str] | None, typer.Option("--query", "-q", help="A short action phrase; repeatable.")] = None,
    history: Annotated[list[str] | None, typer.Option(help="An earlier turn, oldest first; repeatable.")] = None,
    server: Annotated[list[str] | None, typer.Option("--server", "-s", help="Only this server; repeatable.")] = None,
    category: Annotated[
        list[str] | None, typer.Option("--category", "-c", help="Only this category; repeatable.")
    ] = None,
    budget: Annotated[int | None, typer.Option(help="The most tokens of the answer, 50 to 4,000.")] = None,
    limit: Annotated[int | None, typer.Option(help="The most tools to return, 1 to 50.")] = None,
    threshold: Annotated[float | None, typer.Option(help="The lowest probability, 0 to 1.")] = None,
    no_core: Annotated[bool, typer.Option("--no-core", help="Leave core tools out.")] = False,
    as_json: AsJson = False,
) -> None:
    """Find the tools that a message needs."""
    arguments: dict[str, Any] = {"include_core_tools": not no_core}
    given = {"message": message, "queries": query, "history": history, "servers": server}
    given |= {"categories": category, "budget": budget, "limit": limit, "threshold": threshold}
    show(
        ask("find_tools", arguments | {name: value for name, value in given.items() if value is not None}),
        as_json,
        found,
    )


@tools.command("list")
def list_tools(
    server: Annotated[str | None, typer.Option("--server", "-s", help="Only this server.")] = None,
    as_json: AsJson = False,
) -> None:
    """List all tools; with --json their descriptions and schemas too."""
    show(ask("list_tools", {"server": server, "whole": as_json}), as_json, tool_list)


@tools.command("show")
def show_tools(names: Names, as_json: AsJson = False) -> None:
    """Show tools in full: description, parameters, annotations."""
    show(ask("describe_tools", {"names": names}), as_json, definitions)


@tools.command("enable")
@writes
def enable(names: Names, as_json: AsJson = False) -> None:
    """Let tools be found and called."""
    _set(names, {"enabled": True}, as_json)


@tools.command("disable")
@writes
def disable(names: Names, as_json: AsJson = False) -> None:
    """Exclude tools from searches, and refuse calls to them."""
    _set(names, {"enabled": False}, as_json)


@tools.command("core")
@writes
def core(
    names: Names,
    off: Annotated[bool, typer.Option("--off", help="Remove the mark.")] = False,
    as_json: AsJson = False,
) -> None:
    """Mark tools as core: every search includes them."""
    _set(names, {"core": not off}, as_json)


@tools.command("refresh")
@writes
def refresh(
    name: Annotated[str, typer.Argument(help="A tool, as `tools list` names it.")], as_json: AsJson = False
) -> None:
    """List a tool's server again, and index this tool if it changed."""
    answer = ask("refresh", {"tool": name})
    show(answer, as_json, refreshed)
    if answer["failures"]:
        raise typer.Exit(UPSTREAM_FAILED)


def _set(names: list[str], change: dict[str, Any], as_json: bool) -> None:
    for_each(names, lambda name: ask("set_tool", {"name": name} | change))
    show({"changed": names} | change, as_json, changed)


Held = dict[str, Any]

HeldNames = Annotated[list[str] | None, typer.Argument(help="Tools, as `tools held` names them: NAME, or NAME@DIGEST.")]

Server = Annotated[str | None, typer.Option("--server", "-s", help="All waiting tools of this server.")]

Everything = Annotated[bool, typer.Option("--all", help="All waiting tools.")]

Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]


@tools.command("result")
def result(
    cursor: Annotated[str, typer.Argument(help="The cursor that a part of a result names.")],
    focus: Annotated[str, typer.Option("--focus", "-f", help="What you want to know.")] = "",
    pointer: Annotated[str, typer.Option(help="A place in JSON: /items/3/name, or $.items[*].name.")] = "",
    lines: Annotated[str, typer.Option(help="A range of lines: 120-180.")] = "",
    pattern: Annotated[str, typer.Option(help="A regular expression; the lines that match are shown.")] = "",
    budget: Annotated[int | None, typer.Option("--budget", "-b", min=0, help="The most tokens; 0: all.")] = None,
    as_json: AsJson = False,
) -> None:
    """Read more of a tool's result that was larger than its budget."""
    given = {"cursor": cursor, "focus": focus, "pointer": pointer, "lines": lines, "pattern": pattern}
    show(ask("read_result", without_none({**given, "budget": budget})), as_json, lambda answer: Text(answer["text"]))


@tools.command("held")
def held(server: Server = None, as_json: AsJson = False) -> None:
    """Show the tools that wait for approval: what changed, and what looks suspicious."""
    show(ask("held_tools", {"server": server}), as_json, held_list)


@tools.command("approve")
@writes
def approve(
    names: HeldNames = None,
    server: Server = None,
    everything: Everything = False,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Approve the definitions that were shown, so that the tools can be used.

    --server and --all leave out tools that look poisoned or were rejected: name such a tool to approve it.
    """
    chosen = _chosen(names, server, everything, lambda tool: tool["reason"] == "changed")
    _decide("approve", names, chosen, yes=yes, as_json=as_json)


@tools.command("reject")
@writes
def reject(
    names: HeldNames = None,
    server: Server = None,
    everything: Everything = False,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Reject the definitions that were shown: the tools stay out of use."""
    chosen = _chosen(names, server, everything, lambda tool: tool["reason"] != "rejected")
    _decide("reject", names, chosen, yes=yes, as_json=as_json)


@tools.command("consents")
def consents(as_json: AsJson = False) -> None:
    """List the tools whose calls need no approval, because you said so in a chat."""
    show(ask("list_consents"), as_json, consent_list)


@tools.command("forget")
@writes
def forget(
    names: Annotated[list[str], typer.Argument(help="Tools, as `tools consents` names them.")], as_json: AsJson = False
) -> None:
    """Remove consents: calls of these tools need your approval again."""
    for_each(names, lambda name: ask("forget_consent", {"tool": name}))
    show({"forgotten": names}, as_json, forgotten)


def _chosen(
    names: Sequence[str] | None, server: str | None, everything: bool, blanket: Callable[[Held], bool]
) -> list[Held]:
    """The waiting tools that are named, each with the digest to decide about."""
    if bool(names) + (server is not None) + everything != 1:
        raise typer.BadParameter("Give names, or --server NAME, or --all.")
    waiting: list[Held] = ask("held_tools", {"server": server})
    if not names:
        return [tool for tool in waiting if blanket(tool)]
    by_name = {tool["name"]: tool for tool in waiting}
    chosen: list[Held] = []
    for text in names:
        name, _, digest = text.partition("@")
        if name not in by_name:
            hint = "`thresher tools held` shows the waiting tools."
            raise DaemonFailure(f"No tool '{name}' waits for approval.", hint=hint, code="not_found", exit_code=3)
        chosen.append(by_name[name] | ({"digest": digest, "named": True} if digest else {}))
    return chosen


def _decide(verb: str, names: Sequence[str] | None, chosen: list[Held], *, yes: bool, as_json: bool) -> None:
    unseen = [tool for tool in chosen if not tool.get("named")]
    if unseen and not yes:
        _confirm(verb, unseen, as_json=as_json)
    definitions = {tool["name"]: tool["digest"] for tool in chosen}
    done: list[str] = ask(f"{verb}_tools", {"definitions": definitions}) if definitions else []
    left = [] if names else [tool["name"] for tool in ask("held_tools", {}) if tool["reason"] == "poisoned"]
    rewrites: list[Row] = ask("list_tool_rewrites", {})["tools"] if verb == "approve" else []
    lapsed: list[str] = [one["name"] for one in rewrites if one["name"] in done and not one["holds"]]
    left = left if verb == "approve" else []
    show({"decision": verb, "tools": done, "left": left, "lapsed": lapsed}, as_json, decided)


def _confirm(verb: str, tools: list[Held], *, as_json: bool) -> None:
    if as_json or not sys.stdin.isatty():
        raise typer.BadParameter(
            f"No user can be asked to {verb} here: give --yes, or NAME@DIGEST as `tools held` shows."
        )
    show(tools, as_json, held_list)
    confirm(f"{verb.capitalize()} {len(tools)} as shown?")


Tenant = Annotated[str | None, typer.Option("--tenant", help="The tenant; `local` by default.")]


@tools.command("stats")
def stats(
    days: Annotated[float, typer.Option(help="The number of days to look back.")] = 30.0,
    tenant: Tenant = None,
    as_json: AsJson = False,
) -> None:
    """Show how fast and how well tools were found, and which are never chosen."""
    show(ask("stats", without_none({"days": days, "tenant": tenant})), as_json, figures)
