"""The command line's side of the control protocol: one request a connection, JSON lines.

Invariant: the standard library only. Closing the connection cancels the work.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from thresher.daemon.attaching import attach, failure
from thresher.daemon.failure import DaemonFailure
from thresher.daemon.folder import own_variables
from thresher.daemon.paths import DaemonPaths, here

TYPE_CHECKING = False  # `typing` itself costs a bridge more than all of this module
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Progress = Callable[[dict[str, Any]], None]


def request(
    paths: DaemonPaths,
    verb: str,
    arguments: Mapping[str, Any] | None = None,
    *,
    start: bool = True,
    progress: Progress | None = None,
    project: str | None = None,
    planned: Progress | None = None,
    starting: Callable[[], None] | None = None,
    noticed: Callable[[str], None] | None = None,
) -> Any:
    """Ask the daemon to do one thing and wait for the result.

    Args:
        paths: The data folder's files.
        verb: The name of the verb, the same on every face.
        arguments: Its arguments, as JSON can hold them.
        start: Whether to start a daemon when none runs.
        progress: Called with each event on the way.
        project: The folder that the client works in; this process's own by default.
        planned: Makes it a dry run: nothing of it lasts, and this is called with what a verb that writes would change.
        starting: Called if a daemon has to be started first and that takes longer than a moment.
        noticed: Called with each thing that is wrong with the `THRESHER_*` variables of this process.

    Returns:
        The result as decoded JSON.

    Raises:
        DaemonFailure: The daemon cannot be reached, or answered with an error.
    """
    link = attach(paths, "control", start=start, project=project, starting=starting)
    with link, link.makefile("rwb") as stream:
        try:
            asked = {"verb": verb, "arguments": dict(arguments or {}), "dry_run": planned is not None}
            if noticed is not None:
                asked["variables"] = own_variables()
            stream.write(json.dumps(asked).encode() + b"\n")
            stream.flush()
            for line in stream:
                event = json.loads(line)
                if noticed is not None and "notice" in event:
                    noticed(event["notice"])
                if planned is not None and "plan" in event:
                    planned(event["plan"])
                if "result" in event:
                    return event["result"]
                if "error" in event:
                    raise failure(event["error"])
                if progress is not None and "progress" in event:
                    progress(event["progress"])
        except (OSError, ValueError):
            pass  # a connection that breaks says the same as one that ends
    raise DaemonFailure(
        "The daemon ended before it had answered.", hint=f"Look into {paths.log}, then try again.", code="daemon"
    )


def ask(
    verb: str,
    arguments: Mapping[str, Any] | None = None,
    *,
    start: bool = True,
    progress: Progress | None = None,
    planned: Progress | None = None,
    starting: Callable[[], None] | None = None,
    noticed: Callable[[str], None] | None = None,
) -> Any:
    """`request` of the daemon in the data folder that the environment names."""
    return request(
        here(), verb, arguments, start=start, progress=progress, planned=planned, starting=starting, noticed=noticed
    )
