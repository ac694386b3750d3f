"""How commands reach the daemon.

Invariant: only results go to standard output; with `--json` standard error is silent, too. A person is asked
to confirm a change only on a terminal; elsewhere the command ends with the verb's own refusal.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from thresher.cli.output import collected_plans, confirm, is_for_programs, note, progress_bar
from thresher.daemon import DaemonFailure
from thresher.daemon import ask as ask_daemon

_noticed: set[str] = set()


def ask(
    verb: str,
    arguments: Mapping[str, Any] | None = None,
    *,
    start: bool = True,
    progress: Callable[[dict[str, Any]], None] | None = None,
) -> Any:
    """Have the daemon run one verb, or rehearse it in a dry run; see `thresher.daemon.ask`.

    Raises:
        DaemonFailure: The daemon cannot be reached, or answered with an error.
    """
    plans = collected_plans()
    planned = None if plans is None else plans.append
    starting, noticed = (None, None) if is_for_programs() else (_starting, _notice)
    return ask_daemon(
        verb, arguments, start=start, progress=progress, planned=planned, starting=starting, noticed=noticed
    )


def for_each(names: Iterable[str], change: Callable[[str], object]) -> None:
    """Change several things in order; the first failure ends it and names those that are changed already.

    Args:
        names: The things; a name that is repeated counts once.
        change: Changes one of them.

    Raises:
        DaemonFailure: As `change` raises it.
    """
    done: list[str] = []
    for name in dict.fromkeys(names):
        try:
            change(name)
        except DaemonFailure as failure:
            if not done or collected_plans() is not None:
                raise
            message = f"{failure.message} Done before it: {', '.join(done)}."
            raise DaemonFailure(
                message, hint=failure.hint, code=failure.code, exit_code=failure.exit_code, trace=failure.trace
            ) from failure
        done.append(name)


def follow_job(job: int, title: str, *, as_json: bool) -> dict[str, Any]:
    """Wait for the end of a job. After Ctrl-C the job goes on, and the user is told how to follow or cancel it.

    Args:
        job: Its number.
        title: What the progress bar says.
        as_json: Whether to print JSON for programs.

    Returns:
        The finished job.
    """
    with progress_bar(title, as_json) as follow:
        try:
            return ask("follow_job", {"job": job}, progress=follow)
        except KeyboardInterrupt:
            note(f"\nthresher: job {job} continues. Follow it: thresher jobs show {job} --wait")
            note(f"  Cancel it: thresher jobs cancel {job}")
            raise


def _starting() -> None:
    note("thresher: starting the daemon ...")


def _notice(text: str) -> None:
    """Print a notice once for each command, however many requests it makes."""
    if text not in _noticed:
        _noticed.add(text)
        note(f"thresher: {text}")


UNCONFIRMED = "unconfirmed"
"""Error code of a change that a person must confirm first."""


def ask_confirmed(verb: str, arguments: Mapping[str, Any], *, as_json: bool) -> Any:
    """Have the daemon run a verb; if it asks for confirmation and the user agrees, run it confirmed.

    Args:
        verb: The name of the verb.
        arguments: Its arguments.
        as_json: Whether to print JSON for programs, which are not asked.

    Raises:
        DaemonFailure: The verb failed, or was not confirmed.
        Abort: The user declined.
    """
    try:
        return ask(verb, arguments)
    except DaemonFailure as refusal:
        if refusal.code != UNCONFIRMED or as_json or not sys.stdin.isatty():
            raise
        confirm(f"{refusal.message} Do it?")
    return ask(verb, {**arguments, "confirm": True})


def without_none(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments that were given; the verb decides about the others."""
    return {name: value for name, value in arguments.items() if value is not None}
