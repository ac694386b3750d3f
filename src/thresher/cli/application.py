"""The table of commands, and how one is run.

Invariant: every command ends with a documented exit code and without a traceback.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final

import typer

from thresher import __version__
from thresher.cli.command_table import CommandEntry, table_group
from thresher.cli.output import (
    BROKEN_PIPE,
    INTERRUPTED,
    OutputLost,
    ReaderGone,
    complain,
    escape_unknown,
    flush,
    for_programs,
    read_any_input,
)

COMMANDS: Final[Mapping[str, CommandEntry]] = {
    "demo": CommandEntry("installation:demo", "Show what Thresher does, on real MCP servers and in a separate folder."),
    "serve": CommandEntry("daemon:serve", "Run the daemon in the foreground: MCP over HTTP and for local clients."),
    "stdio": CommandEntry("daemon:stdio", "Connect one MCP client, on standard input and output, to the daemon."),
    "hook": CommandEntry(
        "daemon:hook",
        "Read a client's prompt-submit event on standard input and print the rules for its prompt.",
    ),
    "stop": CommandEntry("daemon:stop", "Stop the daemon, its database and the servers that it started."),
    "status": CommandEntry("daemon:status", "Show whether a daemon is running, and its state."),
    "migrate": CommandEntry(
        "installation:migrate", "Update the schema of an external database (THRESHER_MIGRATION_URL)."
    ),
    "prompt": CommandEntry(
        "context:prompt",
        "Print the rules for a message, with the tools of their packs, or PASS_THROUGH if none fit.",
    ),
    "context": CommandEntry(
        "context:context", "Print what a message needs of everything that is indexed, within a token budget."
    ),
    "explain": CommandEntry("context:explain", "Show what a model is given for a message, what it is not, and why."),
    "ask": CommandEntry(
        "context:ask_assistant", "Answer a question from APIs, documents, databases and tools, without a model."
    ),
    "chat": CommandEntry("conversations:chat", "Talk with the model: one message, or one per line of input."),
    "tools": CommandEntry("knowledge.tools:tools", "Find and manage tools."),
    "servers": CommandEntry("knowledge.servers:servers", "Add and manage MCP servers."),
    "packs": CommandEntry("knowledge.packs:packs", "Write, check, trust and export packs of rules."),
    "components": CommandEntry("operation:components", "Show and reload drop-in components: your own Python modules."),
    "intents": CommandEntry("context:intents", "Show which rules a message needs, and why."),
    "insight": CommandEntry("insight:insight", "Show what is used, what gets no answer, and what waits for you."),
    "cases": CommandEntry("insight:cases", "Save messages with what should come for them, and see what changes."),
    "keys": CommandEntry("operation:keys", "Create and revoke keys for callers."),
    "jobs": CommandEntry("operation:jobs", "Show and cancel background work, such as indexing."),
    "audit": CommandEntry(
        "knowledge.databases:audit", "Show the log of SQL statements, and verify that it is complete."
    ),
    "index": CommandEntry("knowledge.documents:index", "Index servers' tools and documents."),
    "docs": CommandEntry("knowledge.documents:docs", "Search and manage repositories of documents."),
    "db": CommandEntry("knowledge.databases:db", "Query and manage connections to databases."),
    "apis": CommandEntry("knowledge.apis:apis", "Search and manage descriptions of APIs."),
    "solutions": CommandEntry(
        "knowledge.solutions:solutions", "Show and change relations and value lists of Servoy workspaces."
    ),
    "prompts": CommandEntry("conversation_settings:prompts", "Show and change the prompts of the agent's model."),
    "models": CommandEntry("conversation_settings:models", "Register, check and switch chat models for conversations."),
    "settings": CommandEntry("conversation_settings:settings", "Show and change the settings of conversations."),
    "threads": CommandEntry("conversations:threads", "Show and manage conversations; `thresher chat` continues one."),
    "eval": CommandEntry(
        "evaluation:evaluations", "Measure search, router, passages, guard and conversations on your own data."
    ),
    "train": CommandEntry(
        "knowledge.training:train", "Fit the search for tools to your own messages, if that finds more of them."
    ),
    "doctor": CommandEntry(
        "installation:doctor", "Check everything that Thresher needs, and say how to fix what is missing."
    ),
    "purge": CommandEntry(
        "operation:purge", "Remove old log rows, and embeddings that have not been used for as long."
    ),
}
"""Every command and group, in the order of the help."""

application = typer.Typer(
    cls=table_group(COMMANDS),
    name="thresher",
    help="One MCP endpoint that picks, for each message, the few tools a model needs - and says why.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        sys.stdout.write(f"thresher {__version__}\n")
        raise typer.Exit


@application.callback()
def _options(  # pyright: ignore[reportUnusedFunction] - Typer calls it
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


def run(arguments: Sequence[str]) -> int:
    """Run one command.

    Args:
        arguments: The command line without the program's name.

    Returns:
        The exit code.
    """
    as_json = "--json" in arguments
    try:
        return _run(arguments, as_json)
    except ReaderGone:
        code = BROKEN_PIPE
    except OutputLost as error:
        code = complain(error, as_json=False)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # else the interpreter reports an error when it flushes at exit
    return code


def _run(arguments: Sequence[str], as_json: bool) -> int:
    if sys.stdout is None:  # pyright: ignore[reportUnnecessaryComparison] - None if it is closed
        raise OutputLost("it is closed")
    escape_unknown()
    read_any_input()
    try:
        with for_programs(as_json):
            code: Any = application(list(arguments), prog_name="thresher", standalone_mode=False)
        flush()
        return code if isinstance(code, int) else 0
    except (typer.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except (ReaderGone, OutputLost):
        raise
    except OSError as error:
        if (
            error.errno in _LOST and error.filename is None
        ):  # from the help, which Typer writes; errors of files name the file
            raise OutputLost(error.strerror or str(error)) from None
        return complain(error, as_json)
    except Exception as error:  # noqa: BLE001 - a face: the user gets one line, not a traceback
        return _usage(error, as_json) if hasattr(error, "show") else complain(error, as_json)


_LOST = (errno.ENOSPC, errno.EDQUOT, errno.EBADF, errno.EIO)
"""Errors of a standard output that cannot be written."""


class _UsageError(Exception):
    """The command line is wrong."""

    code = "invalid_input"
    exit_code = 2
    hint = "Add --help to see what the command accepts."


def _usage(error: Any, as_json: bool) -> int:
    if as_json:
        return complain(_UsageError(error.format_message()), as_json)
    error.show()
    return int(error.exit_code)
