"""The demo's output on a terminal.

Invariant: pure functions from records to what Rich prints; only commands to copy are wider than 100 columns.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from thresher.context import Prompt
from thresher.demo.report import (
    CallRecord,
    DemoReport,
    IndexingResult,
    LiveServer,
    PassageResult,
    RulesResult,
    ToolsResult,
)
from thresher.demo.servers import MissingServer
from thresher.gateway import ClientSetup
from thresher.knowledge.tools import FindResult, FoundTool

WIDTH = 100
_MATCHED_WIDTH = 25


def heading(title: str) -> RenderableType:
    """An empty line and a rule with a title."""
    return Group("", Rule(Text(title, style="bold"), align="left", style="dim"))


def server_table(servers: Iterable[LiveServer], left_out: Iterable[MissingServer]) -> RenderableType:
    """The real servers that answered, and those left out, with the reason."""
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True, min_width=10, style="cyan")
    table.add_column(no_wrap=True, min_width=8, justify="right")
    table.add_column()
    for server in servers:
        version = f"version {server.version}, " if server.version else ""
        table.add_row(server.name, _count(server.tools, "tool"), f"{version}ready in {server.seconds:.1f} s")
    for absent in left_out:
        hint = f" - {absent.hint}" if absent.hint else ""
        table.add_row(Text(absent.name, style="yellow"), Text("left out", style="yellow"), f"{absent.reason}{hint}")
    return Padding(table, (0, 0, 0, 2))


def indexing_line(indexing: IndexingResult, encoder: str) -> Text:
    """The result of indexing, in one line."""
    encoder = model_name(encoder)
    text = Text("  ")
    if indexing.embedded:
        text.append(f"{indexing.embedded:,} tools embedded and stored in {indexing.seconds:.1f} s")
        text.append(f" ({indexing.rate:.0f} a second, {encoder})", style="dim")
    else:
        text.append("Nothing embedded: ", style="green")
        text.append(f"all {indexing.kept:,} tools are unchanged since the last run ({indexing.seconds:.1f} s)")
    if indexing.embedded and indexing.kept:
        text.append(f"; {indexing.kept:,} kept from the last run")
    return text


def model_name(encoder: str) -> str:
    """The model's name without the digest of its weights."""
    return encoder.split("@")[0]


def percent(share: float) -> str:
    """A share with one decimal, rounded down: only all of it is 100%."""
    return f"{math.floor(share * 1000 + 1e-9) / 10:.1f}%"


def legend() -> RenderableType:
    """How to read the tables of the messages."""
    return Text(
        "  fits: probability that the tool fits; meaning, words: its rank by embedding and by BM25;\n"
        "  matched words: as their stems; ✓: a tool that a person would choose",
        style="dim",
    )


def answer(number: int, entry: ToolsResult) -> RenderableType:
    """A message: the tools that were chosen and why, the tokens saved, and the time."""
    result = entry.result
    title = Text.assemble((f" {number}  ", "bold"), (f"“{entry.message.text}”", "bold"))
    about = Text(f"    {entry.message.shows}", style="dim")
    parts: list[RenderableType] = [title, about]
    if len(result.clauses) > 1:
        parts += [Text(f"    part {n}: {clause}", style="magenta") for n, clause in enumerate(result.clauses, 1)]
    if result.degraded:
        parts.append(Text(f"    degraded: {result.degraded}", style="yellow"))
    parts.append(_verdict(result) if result.abstained else Padding(_tools(entry), (0, 0, 0, 4)))
    if entry.missed:
        parts.append(Text(f"    missed: {', '.join(sorted(entry.missed))}", style="yellow"))
    parts.append(_cost(entry))
    return Group(*parts)


def _verdict(result: FindResult) -> Text:
    return Text.assemble(
        ("    No tool fits", "green"), f" (probability that any does: {result.probability:.2f}). Nothing is sent."
    )


