"""`thresher ask`: a question in any words, answered over everything that is installed."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from thresher.cli.client import ask as ask_daemon
from thresher.cli.output import AsJson, note, show
from thresher.cli.rendering import plain_text

if TYPE_CHECKING:
    from rich.console import RenderableType

FAILED = 1
"""Exit code where no tool could answer."""


def register(application: typer.Typer) -> None:
    """Add the command."""
    application.command("ask")(ask)


def ask(
    query: Annotated[str, typer.Argument(help="The question, in any words.")],
    session: Annotated[str | None, typer.Option("--session", "-s", help="Go on with this conversation.")] = None,
    context: Annotated[str | None, typer.Option(help="What the conversation is about.")] = None,
    as_json: AsJson = False,
) -> None:
    """Answer a question from APIs, documents, databases and tools, without a model."""
    given = {"query": query, "session_id": session, "context": context}
    answer = ask_daemon("ask", {name: value for name, value in given.items() if value is not None})
    show(answer, as_json, _formatted)
    if not as_json:
        note(f"(go on with: --session {answer['session_id']})")
    if answer["response"]["type"] == "error":
        raise typer.Exit(FAILED)


def _formatted(answer: Mapping[str, Any]) -> RenderableType:
    """Rendered on a terminal; in a pipe the Markdown itself."""
    text = str(answer["response"]["text"])
    if not sys.stdout.isatty():
        return plain_text({"text": text})
    from rich.markdown import Markdown  # noqa: PLC0415 - `--help` does without

    return Markdown(text, hyperlinks=False)
