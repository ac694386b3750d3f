"""Brings a snapshot up to date without copying it, where a collection has only grown.

While a repository is indexed, each batch adds items behind all others, and later vectors behind all others. A snapshot
of 100,000 vectors takes a quarter of a second to make anew, which is longer than a search waits for it.

Invariant: what `grown` gives equals the snapshot made anew; a snapshot that was handed out never changes, since only
room behind its end is written, and by one successor only.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from thresher.search.arrays import Floats, Ids
from thresher.search.bm25 import rows_of
from thresher.search.profiles import Profile
from thresher.search.snapshot import EVERYBODY, Room, Rows, Snapshot

_SPARE: Final = 8
"""An eighth of what is there is kept free behind it."""
_LEAST: Final = 1024


@dataclass(frozen=True, slots=True)
class _News:
    """What has come.

    Attributes:
        fresh: Places in the changed rows of items that were not there before.
        holders: Rows of the items that got vectors, in the new order.
        starts: Where the vectors of each begin, in the new order.
    """

    fresh: Ids
    holders: Ids
    starts: Ids


def grown(old: Snapshot, version: int, changed: Rows, profile: Profile) -> Snapshot | None:
    """The state after a delta that took nothing away; None where it did more than add at the end.

    Args:
        old: The state before.
        version: The version read before the delta.
        changed: Items written since `old.version`, complete; none has gone.
        profile: Of the kind.
    """
    if profile.group_prefix or not len(old.rows.ids) or (news := _news(old, changed)) is None:
        return None
    rows, fresh = old.rows, [int(place) for place in news.fresh]
    vectors, room = _extended(rows, changed.vectors)
    labels = [changed.facets[place] for place in fresh]
    owners = [changed.owners[place] for place in fresh]
    codes = [EVERYBODY if owner is None else old.owner_names[owner] for owner in owners]
    return replace(
        old,
        version=version,
        rows=Rows(
            np.concatenate([rows.ids, changed.ids[news.fresh]]),
            [*rows.owners, *owners],
            [*rows.facets, *labels],
            [*rows.slots, *(changed.slots[place] for place in fresh)],
            np.concatenate([rows.vector_ids, changed.vector_ids]),
            vectors,
            room,
        ),
        owner_codes=np.concatenate([old.owner_codes, np.array(codes, np.int32)]),
        facet_rows=_labelled(old, labels),
        groups=np.concatenate([old.groups, np.full(len(fresh), -1, np.int64)]),
        starts=np.concatenate([old.starts, news.starts]),
        holders=np.concatenate([old.holders, news.holders]),
    )


def _news(old: Snapshot, changed: Rows) -> _News | None:
    """What to add at the end, if that is all."""
    known, at = rows_of(changed.ids, old.rows.ids)
    fresh = np.setdiff1d(np.arange(len(changed.ids)), known, assume_unique=True)
    ids = np.concatenate([old.rows.ids, changed.ids[fresh]])
    with_vectors, starts = np.unique(changed.vector_ids, return_index=True)
    _, holders = rows_of(with_vectors, ids)
    adds = (
        _follows(changed.ids[fresh], old.rows.ids)
        and _follows(holders, old.holders)
        and len(holders) == len(with_vectors)
        and not np.isin(at, old.holders).any()
        and all(_same(old.rows, int(row), changed, int(place)) for place, row in zip(known, at, strict=True))
        and all(owner is None or owner in old.owner_names for owner in changed.owners)
    )
    return _News(fresh, holders, starts.astype(np.int64) + len(old.rows.vectors)) if adds else None


def _follows(later: Ids, earlier: Ids) -> bool:
    return not len(later) or not len(earlier) or bool(later[0] > earlier[-1])


def _same(rows: Rows, row: int, changed: Rows, place: int) -> bool:
    """Whether an item is what it was, but for its vectors."""
    return (rows.owners[row], rows.facets[row], rows.slots[row]) == (
        changed.owners[place],
        changed.facets[place],
        changed.slots[place],
    )


def _labelled(old: Snapshot, labels: list[frozenset[str]]) -> dict[str, Ids]:
    more: dict[str, list[int]] = {}
    for row, found in enumerate(labels, start=len(old.rows.ids)):
        for label in found:
            more.setdefault(label, []).append(row)
    rows = dict(old.facet_rows)
    for label, added in more.items():
        places = np.array(added, np.int64)
        rows[label] = np.concatenate([rows[label], places]) if label in rows else places
    return rows


def _extended(rows: Rows, more: Floats) -> tuple[Floats, Room | None]:
    """The vectors with others behind them, in the room behind them where there is some that nobody took."""
    vectors, have, need = rows.vectors, len(rows.vectors), len(rows.vectors) + len(more)
    if not len(more):
        return vectors, rows.room
    if not have:
        return more, None
    room = rows.room
    if room is None or room.used != have or need > len(room.vectors):
        room = Room(np.empty((need + max(need // _SPARE, _LEAST), vectors.shape[1]), np.float32), have)
        room.vectors[:have] = vectors
    room.vectors[have:need] = more
    room.used = need
    return room.vectors[:need], room
