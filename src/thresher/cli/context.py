"""`thresher prompt` and `thresher context`: what a model would be given for a message."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from thresher.cli.client import ask
from thresher.cli.output import AsJson, note, show
from thresher.cli.rendering import plain_text

Message = Annotated[str, typer.Argument(help="The user's message.")]
History = Annotated[list[str] | None, typer.Option(help="An earlier turn, oldest first; repeatable.")]
Queries = Annotated[list[str] | None, typer.Option("--query", "-q", help="A short action phrase; repeatable.")]
Files = Annotated[list[str] | None, typer.Option("--file", "-f", help="A file that matters; repeatable.")]


def register(application: typer.Typer) -> None:
    """Add the commands."""
    application.command("prompt")(prompt)
    application.command("context")(context)


def prompt(
    message: Message, history: History = None, query: Queries = None, file: Files = None, as_json: AsJson = False
) -> None:
    """Give the rules that a message needs, with the tools of their packs; PASS_THROUGH where none fit."""
    arguments = {"prompt": message, "history": history, "queries": query, "files": file}
    answer = ask("process_prompt", _given(arguments))
    show(answer, as_json, plain_text)
    if answer["pass_through"] and not as_json:
        for one in answer.get("notes", ()):
            note(f"({one})")


def context(
    message: Message,
    budget: Annotated[int | None, typer.Option("--budget", "-b", help="Tokens at most.")] = None,
    history: History = None,
    query: Queries = None,
    file: Files = None,
    cursor: Annotated[str | None, typer.Option(help="Of the last answer: give what it left out.")] = None,
    as_json: AsJson = False,
) -> None:
    """Give the rules and tools that a message needs, inside a token budget."""
    arguments = {"message": message, "budget": budget, "history": history, "queries": query, "files": file}
    show(ask("get_context", _given({**arguments, "cursor": cursor})), as_json, plain_text)


def _given(arguments: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in arguments.items() if value is not None}
