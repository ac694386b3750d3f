"""What a command prints: JSON for programs, tables for people, errors in one line with a hint.

Invariant: results go to standard output, everything else to standard error; no traceback, no secret. Only this module
writes to the terminal: it removes from other people's text what a terminal would obey or hide.
"""

from __future__ import annotations

import codecs
import io
import json
import re
import sys
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Annotated, Any, Final, cast

import typer

from thresher.daemon import later
from thresher.foreign import visible, visible_json

if TYPE_CHECKING:
    from rich.console import RenderableType


AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
"""The option that every command takes."""

INTERRUPTED = 130
"""Exit code after Ctrl-C: 128 + SIGINT."""
BROKEN_PIPE = 141
"""Exit code when the reader of our output has gone: 128 + SIGPIPE."""


LINES_AFTER_SECONDS = 2.0
"""Work that takes longer prints its stages where no terminal shows a bar."""
PIPE_WIDTH = 100_000
"""Columns without a terminal: a row of a table stays one line for grep."""


_ESCAPE: Final = "thresher.escape"
_UNSAID: Final = ("strict", "surrogateescape")
"""Error handlers that Python chooses by default."""
TEXTS: Final = frozenset(
    {
        *("text", "content", "description", "guide", "rules", "sql", "schema", "diff", "markdown", "overlay", "says"),
        *("arguments", "input_schema", "annotations", "settings", "session", "detail"),
    }
)
"""Fields whose texts may have line breaks; in all others a line break is escaped."""
_plans: ContextVar[list[dict[str, Any]] | None] = ContextVar("plans", default=None)


@contextmanager
def rehearsing() -> Generator[list[dict[str, Any]]]:
    """A block of a dry run: results are not printed, and plans of changes are collected."""
    plans: list[dict[str, Any]] = []
    before = _plans.set(plans)
    try:
        yield plans
    finally:
        _plans.reset(before)


def collected_plans() -> list[dict[str, Any]] | None:
    """The list that collects the plans of a dry run; None outside of one."""
    return _plans.get()


_for_programs: ContextVar[bool] = ContextVar("for_programs", default=False)


@contextmanager
def for_programs(as_json: bool) -> Generator[None]:
    """A block in which output is for a program, or for a person."""
    before = _for_programs.set(as_json)
    try:
        yield
    finally:
        _for_programs.reset(before)


def is_for_programs() -> bool:
    """Return whether output is for a program."""
    return _for_programs.get()


class ReaderGone(Exception):
    """The reader of standard output has closed the pipe."""


class OutputLost(Exception):
    """Standard output is closed or cannot be written, as on a full disk."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"Standard output cannot be written: {reason}.")
        self.code = "output"
        self.exit_code = 1
        self.hint = "The command's work is done; write its output elsewhere."


def _escaped(error: UnicodeError) -> tuple[str, int]:
    """Escape a character that the encoding lacks as JSON does, so that JSON stays exact."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return json.dumps(error.object[error.start : error.end])[1:-1], error.end


codecs.register_error(_ESCAPE, _escaped)


def escape_unknown() -> None:
    """Have standard output escape characters that its encoding lacks, unless an error handler was chosen."""
    if not isinstance(sys.stdout, io.TextIOWrapper):
        return
    output = cast("io.TextIOWrapper", sys.stdout)
    if output.errors in _UNSAID:
        output.reconfigure(errors=_ESCAPE)


def read_any_input() -> None:
    """Have standard input accept any bytes, unless an error handler was chosen.

    For an unknown locale Python chooses ASCII; the input is then nearly always UTF-8, which includes ASCII.
    """
    if not isinstance(sys.stdin, io.TextIOWrapper):
        return
    source = cast("io.TextIOWrapper", sys.stdin)
    if source.errors in _UNSAID:
        narrow = codecs.lookup(source.encoding).name == "ascii"
        source.reconfigure(encoding="utf-8" if narrow else source.encoding, errors="surrogateescape")


