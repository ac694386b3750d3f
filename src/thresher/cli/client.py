"""How commands reach the daemon: one place for what concerns all of them.

Invariant: nothing but results goes to standard output.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from thresher.cli.output import collected_plans
from thresher.daemon import ask as ask_daemon


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
    return ask_daemon(verb, arguments, start=start, progress=progress, planned=planned)
