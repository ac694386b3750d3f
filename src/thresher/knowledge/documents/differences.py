"""What a source has against what is stored, and in which portions it is read.

Invariant: pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from thresher.knowledge.documents.models import SourceFile
from thresher.knowledge.documents.preparing import FORMAT
from thresher.knowledge.documents.queries import Refused, Standing

BATCH_BYTES: Final = 1 << 20
"""Bytes of files that are prepared, and whose texts are held, at once; a single larger file is a batch of its own."""
BATCH_FILES: Final = 64


@dataclass(frozen=True, slots=True)
class Difference:
    """What a source has against what is stored.

    Attributes:
        read: Files to read.
        finish: Versions that are stored whole and not current yet: an earlier run was ended before that.
        gone: Current versions of files that are no longer there.
        stale: Versions that are not current and never will be.
        refused: Files that an earlier run could not read, unchanged.
        kept: How many are as they were.
    """

    read: tuple[SourceFile, ...]
    finish: tuple[Standing, ...]
    gone: tuple[Standing, ...]
    stale: tuple[Standing, ...]
    refused: tuple[Refused, ...]
    kept: int


def difference(
    files: Iterable[SourceFile], stored: Sequence[Standing], unreadable: Mapping[str, Refused] = MappingProxyType({})
) -> Difference:
    """Compare by path and blob id; what another edition of the readers made counts as changed.

    Args:
        files: That the source lists.
        stored: Versions that the database holds.
        unreadable: By path, what an earlier run could not read.
    """
    current = {one.path: one for one in stored if one.current}
    others = {(one.path, one.blob): one for one in stored if not one.current and one.format == FORMAT}
    read: list[SourceFile] = []
    finish: list[Standing] = []
    again: list[Refused] = []
    paths: set[str] = set()
    for file in files:
        paths.add(file.path)
        known = current.get(file.path)
        if known is not None and (known.blob, known.format) == (file.blob, FORMAT):
            continue
        if (refused := unreadable.get(file.path)) is not None and (refused.blob, refused.format) == (file.blob, FORMAT):
            again.append(refused)
        elif (ready := others.get((file.path, file.blob))) is not None:
            finish.append(ready)
        else:
            read.append(file)
    kept = len(paths) - len(read) - len(finish)
    there = paths - {one.path for one in again}
    finished = {one.id for one in finish}
    return Difference(
        tuple(read),
        tuple(finish),
        tuple(one for path, one in current.items() if path not in there),
        tuple(one for one in stored if not one.current and one.id not in finished),
        tuple(again),
        kept,
    )


def batches(files: Sequence[SourceFile]) -> list[list[SourceFile]]:
    """Files in order, grouped into what is held at once."""
    groups: list[list[SourceFile]] = []
    size = 0
    for file in files:
        size += file.size
        if groups and len(groups[-1]) < BATCH_FILES and size <= BATCH_BYTES:
            groups[-1].append(file)
        else:
            groups.append([file])
            size = file.size
    return groups
