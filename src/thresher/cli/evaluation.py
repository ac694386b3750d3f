"""`thresher eval`: how well search, router, passages, guard and conversations do on the user's own data.

Invariant: queries, SQL and names are never markup; a figure without data shows as `-`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import typer
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from thresher.cli.arguments import given_path, path_option, read_address
from thresher.cli.client import ask
from thresher.cli.command_table import new_group
from thresher.cli.output import AsJson, progress_bar, shortened, show
from thresher.cli.views import Row, plain_table

_SHOWN: Final = 40
"""Wrong lines, relations and statements, and turns of conversations; `--json` has them all."""
_QUESTIONS_SHOWN: Final = 20
_LINE_WIDTH: Final = 90
_SQL_WIDTH: Final = 110
_STANDARD: Final = {
    "calls": "standard_calls",
    "prompt_tokens": "standard_prompt_tokens",
    "cached_cost": "standard_cached_cost",
    "tokens_per_turn": "standard_tokens_per_turn",
    "p50_ms": "standard_p50_ms",
}
"""Figures of a conversation that the standard pattern has too, and the names of those."""


def tool_figures(answer: Row) -> RenderableType:
    """The figures of the search for tools, with the intervals of shares."""
    table = plain_table("figure", "value")
    for name, value in answer.items():
        if name == "needed_by_tasks":
            table.add_row(name, ", ".join(f"{tasks}: {_value(share)}" for tasks, share in value.items()) or "-")
        elif name == "repeated":
            table.add_row(name, ", ".join(value) or "-")
        elif name != "intervals":
            low, high = answer.get("intervals", {}).get(name, (None, None))
            table.add_row(
                name, _value(value) + (f" ({_value(low, 3)} to {_value(high, 3)})" if low is not None else "")
            )
    return table


def router_figures(answer: Row) -> RenderableType:
    """The figures, those of a second encoder beside them, then the lines that were decided wrongly and why."""
    other: Row | None = answer["compared_with"]
    table = plain_table("figure", answer["model"], *([other["model"]] if other else []))
    for name, value in answer.items():
        if name not in ("model", "wrong", "compared_with"):
            table.add_row(name, _value(value), *([_value(other[name])] if other else []))
    if other:
        table.add_row("wrong lines", str(len(answer["wrong"])), str(len(other["wrong"])))
    return _with_list(
        table, answer["wrong"], f"{{}} of {answer['tests']:,} lines were decided wrongly:", _wrong_line, _SHOWN
    )


def _wrong_line(line: Row) -> Text:
    shown = Text(f"line {line['line']}", style="dim")
    shown.append(f" {line['kind']} ", style="yellow")
    shown.append(shortened(line["text"], _LINE_WIDTH), style="bold")
    expected, got = (" and ".join(line[names]) or "none" for names in ("expected", "got"))
    shown.append(f"\n  expected {expected}, got {got}")
    shown.append(f"; {_reason(line)}", style="dim")
    return shown


def _reason(line: Row) -> str:
    side = "at or above" if line["score"] >= line["threshold"] else "below"
    reason = f"best {line['best']} {line['score']:.2f}, {side} its threshold {line['threshold']:.2f}"
    if line["best_line"]:
        reason += f", like “{shortened(line['best_line'], _LINE_WIDTH)}”"
    if line["expected_score"] is not None and line["best"] not in line["expected"]:
        reason += f"; the expected scored {line['expected_score']:.2f}"
    clauses = " | ".join(shortened(clause, _LINE_WIDTH) for clause in line["clauses"])
    return reason + (f"; judged as {clauses}" if len(line["clauses"]) > 1 else "")


def api_figures(answer: Row) -> RenderableType:
    """The figures, the questions without a relevant operation among the first five, and what no description has."""
    heading = "{} questions have no right operation among the first five:"
    table = _figures(_number_table("figure", "value"), answer, left_out=("failed", "warnings"), digits=3)
    failed = _with_list(table, answer["failed"], heading, _failed_question, _QUESTIONS_SHOWN)
    heading = "{} relevant operations are in no description and count as not found:"
    return _with_list(failed, answer["warnings"], heading, lambda line: Text(line, "yellow"), _QUESTIONS_SHOWN)


def _failed_question(question: Row) -> Text:
    shown = Text(f"line {question['line']}: ", style="dim")
    shown.append(question["query"])
    relevant, found = " or ".join(question["relevant"]), question["found"] or "nothing"
    shown.append(f"\n  wanted {relevant}; found {found}", style="dim")
    return shown


def context_figures(answer: Row) -> RenderableType:
    """The figures with their intervals, then the messages that got too little, or something although they need nothing.

    Needs that nobody has come last.
    """
    table = plain_table("figure", "value")
    for name, value in answer.items():
        low, high = answer.get(f"{name}_interval") or (None, None)
        if name == "complete_by_kind":
            table.add_row(name, ", ".join(f"{kind}: {_value(share, 3)}" for kind, share in value.items()) or "-")
        elif not name.endswith("_interval") and name not in ("wrong", "unknown"):
            interval = f" ({_value(low, 3)} to {_value(high, 3)})" if low is not None else ""
            table.add_row(name, _value(value, 3) + interval)
    shown = _with_list(table, answer["wrong"], "{} messages were served wrongly:", _wrong_context, _SHOWN)
    unknown = [Text(f"Nothing indexed is {need}", style="yellow") for need in answer["unknown"]]
    return Group(shown, *unknown) if unknown else shown


def _wrong_context(line: Row) -> Text:
    shown = Text(f"line {line['line']} ", style="dim")
    shown.append(shortened(line["message"], _LINE_WIDTH), style="bold")
    if line["missing"]:
        shown.append(f"\n  missing {shortened('; '.join(line['missing']), _SQL_WIDTH)}")
    got = shortened("; ".join(line["given"]), _SQL_WIDTH) or "nothing"
    shown.append(f"\n  got {got} ({line['tokens']} tokens, {line['wasted']} of them not needed)", style="dim")
    return shown


def document_figures(answer: Row) -> RenderableType:
    """The figures of the product and of plain rules."""
    baselines: Row = answer["baselines"]
    table = _number_table("figure", "thresher", *baselines)
    for name, value in answer.items():
        if name not in ("baselines", "budget", "mode", "questions", "index_seconds"):
            table.add_row(name, _value(value, 3), *(_value(figures.get(name), 3) for figures in baselines.values()))
    settings = f"{answer['questions']} questions, {answer['budget']:,} tokens, {answer['mode']}"
    return Group(table, Text(f"\n{settings}; the corpus was indexed in {answer['index_seconds']:.1f} s", style="dim"))


def statement_figures(answer: Row) -> RenderableType:
    """The figures, then the statements that were judged wrongly, with the guard's reason."""
    table = _figures(plain_table("figure", answer["dialect"]), answer, left_out=("dialect", "wrong"))
    heading = f"{{}} of {answer['statements']:,} were judged wrongly:"
    return _with_list(table, answer["wrong"], heading, _wrong_statement, _SHOWN)