def show(value: Any, as_json: bool, render: Callable[[Any], RenderableType]) -> None:
    """Print a result.

    Args:
        value: The result, as JSON can hold it.
        as_json: Whether to print JSON for programs.
        render: Turns the value into what people see.

    In a dry run nothing is printed.
    """
    if collected_plans() is not None:
        return
    _write(visible_json(value, indent=2) + "\n" if as_json else _rendered(render(_visible(value))))


def shortened(text: str, limit: int = 100) -> str:
    """A text on one line, shortened on a terminal and whole in a pipe.

    Args:
        text: The text; each run of white space becomes one blank.
        limit: Characters on a terminal.
    """
    line = " ".join(text.split())
    return line if len(line) <= limit or not sys.stdout.isatty() else f"{line[: limit - 1]}…"


def put(text: str) -> None:
    """Print a part of another's text as it arrives."""
    _write(visible(text, breaks=True))


def export(text: str) -> None:
    """Print a text for a file or another program: unchanged, but escaped on a terminal."""
    _write(visible(text, breaks=True) if sys.stdout.isatty() else text)


def note(text: str, *, end: str = "\n") -> None:
    """Print a message on standard error."""
    sys.stderr.write(visible(text, breaks=True) + end)
    sys.stderr.flush()


def dim_note(text: str) -> None:
    """Print a step of long work on standard error."""
    sys.stderr.write(f"\x1b[2m[{visible(text)}]\x1b[0m\n")


def confirm(question: str) -> None:
    """Ask the user to confirm.

    Raises:
        Abort: The user declined.
    """
    typer.confirm(visible(question), abort=True, err=True)


def _visible(value: Any, *, breaks: bool = True) -> Any:
    """A decoded answer without characters that a terminal would obey or hide."""
    if isinstance(value, str):
        return visible(value, breaks=breaks)
    if isinstance(value, dict):
        entries = cast("dict[str, Any]", value).items()
        return {visible(name): _visible(item, breaks=name in TEXTS) for name, item in entries}
    if isinstance(value, list):
        return [_visible(item, breaks=breaks) for item in cast("list[Any]", value)]
    return value


def _write(text: str) -> None:
    """Write to standard output.

    Raises:
        ReaderGone: The reader has closed the pipe.
        OutputLost: It cannot be written.
    """
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        raise ReaderGone from None
    except OSError as error:
        raise OutputLost(error.strerror or str(error)) from None


def flush() -> None:
    """Flush standard output; raises what `put` raises."""
    _write("")


def _rendered(value: RenderableType) -> str:
    """The text that a person sees: in colour and wrapped on a terminal, whole lines in a pipe."""
    from rich.console import Console  # noqa: PLC0415 - `--help` does without

    console = Console(highlight=False, markup=False, emoji=False, width=None if sys.stdout.isatty() else PIPE_WIDTH)
    with console.capture() as capture:  # Rich would end the process when a pipe breaks
        console.print(value)
    return capture.get()


@contextmanager
def progress_bar(title: str, as_json: bool) -> Generator[Callable[[Mapping[str, Any]], None]]:
    """A bar on standard error that follows `{done, total, stage}` events; without a terminal, a line for each stage.

    Args:
        title: What the bar says.
        as_json: Whether to print JSON for programs; nothing is shown then.
    """
    if as_json:
        yield lambda _event: None
        return
    if not sys.stderr.isatty():
        lines = _Lines(title)
        with later(LINES_AFTER_SECONDS, lines.begin):
            yield lines.follow
        return
    from rich.console import Console  # noqa: PLC0415 - `--help` does without
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn  # noqa: PLC0415 - `--help` does without

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=None)

        def follow(event: Mapping[str, Any]) -> None:
            stage = visible(str(event.get("stage") or title))
            bar.update(task, completed=event.get("done", 0), total=event.get("total"), description=stage)

        yield follow


class _Lines:
    """Prints stages as lines, after a delay."""

    def __init__(self, title: str) -> None:
        self._stage = title
        self._begun = False

    def begin(self) -> None:
        """Print the current stage, and every later one."""
        self._begun = True
        sys.stderr.write(f"thresher: {self._stage} ...\n")

    def follow(self, event: Mapping[str, Any]) -> None:
        """Take a progress event."""
        stage = str(event.get("stage") or self._stage)
        if stage != self._stage:
            self._stage = stage
            if self._begun:
                self.begin()


