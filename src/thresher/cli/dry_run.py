"""`--dry-run`: the option of every command that writes, and how a plan is shown.

Invariant: in a dry run every request to the daemon is a rehearsal, files are not written, and the command's own answer
is replaced by what would be different.
"""

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from thresher.cli.output import rehearsing, shortened, show

if TYPE_CHECKING:
    from rich.console import RenderableType

Plan = Mapping[str, Any]

DryRun = Annotated[bool, typer.Option("--dry-run", help="Show what would be different, and change nothing.")]

_DETAIL = 160
"""Characters of a value; `--json` has all of it."""
_MARKS = {"added": ("+", "green"), "removed": ("-", "red"), "changed": ("~", "yellow")}


def writes(command: Callable[..., None], *, files: bool = False) -> Callable[..., None]:
    """A command with the option `--dry-run`.

    Args:
        command: The command; it has the option `--json`.
        files: Whether it writes files itself, without the daemon.
    """

    @functools.wraps(command)
    def run(*args: Any, dry_run: bool = False, **options: Any) -> None:
        if not dry_run:
            command(*args, **options)
            return
        as_json = bool(options.get("as_json"))
        code = 0
        with rehearsing() as plans, _files_rehearsed(plans) if files else nullcontext():
            try:
                command(*args, **options)
            except typer.Exit as ended:
                code = ended.exit_code
        show({"dry_run": True, "plans": plans}, as_json, _planned)
        if code:
            raise typer.Exit(code)

    signature = inspect.signature(command, eval_str=True)  # a wrapper is looked at without the module of its command
    option = inspect.Parameter("dry_run", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=DryRun)
    run.__signature__ = signature.replace(parameters=[*signature.parameters.values(), option])  # pyright: ignore[reportAttributeAccessIssue] - what inspect reads
    return run


writes_files = functools.partial(writes, files=True)
"""The same for a command that writes files itself."""


def _files_rehearsed(plans: list[dict[str, Any]]) -> AbstractContextManager[None]:
    from thresher.knowledge.intents import rehearsed_files  # noqa: PLC0415 - `--help` does without what it imports

    def note(change: dict[str, Any], diff: str) -> None:
        plans.append({"changes": [change], "checked": [], "left_out": [], "result": {"diff": diff}})

    return rehearsed_files(note)


def _planned(answer: Mapping[str, Any]) -> RenderableType:
    """Every difference on lines of its own, then what would be left out, and what was checked."""
    from rich.console import Group  # noqa: PLC0415 - `--help` does without
    from rich.text import Text  # noqa: PLC0415 - as above

    plans: Sequence[Plan] = answer["plans"]
    lines = [line for plan in plans for line in _lines(plan)]
    head = "Dry run: nothing was changed." if lines else "Dry run: nothing would be different."
    checked = [Text(f"checked: {said}", "dim") for plan in plans for said in plan["checked"]]
    left_out = [Text(f"left out: {reason}", "yellow") for plan in plans for reason in plan["left_out"]]
    return Group(Text(head, "bold"), *lines, *left_out, *checked)


def _lines(plan: Plan) -> list[Any]:
    from rich.text import Text  # noqa: PLC0415 - `--help` does without

    lines: list[Text] = []
    for change in plan["changes"]:
        mark, style = _MARKS[change["change"]]
        lines.append(Text(f"{mark} {change['what']} {change['name']}".rstrip(), style))
        lines += [Text(f"    {text}") for text in _details(change)]
    for name, value in _result(plan).items():
        if diff := value if name == "diff" else _result({"result": value}).get("diff", ""):
            lines += [Text(line, {"+": "green", "-": "red"}.get(line[:1], "")) for line in str(diff).splitlines()]
        elif value not in (None, "", [], {}):
            lines.append(Text(f"    {name}: {_short(value)}"))
    return lines


def _result(plan: Plan) -> Mapping[str, Any]:
    result = plan.get("result")
    return cast("Mapping[str, Any]", result) if isinstance(result, Mapping) else {}


def _details(change: Mapping[str, Any]) -> list[str]:
    before, after = change["before"], change["after"]
    if change["change"] == "changed":
        return [f"{name}: {_short(before.get(name))} -> {_short(value)}" for name, value in after.items()]
    row = after if change["change"] == "added" else before
    return [f"{name}: {_short(value)}" for name, value in row.items() if value not in (None, "", [], 0, False)]


def _short(value: Any) -> str:
    return shortened(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False), _DETAIL)
