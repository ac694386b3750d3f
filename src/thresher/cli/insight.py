"""`thresher insight` and `thresher cases`: what the logs tell and what waits; messages with what should come for them.

Invariant: messages, names and errors of others are never markup.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.console import Group, RenderableType
from rich.text import Text

from thresher.cli.arguments import given_path
from thresher.cli.client import ask
from thresher.cli.command_table import new_group
from thresher.cli.commands import add_command, writes
from thresher.cli.output import AsJson, export, shortened, show
from thresher.cli.views import Row, figure_table, milliseconds, moment, plain_table, removed
from thresher.foreign import visible_json
from thresher.verbs import CASES, INSIGHT

_TEXT: Final = 100
"""Characters of a message in a table; `--json` has all."""
_SHOWN: Final = 15
"""Rows of a table of tools or intents; `--json` has all."""


def usage(answer: Row) -> RenderableType:
    """The figures of the period, those of each day, and the calls by server and tool."""
    total = answer["total"]
    figures = figure_table(
        [
            ("since", moment(answer["since"])),
            (
                "messages",
                f"{total['messages']:,}, nothing delivered for {total['passed']:,}; {_times(total, 'message')}",
            ),
            ("searches", f"{total['searches']:,}, no tool found by {total['empty']:,}; {_times(total, 'search')}"),
            ("calls", f"{total['calls']:,}, failed {total['failed']:,}; {_times(total, 'call')}"),
            ("tokens of tools", f"{total['tokens_sent']:,} in place of {total['tokens_all']:,}"),
            ("tokens saved", f"{total['tokens_saved']:,}"),
            ("tokens of contexts", f"{total['context_tokens']:,}"),
        ]
    )
    days = plain_table("day", "messages", "searches", "calls", "failed", "tokens saved")
    for one in answer["days"]:
        names = ("messages", "searches", "calls", "failed", "tokens_saved")
        days.add_row(one["day"], *(f"{one['usage'][name]:,}" for name in names))
    servers = plain_table("server", "calls", "failed", "median", "95 %")
    for one in answer["servers"][:_SHOWN]:
        servers.add_row(Text(one["server"] or "(none)", style="bold"), *_call_figures(one))
    tools = plain_table("tool", "calls", "failed", "median", "95 %", "last")
    for one in answer["tools"][:_SHOWN]:
        tools.add_row(Text(one["tool"] or "(unknown name)", style="bold"), *_call_figures(one), moment(one["last"]))
    return Group(figures, days, *([servers, tools] if answer["tools"] else []))


def _times(total: Row, name: str) -> str:
    return f"median {milliseconds(total[f'{name}_p50_ms'])}, 95 % {milliseconds(total[f'{name}_p95_ms'])}"


def _call_figures(one: Row) -> tuple[str, ...]:
    return f"{one['calls']:,}", f"{one['failed']:,}", milliseconds(one["p50_ms"]), milliseconds(one["p95_ms"])


def unanswered(answer: Row) -> RenderableType:
    """What got nothing, the newest first."""
    parts: list[RenderableType] = [] if answer["texts_kept"] else [Text(f"No texts. {answer['hint']}", style="yellow")]
    if not answer["messages"]:
        return Group(*parts, Text("Everything in this period got an answer."))
    table = plain_table("last", "times", "asked", "message", unwrapped=("last", "times"))
    for one in answer["messages"]:
        text = "(not kept)" if one["message"] is None else shortened(one["message"], _TEXT)
        table.add_row(moment(one["last"]), f"{one['count']:,}", one["verb"], Text(text))
    more = [Text(f"and {answer['more']:,} others (--limit)", style="dim")] if answer["more"] else []
    return Group(*parts, table, *more)


def intent_history(answer: Row) -> RenderableType:
    """The messages of each day, and the intents that matched most."""
    table = plain_table("day", "messages", "passed through", "intents")
    for one in answer["days"]:
        matched = [f"{name} {count:,}" for name, count in list(one["intents"].items())[:_SHOWN]]
        table.add_row(one["day"], f"{one['messages']:,}", f"{one['passed']:,}", Text(", ".join(matched)))
    return table


def calls(answer: Row) -> RenderableType:
    """One line for each call."""
    if not answer["calls"]:
        return Text("No calls.")
    table = plain_table("at", "tool", "server", "state", "took", "rank", unwrapped=("at", "took"))
    for one in answer["calls"]:
        state = Text(one["state"], style="red" if one["failed"] else "")
        name, rank = (
            Text(one["tool"] or "(unknown name)", style="bold"),
            "-" if one["rank"] is None else str(one["rank"]),
        )
        table.add_row(
            moment(one["at"], seconds=True), name, one["server"], state, milliseconds(one["duration_ms"]), rank
        )
    more = [Text(f"more: --before {answer['next']}", style="dim")] if answer["next"] else []
    return Group(table, *more)


def attention(answer: Row) -> RenderableType:
    """What waits, one sentence each, with what to do."""
    parts = [Text(f"{name} could not be listed: {why}", style="yellow") for name, why in answer["unread"].items()]
    if not answer["items"]:
        return Group(*parts, Text("Nothing waits for you."))
    table = plain_table("since", "", "what to do", unwrapped=("since",))
    for one in answer["items"]:
        table.add_row(moment(one["since"]) or "-", Text(one["sentence"]), Text(one["hint"], style="dim"))
    left = answer["count"] - len(answer["items"])
    return Group(*parts, table, *([Text(f"and {left:,} more", style="dim")] if left else []))


insight = new_group()
add_command(insight, "usage", INSIGHT["usage_summary"], usage)
add_command(insight, "unanswered", INSIGHT["unanswered_messages"], unanswered)
add_command(insight, "intents", INSIGHT["intent_history"], intent_history)
add_command(insight, "calls", INSIGHT["list_calls"], calls)
add_command(insight, "attention", INSIGHT["attention"], attention)

cases = new_group()
_KINDS: Final = ("tools", "intents", "documents", "endpoints", "tables")

Tool = Annotated[list[str] | None, typer.Option("--tool", help="A tool that must come: server:name, or its name.")]
Rules = Annotated[list[str] | None, typer.Option("--intent", help="A pack whose rules must come.")]
Document = Annotated[list[str] | None, typer.Option("--document", help="A document that must come: REPOSITORY/PATH.")]
Endpoint = Annotated[list[str] | None, typer.Option("--endpoint", help="An endpoint that must come: METHOD /PATH.")]
DatabaseTable = Annotated[list[str] | None, typer.Option("--table", help="A table that must come: CONNECTION.TABLE.")]
Excluded = Annotated[
    list[str] | None, typer.Option("--not", help="What must not come: KIND:NAME, such as tool:files:write_file.")
]


@cases.command("add")
@writes
def add_case(
    message: Annotated[str, typer.Argument(metavar="MESSAGE", help="The user's words.")],
    tool: Tool = None,
    intent: Rules = None,
    document: Document = None,
    endpoint: Endpoint = None,
    table: DatabaseTable = None,
    excluded: Excluded = None,
    only_tools: Annotated[bool, typer.Option("--find-tools", help="Ask find_tools, not get_context.")] = False,
    as_json: AsJson = False,
) -> None:
    """Save a message with what should come for it; without any name, nothing may come."""
    given = dict(zip(_KINDS, (tool, intent, document, endpoint, table), strict=True))
    needs = {kind: names for kind, names in given.items() if names}
    verb = "find_tools" if only_tools else "get_context"
    sent = {"message": message, "needs": needs, "excluded": _excluded(excluded or []), "verb": verb}
    show(ask("add_case", sent), as_json, case_card)


def _excluded(entries: Sequence[str]) -> dict[str, list[str]]:
    """Names by kind, from `KIND:NAME`."""
    found: dict[str, list[str]] = {}
    for entry in entries:
        kind, _, name = entry.partition(":")
        plural = kind if kind in _KINDS else f"{kind}s"
        if plural not in _KINDS or not name.strip():
            kinds = ", ".join(one.removesuffix("s") for one in _KINDS)
            raise typer.BadParameter(f"'{entry}' is not KIND:NAME; the kinds are {kinds}.", param_hint="--not")
        found.setdefault(plural, []).append(name)
    return found


def case_card(case: Row) -> RenderableType:
    """A case in full."""
    needs, excluded = (_names(case[name]) for name in ("needs", "excluded"))
    lines = [Text(f"case {case['id']} ({case['verb']}): {case['message']}", style="bold")]
    lines += [Text(f"must come: {needs}")] if needs else []
    lines += [Text(f"must not come: {excluded}")] if excluded else []
    return Group(*lines, *([] if needs or excluded else [Text("nothing may come")]))


def _names(kinds: Mapping[str, Sequence[str]]) -> str:
    return ", ".join(f"{kind}: {name}" for kind, names in kinds.items() for name in names)


def case_list(answer: Sequence[Row]) -> RenderableType:
    """One line for each case."""
    if not answer:
        return Text('No cases. Save one: thresher cases add "MESSAGE" --tool NAME')
    table = plain_table("case", "message", "must come", "must not come", unwrapped=("case",))
    for case in answer:
        needs, excluded = _names(case["needs"]), _names(case["excluded"])
        nothing = "" if needs or excluded else "nothing"
        table.add_row(str(case["id"]), Text(shortened(case["message"], _TEXT)), Text(needs or nothing), Text(excluded))
    return table


def case_run(run: Row | None) -> RenderableType:
    """What failed in a run, and what changed."""
    if not run or not run["cases"]:
        return Text('Nothing was run. Save a case: thresher cases add "MESSAGE" --tool NAME')
    style = "green" if run["passed"] == run["cases"] else "red"
    parts: list[RenderableType] = [Text(f"{run['passed']:,} of {run['cases']:,} cases pass", style=style)]
    for one in run["outcomes"]:
        if not one["passed"]:
            parts.append(Text(f"case {one['case']}: {shortened(one['message'], _TEXT)}", style="bold"))
            parts += [Text(f"    missing   {name}", style="red") for name in one["missing"]]
            parts += [Text(f"    unwanted  {name}", style="red") for name in one["unwanted"]]
    for name, words in (("previous", "the run before"), ("yesterday", "the last run of an earlier day")):
        if (former := run[name]) is not None:
            parts += _changes(former, words)
    return Group(*parts)


_STYLES: Final = {"broken": "red", "fixed": "green"}


def _changes(former: Row, words: str) -> list[Text]:
    head = f"since {words} ({moment(former['since'])}: {former['passed']:,} of {former['cases']:,} passed)"
    if not former["changes"]:
        return [Text(f"{head}: nothing changed", style="dim")]
    lines = [Text(f"{head}:")]
    for one in former["changes"]:
        moved = "; ".join(
            f"{word} {', '.join(names)}" for word, names in (("no more", one["gone"]), ("now", one["came"])) if names
        )
        text = f"    {one['change']:8} case {one['case']}: {shortened(one['message'], _TEXT)}"
        lines.append(Text(f"{text} ({moved})" if moved else text, style=_STYLES.get(one["change"], "")))
    return lines


def run_list(answer: Sequence[Row]) -> RenderableType:
    """One line for each run."""
    if not answer:
        return Text("No runs. Run the cases: thresher cases run")
    table = plain_table("run", "at", "cases", "passed", "took")
    for run in answer:
        took = f"{run['duration_ms'] / 1000:.1f} s"
        table.add_row(str(run["id"]), moment(run["at"]), f"{run['cases']:,}", f"{run['passed']:,}", took)
    return table


FAILED: Final = 1
"""Exit code of a run in which a case failed."""


def _check(run: Row) -> None:
    if run["passed"] < run["cases"]:
        raise typer.Exit(FAILED)


add_command(cases, "list", CASES["list_cases"], case_list)
add_command(
    cases,
    "remove",
    CASES["remove_case"],
    removed,
    arguments={"case": "CASE: A case's number, as `cases list` shows it"},
)
add_command(cases, "run", CASES["run_cases"], case_run, check=_check)
add_command(cases, "runs", CASES["list_case_runs"], run_list)


@cases.command("last")
def last_run(as_json: AsJson = False) -> None:
    """Show the last run again, with what changed before it."""
    show(ask("last_case_run")["run"], as_json, case_run)


@cases.command("import")
@writes
def import_cases(
    file: Annotated[
        Path,
        typer.Argument(parser=given_path, metavar="FILE", help="JSON lines, as `thresher eval context` takes them."),
    ],
    as_json: AsJson = False,
) -> None:
    """Save the cases of a file; a case of the same message gets the names of the file."""
    show(ask("import_cases", {"file": str(file.absolute())}), as_json, _imported)


def _imported(answer: Row) -> str:
    return f"Added {answer['added']:,} cases, replaced {answer['replaced']:,}."


@cases.command("export")
def export_cases(as_json: AsJson = False) -> None:
    """Print the cases as JSON lines, as `thresher cases import` and `thresher eval context` take them."""
    members = ("message", "needs", "excluded", "verb")
    lines = [
        {name: case[name] for name in members if case[name] or name == "needs"} for case in ask("list_cases")["cases"]
    ]
    if as_json:
        show(lines, as_json, case_list)
    else:
        export("".join(f"{visible_json(line)}\n" for line in lines))