def complain(error: BaseException, as_json: bool) -> int:
    """Report an error that ends a command.

    Args:
        error: An error of Thresher (message, hint, code, exit_code), or an unexpected one.
        as_json: Whether to print JSON for programs: then `{"error": ...}` is printed on standard output.

    Returns:
        The exit code.
    """
    fields = _fields(error)
    if as_json:
        _write(visible_json({"error": fields}, indent=2) + "\n")
    else:
        trace = f" (trace {fields['trace']})" if fields["trace"] else ""
        note(f"thresher: {visible(fields['message'])}{trace}")
        if fields["hint"]:
            note(f"  {visible(fields['hint'])}")
    return fields["exit_code"]


def _fields(error: BaseException) -> dict[str, Any]:
    # By attribute: the two error trees share no base, so that the bridge need not import the heavier one.
    if hasattr(error, "hint") and hasattr(error, "exit_code"):
        names = {"code": "error", "message": str(error), "hint": "", "exit_code": 1, "trace": ""}
        fields = {name: getattr(error, name, default) for name, default in names.items()}
        return fields | {"hint": for_command_line(str(fields["hint"]))}
    message = f"Something unexpected went wrong: {type(error).__name__}: {error}"
    hint = "Please report it, with the command that you ran."
    return {"code": "internal", "message": message, "hint": hint, "exit_code": 1, "trace": ""}


COMMANDS: Final[Mapping[str, str]] = {
    "find_tools": "tools find",
    "describe_tools": "tools show",
    "list_tools": "tools list",
    "process_prompt": "prompt",
    "get_context": "context",
    "sql_connection_list": "db list",
    "sql_list_tables": "db tables",
    "sql_table_info": "db columns",
    "get_table_columns": "db columns",
    "query_database_schema": "db schema",
    "search_schema": "db find",
    "sql_query": "db query",
    "sql_explain": "db explain",
    "find_relations": "db relations",
    "list_repositories": "docs list",
    "retrieve_document": "docs retrieve",
    "retrieve_documents": "docs compare",
    "search_documents": "docs search",
    "read_document": "docs read",
    "index_documents": "index docs",
    "list_api_providers": "apis list",
    "search_api_docs": "apis search",
    "get_api_endpoint": "apis show",
    "call_api_endpoint": "apis call",
    "suggest_api_improvements": "apis improve",
    "get_solution_context": "solutions context",
    "set_solution_context": "solutions use",
    "list_workspaces": "solutions list",
    "list_relations": "solutions relations",
    "open_relation": "solutions open-relation",
    "update_relation": "solutions update-relation",
    "delete_relations": "solutions delete-relations",
    "list_value_lists": "solutions value-lists",
    "open_value_list": "solutions open-value-list",
    "update_value_list": "solutions update-value-list",
    "delete_value_lists": "solutions delete-value-lists",
    "undo_solution_change": "solutions undo",
}
"""The command of each tool, without `thresher`."""
_OPTIONS: Final[Mapping[str, str]] = {
    "confirm: true": "--confirm",
    "force: true": "--force",
    "items, or primary_column and foreign_column": "--item 'LEFT = RIGHT'",
    "Say items,": "Say --item,",
    "custom_values": "--value",
    "or datasource and": "or --datasource and",
    "or relation and": "or --relation and",
    "display_column": "--display-column",
    "return_column": "--return-column",
    "global_method": "--global-method",
    "such as join_type": "such as --join-type",
    "such as sort.": "such as --sort.",
    "with scope `all`": "with --scope all",
    "with `solution`": "with --solution",
}
"""The option of each argument."""

_TOOL: Final = re.compile(rf"`?\b({'|'.join(COMMANDS)})\b`?(?!=)")


def for_command_line(text: str) -> str:
    """A hint with commands in place of tools, and options in place of arguments.

    Args:
        text: A hint of Thresher.
    """
    for argument, option in _OPTIONS.items():
        text = text.replace(argument, option)
    return _TOOL.sub(lambda found: f"`thresher {COMMANDS[found[1]]}`", text)
