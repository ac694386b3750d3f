"""What lies in the places of packs, read again when the file system says that something has changed.

Invariant: the same object is given for as long as nothing has changed; blocks for files, so it is called in a thread.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass, field, replace
from typing import Final

from thresher.knowledge.intents.discovery import discover
from thresher.knowledge.intents.models import Found
from thresher.knowledge.intents.sources import Place, Sources
from thresher.knowledge.intents.watching import Watch

_EVERY: Final = 0.5
"""Least seconds between two looks at the same places: many callers share those that are nobody's own."""
_PROJECTS: Final = 64


@dataclass(slots=True)
class _Seen:
    watch: Watch
    found: Found | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)


class Shelf:
    """The packs on disk.

    Args:
        sources: Where packs come from, apart from projects.
    """

    def __init__(self, sources: Sources) -> None:
        self._sources = sources
        self._lock = threading.Lock()
        self._seen: OrderedDict[str | None, _Seen] = OrderedDict()

    def found(self, project: str | None) -> Found:
        """What lies there now.

        Args:
            project: The owner's project folder, empty for none; None for callers who own neither user nor project.
        """
        seen = self._of(project)
        with seen.lock:
            if seen.found is None or (seen.watch.is_due() and seen.watch.changed()):
                if seen.found is None:
                    seen.watch.changed()  # before the reading, so that no change in between is missed
                found = discover(self._places(project), seen.found)
                seen.found = replace(found, problems=(*self._sources.problems, *found.problems))
            return seen.found

    def forget(self, project: str | None) -> None:
        """Read everything again at the next call."""
        with self._lock:
            self._seen.pop(project, None)

    def _of(self, project: str | None) -> _Seen:
        with self._lock:
            if (seen := self._seen.get(project)) is None:
                seen = self._seen[project] = _Seen(Watch(self._places(project), every=_EVERY))
            self._seen.move_to_end(project)
            while len(self._seen) > _PROJECTS:
                self._seen.popitem(last=False)
            return seen

    def _places(self, project: str | None) -> tuple[Place, ...]:
        if project is None:
            return replace(self._sources, home=None).places()
        return self._sources.places(project)
