"""A watch on the folders of one source, in a thread of its own.

Invariant: the thread ends soon after `close`; what it reports is handled on the event loop.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final

from watchfiles import Change, watch

from thresher.knowledge.documents.sources import WatchedFolders

QUIET_MILLISECONDS: Final = 400
"""Changes are reported when nothing more has changed for this long: an editor writes a file in several steps."""
LONGEST_MILLISECONDS: Final = 3_000
"""Changes that never stop are reported after this long."""


class FolderWatch:
    """Reports changes until it is closed.

    Args:
        watched: The folders.
        changed: Called on the event loop after changes; True if other folders must be watched by now.
        failed: Called on the event loop if the system refuses the watch, with the reason.
    """

    def __init__(self, watched: WatchedFolders, changed: Callable[[bool], None], failed: Callable[[str], None]) -> None:
        self._watched, self._changed, self._failed = watched, changed, failed
        self._loop = asyncio.get_running_loop()
        self._stop = threading.Event()
        self._begun = asyncio.Event()
        threading.Thread(target=self._run, name="watch of a source", daemon=True).start()

    async def begun(self) -> None:
        """Wait until changes are seen, or the watch has failed."""
        await self._begun.wait()

    def close(self) -> None:
        """End the watch; nothing is reported afterwards."""
        self._stop.set()

    def _run(self) -> None:
        try:
            self._look(self._watched.folders)
        except (OSError, RuntimeError) as error:  # the system's table of watches is full, or a folder is gone
            reason = str(error)
            self._tell(lambda: self._failed(reason))
        self._tell(self._begun.set)

    def _look(self, folders: tuple[Path, ...]) -> None:
        steps = watch(
            *folders, watch_filter=None, recursive=False, debounce=LONGEST_MILLISECONDS, step=QUIET_MILLISECONDS,
            stop_event=self._stop, rust_timeout=QUIET_MILLISECONDS, yield_on_timeout=True, raise_interrupt=False,
            ignore_permission_denied=True,
        )  # fmt: skip
        for changes in steps:
            if not self._begun.is_set():
                self._tell(self._begun.set)
            if changes and any(self._watched.matters(path) for _, path in changes):
                new = (path for change, path in changes if change is Change.added or path.endswith(".gitignore"))
                gone = (Change.deleted, str(folders[0])) in changes  # another one may be in its place
                reshaped = gone or any(map(self._watched.reshapes, new))
                self._tell(lambda reshaped=reshaped: self._changed(reshaped))

    def _tell(self, call: Callable[[], None]) -> None:
        def told() -> None:
            if not self._stop.is_set():
                call()

        try:
            self._loop.call_soon_threadsafe(told)
        except RuntimeError:  # the loop is closed: the process ends
            self._stop.set()