def _tools(entry: ToolsResult) -> Table:
    result = entry.result
    several = len(result.clauses) > 1
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim", pad_edge=False)
    table.add_column("", no_wrap=True, style="green", min_width=1)
    table.add_column("tool", no_wrap=True, overflow="ellipsis", min_width=20, max_width=36)
    for name in ("fits", "meaning", "words", *(["part"] if several else [])):
        table.add_column(name, justify="right", no_wrap=True, min_width=max(5, len(name)))
    table.add_column("matched words", no_wrap=True, overflow="ellipsis")
    for found in result.tools:
        part = [str(found.why.query + 1)] if several else []
        wanted = found.name in entry.wanted
        name = Text(found.name, style="bold green" if wanted else "cyan")
        table.add_row("✓" if wanted else "", name, _fits(found), *_ranks(found), *part, _matched(found))
    return table


def _matched(found: FoundTool) -> str:
    words: list[str] = []
    for term in found.why.terms:
        if len(", ".join([*words, term])) > _MATCHED_WIDTH:
            break
        words.append(term)
    return ", ".join(words)


def _fits(found: FoundTool) -> str:
    return found.why.source if found.why.source in ("core", "fallback", "written") else f"{found.score:.2f}"


def _ranks(found: FoundTool) -> tuple[str, str]:
    arms = (found.why.dense.rank, found.why.lexical.rank)
    return tuple(f"#{rank}" if rank else "-" for rank in arms)  # pyright: ignore[reportReturnType] - two in, two out


def _cost(entry: ToolsResult) -> Text:
    result = entry.result
    return Text.assemble(
        ("    tokens  ", "dim"),
        f"{result.tokens_all:,} in all {result.total_searched:,} definitions, ",
        (f"{result.tokens_sent:,} sent", "green"),
        f" ({percent(entry.saved)} less)",
        ("\n    time    ", "dim"),
        f"{result.duration_ms:.1f} ms, {result.embedding_ms:.1f} ms of them embedding",
    )


def guided(number: int, entry: RulesResult) -> RenderableType:
    """A message: the rules that were chosen and why, their tokens, and the time."""
    prompt, decision = entry.prompt, entry.prompt.decision
    parts: list[RenderableType] = [
        Text(f" {number}  “{entry.message.text}”", style="bold"),
        Text(f"    {entry.message.shows}", style="dim"),
    ]
    if prompt.passes_through:
        parts.append(Text.assemble(("    PASS_THROUGH", "green"), f": {_reason(prompt)}"))
    for score in decision.matched:
        line = f", like the line “{score.best_line}”" if score.best_line else ""
        mark = "✓" if score.intent in entry.message.wants else " "
        parts.append(
            Text.assemble((f"    {mark}  rules of ", "green"), (score.intent, "cyan"), f"  {score.score:.2f}{line}")
        )
    if prompt.tools:
        names = ", ".join(tool.name for tool in prompt.tools)
        parts.append(Text(f"       with the tools {names}", no_wrap=True, overflow="ellipsis"))
    milliseconds = prompt.timings["total"]
    parts.append(
        Text.assemble(
            ("    tokens  ", "dim"),
            f"{entry.tokens:,}",
            ("\n    time    ", "dim"),
            f"{milliseconds:.1f} ms, {decision.embedding_ms:.1f} ms of them embedding",
        )
    )
    return Group(*parts)


def _reason(prompt: Prompt) -> str:
    """Why no rules are given: the notes, or the best score."""
    if prompt.notes:
        return "; ".join(map(str, prompt.notes)) + "."
    best = max((score.score for score in prompt.decision.scores), default=0.0)
    return f"no rules fit (the best scores {best:.2f})."


def call(called: CallRecord) -> RenderableType:
    """A call and the first lines of its answer."""
    arguments = ", ".join(f"{name}={value!r}" for name, value in called.call.arguments.items())
    head = Text.assemble(
        ("  call_tool ", "dim"), (f"{called.call.server}_{called.call.tool}", "cyan"), (f"  {called.ms:.0f} ms", "dim")
    )
    given = Text(f"    {arguments}", style="dim", no_wrap=True, overflow="ellipsis")
    style = "red" if called.failed else ""
    if called.rules:
        packs = ", ".join(called.rules)
        rules = f"    the rules of {packs} came first ({called.rules_tokens:,} tokens, once a session); called again:"
        given = Group(given, Text(rules, style="yellow"))
    return Group(head, given, Padding(Text(called.text, style=style), (0, 0, 0, 4)))