def _wrong_statement(line: Row) -> Text:
    shown = Text(f"line {line['line']} ", style="dim")
    shown.append("refused " if line["expected"] == "allow" else "ACCEPTED ", style="red")
    shown.append(shortened(line["sql"], _SQL_WIDTH), style="bold")
    reason = f"{line['rule']}: {line['reason']}" if line["rule"] else line["why"]
    if reason:
        shown.append(f"\n  {shortened(reason, _SQL_WIDTH)}")
    return shown


def fitted_figures(answer: Row) -> RenderableType:
    """The figures, then the questions whose answers were not delivered."""
    table = _figures(plain_table("figure", "results"), answer, left_out=("missed",))
    heading = f"{{}} of {answer['questions']:,} were not answered at some budget:"
    return _with_list(table, answer["missed"], heading, _missed_answer, _SHOWN)


def _missed_answer(case: Row) -> Text:
    shown = Text(f"{', '.join(f'{budget:,}' for budget in case['budgets'])} tokens ", style="dim")
    shown.append(shortened(case["question"], _SQL_WIDTH), style="bold")
    shown.append(f"\n  {shortened(case['result'], _SQL_WIDTH)}: {shortened(', '.join(case['answers']), _SQL_WIDTH)}")
    return shown


def relation_figures(answer: Row) -> RenderableType:
    """The figures, then the relations that were found and are not declared, and those that were missed."""
    basis = "with data" if answer["with_data"] else "metadata alone"
    several = answer["databases"] > 1
    table = _figures(plain_table("figure", basis), answer, left_out=("with_data", "wrong"))
    return _with_list(
        table, answer["wrong"], "{} relations are wrong:", lambda one: _wrong_relation(one, several=several), _SHOWN
    )


