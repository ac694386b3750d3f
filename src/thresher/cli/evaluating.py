"""`thresher eval`: how well search, router, passages, guard and conversations do on what is your own."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from thresher.cli.addresses import read_address
from thresher.cli.api_trials import api_trial
from thresher.cli.chat_trials import chat_trial
from thresher.cli.client import ask
from thresher.cli.document_trials import document_trial
from thresher.cli.files import given_path
from thresher.cli.output import AsJson, progress_bar, show
from thresher.cli.relation_trials import relation_trial
from thresher.cli.rendering import figures
from thresher.cli.statement_trials import statement_trial
from thresher.cli.trials import trial


class DocumentMode(StrEnum):
    """How answers from documents are made."""

    extractive = "extractive"
    abstractive = "abstractive"


commands = typer.Typer(
    help="Measure search, router, passages, guard and conversations on your own data.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@commands.command("tools")
def evaluate_tools(
    pool: Annotated[
        Path,
        typer.Option(
            parser=given_path, metavar="FILE", help='JSON list of {"server", "name", "description", "inputSchema"}.'
        ),
    ],
    queries: Annotated[
        Path,
        typer.Option(
            parser=given_path,
            metavar="FILE",
            help='JSON lines {"query", "queries"?, "relevant": ["server/name", ...]}.',
        ),
    ],
    as_json: AsJson = False,
) -> None:
    """Index a pool in a throw-away tenant, ask every query, print the figures.

    Your own catalogue is left alone; docs/reference/evaluation.md defines each figure.
    """
    paths = {"pool": str(pool.absolute()), "queries": str(queries.absolute())}
    with progress_bar("Evaluating", as_json) as follow:
        answer = ask("evaluate_tools", paths, progress=follow)
    show(answer, as_json, figures)


@commands.command("intents")
def evaluate_intents(
    train: Annotated[
        Path,
        typer.Option(
            parser=given_path, metavar="FILE", help='JSON lines {"text", "intent"}; null: asks for none of them.'
        ),
    ],
    test: Annotated[
        Path | None,
        typer.Option(
            parser=given_path, metavar="FILE", help="The same; a list is several intents, null is out of scope."
        ),
    ] = None,
    cv: Annotated[bool, typer.Option("--cv", help="Cross-validation on the training lines instead.")] = False,
    encoder: Annotated[
        Path | None,
        typer.Option(
            parser=given_path, metavar="PATH", help="Compare with this folder: model.onnx and tokenizer.json."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Fit a router on your lines, ask it for the test lines, print the figures and what went wrong.

    Your packs are left alone; docs/reference/evaluation.md defines each figure.
    """
    if cv == (test is not None):
        raise typer.BadParameter("Give --test FILE, or --cv.")
    paths = {"train": train, "test": test, "encoder": encoder}
    given = {name: str(path.absolute()) for name, path in paths.items() if path is not None}
    with progress_bar("Evaluating", as_json) as follow:
        answer = ask("evaluate_intents", given | {"cv": cv}, progress=follow)
    show(answer, as_json, trial)


@commands.command("documents")
def evaluate_documents(
    corpus: Annotated[Path, typer.Option(parser=given_path, metavar="PATH", help="The folder of the documents.")],
    questions: Annotated[
        Path,
        typer.Option(
            parser=given_path, metavar="FILE", help='JSON lines {"document", "question", "spans": [{"start", "end"}]}.'
        ),
    ],
    budget: Annotated[int, typer.Option(min=1, help="Tokens of an answer at most.")] = 8000,
    mode: Annotated[DocumentMode, typer.Option(help="How answers are made.")] = DocumentMode.extractive,
    rerank: Annotated[bool, typer.Option("--rerank", help="With the cross-encoder.")] = False,
    as_json: AsJson = False,
) -> None:
    """Index a folder in a throw-away tenant, ask every question, print the figures beside those of plain rules.

    Your repositories are left alone; docs/reference/evaluation.md defines each figure.
    """
    paths = {"corpus": str(corpus.absolute()), "questions": str(questions.absolute())}
    with progress_bar("Evaluating", as_json) as follow:
        arguments = paths | {"budget": budget, "mode": mode.value, "rerank": rerank}
        answer = ask("evaluate_documents", arguments, progress=follow)
    show(answer, as_json, document_trial)


