"""How commands reach the daemon: one place for what concerns all of them.

Invariant: nothing but results goes to standard output; with `--json` standard error is silent, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from thresher.cli.output import collected_plans, is_for_programs, note, progress_bar
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
    """Have the daemon do one thing, or rehearse it in a dry run; see `thresher.daemon.ask`.

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
    """Change one thing after the other; a failure ends it, and says which of them are changed by then.

    Args:
        names: The things; each is changed once.
        change: Has the daemon change one.

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
    """Wait for the end of a job; whoever stops waiting is told that it goes on.

    Args:
        job: Its number.
        title: What is being done.
        as_json: Whether a program reads the output.

    Returns:
        The job as it ended.
    """
    with progress_bar(title, as_json) as follow:
        try:
            return ask("follow_job", {"job": job}, progress=follow)
        except KeyboardInterrupt:
            note(f"\nthresher: job {job} goes on. Watch it: thresher jobs show {job} --wait")
            note(f"  End it: thresher jobs cancel {job}")
            raise


def _starting() -> None:
    note("thresher: starting the daemon ...")


def _notice(text: str) -> None:
    """Once for each command, whatever the number of its requests."""
    if text not in _noticed:
        _noticed.add(text)
        note(f"thresher: {text}")
