"""Opens a git repository of this machine, and finds the commit that is meant.

Invariant: all objects come from below its folder, read by a process that can be killed; nothing of its configuration
is read or run.
"""

from __future__ import annotations

from pathlib import Path

from thresher.core import InvalidInput
from thresher.knowledge.documents.models import Origin
from thresher.knowledge.documents.sources.objects import ObjectReader, Oversized
from thresher.knowledge.documents.sources.records import Limits
from thresher.knowledge.documents.sources.references import is_commit, target, unknown


def opened(origin: Origin, limits: Limits) -> tuple[ObjectReader, str]:
    """A repository, to be closed, and the id of the commit or tag that an origin names; empty where it has none yet.

    Raises:
        NotFound: There is no such repository, branch, tag or commit.
        InvalidInput: Its objects lie elsewhere, or it cannot be read.
    """
    root = Path(origin.location)
    if root.resolve() != root:
        raise InvalidInput(f"A link leads to {str(root)!r}.", hint="Index the folder that it leads to.")
    objects = ObjectReader(root, repr(str(root)), limits.seconds)
    try:
        return objects, _named(objects, origin)
    except BaseException:
        objects.close()
        raise


def _named(objects: ObjectReader, origin: Origin) -> str:
    found = target(origin.ref, objects.refs)
    if found is None and is_commit(origin.ref):
        ids = objects.matching(origin.ref)
        found = ids[0] if len(ids) == 1 else None
    if found is not None and not _holds(objects, found):
        found = None
    if found is None and (origin.ref or objects.refs):
        raise unknown(origin.ref, objects.refs, origin.location)
    return found or ""


def _holds(objects: ObjectReader, name: str) -> bool:
    try:
        objects.read(name, 0)
    except Oversized:
        return True
    except KeyError:
        return False
    return True
