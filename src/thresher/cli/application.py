"""Puts the commands together and runs one.

Invariant: however a command ends, the process ends with a documented exit code and without a traceback.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from thresher import __version__
from thresher.cli import (
    apis,
    approving,
    asking,
    audit,
    catalogue,
    chatting,
    components,
    context,
    databases,
    documents,
    evaluating,
    health,
    intents,
    jobs,
    keys,
    logs,
    models,
    packs,
    prompts,
    running,
    servers,
    settings,
    solutions,
    threads,
    tools,
)
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

application = typer.Typer(
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
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print it.")] = False,
) -> None:
    pass


running.register(application)
context.register(application)
asking.register(application)
chatting.register(application)
approving.register(tools.commands, servers.commands)
application.add_typer(tools.commands, name="tools")
application.add_typer(servers.commands, name="servers")
application.add_typer(packs.commands, name="packs")
application.add_typer(components.commands, name="components")
application.add_typer(intents.commands, name="intents")
application.add_typer(keys.commands, name="keys")
application.add_typer(jobs.commands, name="jobs")
application.add_typer(audit.commands, name="audit")
documents.register(catalogue.commands)
application.add_typer(catalogue.commands, name="index")
application.add_typer(documents.commands, name="docs")
application.add_typer(databases.commands, name="db")
application.add_typer(apis.commands, name="apis")
application.add_typer(solutions.commands, name="solutions")
application.add_typer(prompts.commands, name="prompts")
application.add_typer(models.commands, name="models")
application.add_typer(settings.commands, name="settings")
application.add_typer(threads.commands, name="threads")
application.add_typer(evaluating.commands, name="eval")
health.register(application)
logs.register(application, tools.commands)


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
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # or the interpreter complains when it flushes at its end
    return code


def _run(arguments: Sequence[str], as_json: bool) -> int:
    if sys.stdout is None:  # pyright: ignore[reportUnnecessaryComparison] - Python's own, where it is closed
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
        if error.errno in _LOST and error.filename is None:  # the help, which Typer writes; a file's error names it
            raise OutputLost(error.strerror or str(error)) from None
        return complain(error, as_json)
    except Exception as error:  # noqa: BLE001 - a face: a person gets one line, not a traceback
        return _usage(error, as_json) if hasattr(error, "show") else complain(error, as_json)


_LOST = (errno.ENOSPC, errno.EDQUOT, errno.EBADF, errno.EIO)
"""Errors of a standard output that takes no more."""


class _UsageError(Exception):
    """The command line itself is wrong."""

    code = "invalid_input"
    exit_code = 2
    hint = "Add --help to see what the command takes."


def _usage(error: Any, as_json: bool) -> int:
    if as_json:
        return complain(_UsageError(error.format_message()), as_json)
    error.show()
    return int(error.exit_code)