@commands.command("sql")
def evaluate_sql(
    statements: Annotated[
        Path,
        typer.Option(
            parser=given_path, metavar="FILE", help="Lines allow|deny, a tab, the SQL, and perhaps a tab and why."
        ),
    ],
    dialect: Annotated[str, typer.Option(help="postgresql, mysql, mariadb, sqlite, duckdb, oracle or mssql.")],
    as_json: AsJson = False,
) -> None:
    """Have the guard judge statements whose verdict is known; nothing is run.

    {{T}} and {{T2}} stand for tables. docs/reference/evaluation.md defines each figure.
    """
    with progress_bar("Judging", as_json) as follow:
        arguments = {"statements": str(statements.absolute()), "dialect": dialect}
        answer = ask("evaluate_sql", arguments, progress=follow)
    show(answer, as_json, statement_trial)


@commands.command("relations")
def evaluate_relations(
    database: Annotated[
        str | None, typer.Option(help="Address of a database; - reads it from standard input, ${NAME} is a variable.")
    ] = None,
    schemas: Annotated[
        Path | None,
        typer.Option(parser=given_path, metavar="FILE", help="Schemas in the form of Spider's tables.json."),
    ] = None,
    no_data: Annotated[bool, typer.Option("--no-data", help="Names, types and keys alone; look at no values.")] = False,
    as_json: AsJson = False,
) -> None:
    """Hide the declared foreign keys, look for them, and print how many are found.

    Nothing is kept of the database. docs/reference/evaluation.md defines each figure.
    """
    if (database is None) == (schemas is None):
        raise typer.BadParameter("Give --database URL, or --schemas FILE.")
    given = {"schemas": str(schemas.absolute())} if schemas else {"database": read_address(database, "--database")}
    with progress_bar("Evaluating", as_json) as follow:
        answer = ask("evaluate_relations", {**given, "no_data": no_data}, progress=follow)
    show(answer, as_json, relation_trial)


@commands.command("apis")
def evaluate_apis(
    spec: Annotated[
        list[Path],
        typer.Option(
            parser=given_path, metavar="FILE", help="A description, OpenAPI or Swagger; may be given several times."
        ),
    ],
    queries: Annotated[
        Path,
        typer.Option(parser=given_path, metavar="FILE", help='JSON lines {"query", "relevant": ["GET /path", ...]}.'),
    ],
    as_json: AsJson = False,
) -> None:
    """Index descriptions in a throw-away tenant, ask every question, print the figures and what was not found.

    Your own APIs are left alone; docs/reference/evaluation.md defines each figure.
    """
    given = {"specs": [str(path.absolute()) for path in spec], "queries": str(queries.absolute())}
    with progress_bar("Evaluating", as_json) as follow:
        answer = ask("evaluate_apis", given, progress=follow)
    show(answer, as_json, api_trial)


@commands.command("chat")
def evaluate_chat(
    file: Annotated[
        Path,
        typer.Argument(
            parser=given_path, metavar="FILE", help='JSON lines {"name"?, "turns": [{"user", "calls"?, "says"?}, ...]}.'
        ),
    ],
    model: Annotated[str, typer.Option(help="A registered model; with --url the service's name for it.")] = "",
    url: Annotated[str, typer.Option(help="A service that is not registered, asked without a key.")] = "",
    judge: Annotated[str, typer.Option(help="A registered model that judges the answers.")] = "",
    as_json: AsJson = False,
) -> None:
    """Have scripted conversations, each also in the standard pattern, and print what both took.

    Their threads are removed; nothing that waits for approval is run. docs/reference/evaluation.md defines each figure.
    """
    given = {"file": str(file.absolute()), "model": model, "url": url, "judge": judge}
    with progress_bar("Evaluating", as_json) as follow:
        answer = ask("evaluate_chat", given, progress=follow)
    show(answer, as_json, chat_trial)