def _wrong_relation(relation: Row, *, several: bool) -> Text:
    shown = Text(f"{relation['database']}: " if several else "", style="dim")
    shown.append(f"{relation['kind']} ", style="yellow")
    shown.append(f"{relation['child']} -> {relation['parent']}", style="bold")
    if relation["score"] is not None:
        shown.append(f" {relation['score']:.2f}")
    if relation["instead"]:
        shown.append(f"; found {relation['instead']} instead")
    if relation["evidence"]:
        shown.append(f"\n  {'; '.join(relation['evidence'])}", style="dim")
    return shown


def chat_figures(answer: Row) -> RenderableType:
    """The figures beside those of the standard pattern, the judge's verdict, then one row a turn."""
    table = _number_table("figure", "thresher", "standard")
    for name, value in answer.items():
        if name not in ("each", "quality") and name not in _STANDARD.values():
            standard = _chat_value(answer[_STANDARD[name]]) if name in _STANDARD else ""
            table.add_row(name, _chat_value(value), standard)
    quality: Row = answer["quality"] or {}
    for name, value in quality.items():
        table.add_row(name, _chat_value(value), "")
    return Group(table, Text(""), _turn_table(answer))


def _turn_table(answer: Row) -> RenderableType:
    table = _number_table("conversation", "turn", "calls", "tokens", "standard", "passages", "ms")
    for row in answer["each"][:_SHOWN]:
        tokens = (f"{row['prompt_tokens']:,}", f"{row['standard_prompt_tokens']:,}")
        cells = (row["turn"], row["calls"], *tokens, row["documents"], round(row["ms"]))
        table.add_row(Text(row["conversation"]), *map(str, cells))
    left = len(answer["each"]) - _SHOWN
    return Group(table, Text(f"and {left:,} more (--json has all)", style="dim")) if left > 0 else table


def _figures(table: Table, answer: Row, *, left_out: Collection[str] = (), digits: int = 4) -> Table:
    """A table, with one row for each figure."""
    for name, value in answer.items():
        if name not in left_out:
            table.add_row(name, _value(value, digits))
    return table