def consulted(number: int, entry: PassageResult) -> RenderableType:
    """A question: the passages that answer it, their document, and their tokens."""
    answer = entry.answer
    parts: list[RenderableType] = [
        Text(f" {number}  “{entry.message.text}”", style="bold"),
        Text(f"    {entry.message.shows}", style="dim"),
    ]
    if not answer.found:
        parts.append(Text.assemble(("    Nothing fits", "green"), ": a model gets the guide to the documents."))
    else:
        mark = "✓" if entry.right else " "
        parts.append(Text.assemble((f"    {mark}  ", "green"), (answer.document, "cyan"), ", verbatim:"))
        parts.append(Padding(Text(answer.content), (0, 0, 0, 7)))
    cost = f"{answer.token_count:,} of at most {entry.budget:,}"
    whole = f"; the document has {answer.original_token_count:,}" if answer.found else ""
    parts.append(Text.assemble(("    tokens  ", "dim"), cost + whole))
    parts.append(Text.assemble(("    time    ", "dim"), f"{answer.timings.get('total', 0.0):.1f} ms"))
    return Group(*parts)


def summary(report: DemoReport) -> RenderableType:
    """The figures of the whole run."""
    indexing = report.indexing
    rate = f"{indexing.rate:.0f} tools a second" if indexing.embedded else "nothing to do, no tool is embedded twice"
    right = f"{report.right} of {len(report.answers)} messages"
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", no_wrap=True)
    table.add_column()
    vendors = f"{len(report.servers)} live servers and a catalogue of {report.vendors} more"
    table.add_row("tools", f"{indexing.tools:,}: {vendors}")
    table.add_row("tokens", _saving(report))
    table.add_row("answers", f"{right} got the tools that a person would choose, or rightly none")
    advised = f"{sum(entry.right for entry in report.guided)} of {len(report.guided)} messages"
    table.add_row("rules", f"{advised} got the rules that a person would choose, or rightly none")
    consulted = f"{sum(entry.right for entry in report.consulted)} of {len(report.consulted)} questions"
    table.add_row("documents", f"{consulted} got the passage that answers, or rightly none")
    table.add_row("time", f"{report.median_ms:.1f} ms for a median message")
    table.add_row("indexing", f"{rate} ({model_name(report.encoder)})")
    table.add_row("run", f"{report.total_seconds:.1f} s in all; the database stays in {report.folder}")
    return Padding(table, (0, 0, 0, 2))


def _saving(report: DemoReport) -> Text:
    return Text.assemble(
        f"{report.tokens_all:,} with all definitions in every request; ",
        (f"{report.meta_tokens + report.tokens_each:,.0f} with Thresher", "green"),
        f" ({percent(report.saved)} less):\n{report.meta_tokens:,} for its own tools and {report.tokens_each:,.0f}"
        " for a median answer, before the schemas of the tools used",
    )


def connections(entries: Iterable[ClientSetup]) -> Iterable[Text]:
    """How to connect clients, line by line; commands are never wrapped."""
    for client in entries:
        yield Text.assemble((f"  {client.name}", "bold"), (f"  {client.how}:", "dim"))
        yield Text(f"    {client.text}", style="cyan")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def next_steps() -> RenderableType:
    """What the user can do next."""
    return Text(
        "\n  Then bring your own servers: thresher serve --config ~/.cursor/mcp.json (or any mcpServers file),"
        "\n  or one at a time: thresher servers add. And your own documents: thresher index docs NAME FOLDER."
        "\n  More: docs/howto/connect-clients.md, docs/howto/index-documents.md",
        style="dim",
    )