def _number_table(first: str, *headings: str) -> Table:
    """A table with numbers in all columns except the first."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column(first)
    for heading in headings:
        table.add_column(heading, justify="right")
    return table


def _with_list(
    table: RenderableType, entries: Sequence[Any], heading: str, view: Callable[[Any], Text], most: int
) -> RenderableType:
    """The figures, then a list of what went wrong; `{}` in the heading is how much that is."""
    if not entries:
        return table
    head = Text("\n" + heading.format(f"{len(entries):,}"), style="bold")
    left = len(entries) - most
    more = [Text(f"and {left:,} more (--json has all)", style="dim")] if left > 0 else []
    return Group(table, head, *map(view, entries[:most]), *more)


def _value(value: Any, digits: int = 4) -> str:
    if value is None:
        return "-"
    return f"{value:.{digits}g}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)


def _chat_value(value: Any) -> str:
    return "-" if value is None else f"{value:,.3g}" if isinstance(value, float) and value < 100 else f"{value:,.0f}"


def _evaluate(verb: str, arguments: Mapping[str, Any], view: Callable[[Row], RenderableType], as_json: bool) -> None:
    with progress_bar("Evaluating", as_json) as follow:
        answer = ask(verb, arguments, progress=follow)
    show(answer, as_json, view)


evaluations = new_group()


@evaluations.command("tools")
def evaluate_tools(
    pool: Annotated[Path, path_option('JSON list of {"server", "name", "description", "inputSchema"}.')],
    queries: Annotated[Path, path_option('JSON lines {"query", "queries"?, "relevant": ["server/name", ...]}.')],
    as_json: AsJson = False,
) -> None:
    """Index a pool of tools in a temporary tenant, run every query and print the figures.

    Your own catalogue is not touched; docs/reference/evaluation.md defines each figure.
    """
    paths = {"pool": str(pool.absolute()), "queries": str(queries.absolute())}
    _evaluate("evaluate_tools", paths, tool_figures, as_json)


@evaluations.command("intents")
def evaluate_intents(
    train: Annotated[Path, path_option('JSON lines {"text", "intent"}; null for a message without an intent.')],
    test: Annotated[Path | None, path_option("The same; a list for several intents, null for out of scope.")] = None,
    cv: Annotated[bool, typer.Option("--cv", help="Cross-validate on the training lines instead.")] = False,
    encoder: Annotated[
        Path | None,
        path_option("Compare with the encoder in this folder: model.onnx and tokenizer.json.", metavar="PATH"),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Fit a router on training lines, route the test lines, and print the figures and the mistakes.

    Your packs are not touched; docs/reference/evaluation.md defines each figure.
    """
    if cv == (test is not None):
        raise typer.BadParameter("Give --test FILE, or --cv.")
    paths = {"train": train, "test": test, "encoder": encoder}
    given = {name: str(path.absolute()) for name, path in paths.items() if path is not None}
    _evaluate("evaluate_intents", given | {"cv": cv}, router_figures, as_json)


@evaluations.command("documents")
def evaluate_documents(
    corpus: Annotated[Path, path_option("The folder of the documents.", metavar="PATH")],
    questions: Annotated[
        Path, path_option('JSON lines {"document", "question", "spans": [{"start", "end"}]}, or "documents".')
    ],
    budget: Annotated[int, typer.Option(min=1, help="The most tokens of an answer.")] = 8000,
    mode: Annotated[Literal["extractive", "abstractive"], typer.Option(help="How answers are made.")] = "extractive",
    rerank: Annotated[bool, typer.Option("--rerank", help="Rerank with the cross-encoder.")] = False,
    as_json: AsJson = False,
) -> None:
    """Index a folder in a temporary tenant, ask every question, and print the figures beside those of plain rules.

    Your repositories are not touched; docs/reference/evaluation.md defines each figure.
    """
    paths = {"corpus": str(corpus.absolute()), "questions": str(questions.absolute())}
    arguments = paths | {"budget": budget, "mode": mode, "rerank": rerank}
    _evaluate("evaluate_documents", arguments, document_figures, as_json)


@evaluations.command("sql")
def evaluate_sql(
    statements: Annotated[Path, path_option("Lines: allow or deny, a tab, the SQL; optionally a tab and the reason.")],
    dialect: Annotated[str, typer.Option(help="postgresql, mysql, mariadb, sqlite, duckdb, oracle or mssql.")],
    as_json: AsJson = False,
) -> None:
    """Let the SQL guard judge statements whose verdict is known; nothing is run.

    {{T}} and {{T2}} stand for tables. docs/reference/evaluation.md defines each figure.
    """
    arguments = {"statements": str(statements.absolute()), "dialect": dialect}
    _evaluate("evaluate_sql", arguments, statement_figures, as_json)


@evaluations.command("results")
def evaluate_results(
    cases: Annotated[Path, path_option('JSON lines {"result": path, "mime"?, "question", "answers": ["", ...]}.')],
    as_json: AsJson = False,
) -> None:
    """Fit large results of tools into 500 and 2,000 tokens, and print how often the answers are still there.

    No tool is called. docs/reference/evaluation.md defines each figure.
    """
    _evaluate("evaluate_results", {"cases": str(cases.absolute())}, fitted_figures, as_json)


@evaluations.command("relations")
def evaluate_relations(
    database: Annotated[
        str | None,
        typer.Option(help="The address of a database; - reads it from standard input, ${NAME} is a variable."),
    ] = None,
    schemas: Annotated[Path | None, path_option("Schemas in the format of Spider's tables.json.")] = None,
    no_data: Annotated[bool, typer.Option("--no-data", help="Use names, types and keys only; read no values.")] = False,
    as_json: AsJson = False,
) -> None:
    """Hide the declared foreign keys, search for them, and print how many are found.

    Nothing of the database is stored. docs/reference/evaluation.md defines each figure.
    """
    if (database is None) == (schemas is None):
        raise typer.BadParameter("Give --database URL, or --schemas FILE.")
    given = {"schemas": str(schemas.absolute())} if schemas else {"database": read_address(database, "--database")}
    _evaluate("evaluate_relations", {**given, "no_data": no_data}, relation_figures, as_json)


@evaluations.command("apis")
def evaluate_apis(
    spec: Annotated[list[Path], path_option("An OpenAPI or Swagger description; repeatable.")],
    queries: Annotated[Path, path_option('JSON lines {"query", "relevant": ["GET /path", ...]}.')],
    as_json: AsJson = False,
) -> None:
    """Index descriptions in a temporary tenant, ask every question, and print the figures and what was not found.

    Your own APIs are not touched; docs/reference/evaluation.md defines each figure.
    """
    given = {"specs": [str(path.absolute()) for path in spec], "queries": str(queries.absolute())}
    _evaluate("evaluate_apis", given, api_figures, as_json)


@evaluations.command("context")
def evaluate_context(
    cases: Annotated[Path, path_option('JSON lines {"message", "needs": {"tools": [...], ...}}; {} needs nothing.')],
    budget: Annotated[int, typer.Option("--budget", "-b", min=1, help="The most tokens of an answer.")] = 1_500,
    as_json: AsJson = False,
) -> None:
    """Ask what is indexed for the context of every message, and print the figures and what is missing or too much.

    Nothing is changed, and no rules count as given; docs/reference/evaluation.md defines each figure.
    """
    _evaluate("evaluate_context", {"cases": str(cases.absolute()), "budget": budget}, context_figures, as_json)


@evaluations.command("chat")
def evaluate_chat(
    file: Annotated[
        Path,
        typer.Argument(
            parser=given_path, metavar="FILE", help='JSON lines {"name"?, "turns": [{"user", "calls"?, "says"?}, ...]}.'
        ),
    ],
    model: Annotated[
        str, typer.Option(help="A registered model; with --url the name that the service has for it.")
    ] = "",
    url: Annotated[
        str, typer.Option(help="The address of a service that is not registered; it is called without a key.")
    ] = "",
    judge: Annotated[str, typer.Option(help="A registered model that judges the answers.")] = "",
    as_json: AsJson = False,
) -> None:
    """Run scripted conversations, each also in the standard pattern, and compare the two.

    Their threads are removed, and calls that wait for approval are not made.
    docs/reference/evaluation.md defines each figure.
    """
    given = {"file": str(file.absolute()), "model": model, "url": url, "judge": judge}
    _evaluate("evaluate_chat", given, chat_figures, as_json)
