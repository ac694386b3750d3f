"""The transactions that change a collection.

Invariant: each function is one step inside a transaction that began with `begin_write`; when it commits, postings, term
statistics, totals and vectors agree with the items, and when it does not, nothing has changed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from sqlalchemy.ext.asyncio import AsyncConnection

from thresher.search import queries
from thresher.search.arrays import run
from thresher.search.documents import Document

Stored = Mapping[int, tuple[Sequence[str], float]]
"""Id to the terms and length of an item as it stands."""


async def write_documents(connection: AsyncConnection, kind: str, model: str, documents: Sequence[Document]) -> None:
    """Insert or replace items, with postings, statistics, and those vectors that the cache holds."""
    serving, version = await _begin(connection, kind, model)
    ids = [document.entry.id for document in documents]
    stored = await _stored(connection, kind, ids)
    await _delete_postings(connection, kind, stored)
    await run(connection, queries.DELETE_VECTORS, {"kind": kind, "ids": ids})
    await _insert_items(connection, kind, version, documents)
    await _insert_vectors(connection, kind, model, documents)
    change = Counter(term for document in documents for term in document.frequencies)
    change.subtract(term for terms, _ in stored.values() for term in terms)
    length = sum(document.length for document in documents) - sum(length for _, length in stored.values())
    await _add_statistics(connection, kind, change, len(ids) - len(stored), length)
    await _serve(connection, kind, serving, model)


async def write_vectors(connection: AsyncConnection, kind: str, model: str, documents: Sequence[Document]) -> None:
    """Add the vectors of one model to items that stay as they are."""
    serving, version = await _begin(connection, kind, model)
    await _insert_vectors(connection, kind, model, documents)
    ids = [document.entry.id for document in documents]
    await run(connection, queries.RAISE_VERSIONS, {"kind": kind, "version": version, "ids": ids})
    await _serve(connection, kind, serving, model)


async def delete_items(connection: AsyncConnection, kind: str, model: str, ids: Sequence[int]) -> int:
    """Remove items with everything that hangs on them; returns how many there were."""
    serving, _ = await _begin(connection, kind, model)
    stored = await _stored(connection, kind, ids)
    if not stored:
        return 0
    await _delete_postings(connection, kind, stored)
    await run(connection, queries.DELETE_ITEMS, {"kind": kind, "ids": list(stored)})
    change: Counter[str] = Counter()
    change.subtract(term for terms, _ in stored.values() for term in terms)
    await _add_statistics(connection, kind, change, -len(stored), -sum(length for _, length in stored.values()))
    await _serve(connection, kind, serving, model)
    return len(stored)


async def _begin(connection: AsyncConnection, kind: str, model: str) -> tuple[str, int]:
    rows = await run(connection, queries.BEGIN_WRITE, {"kind": kind, "model": model})
    return rows[0][0], rows[0][1]


async def _stored(connection: AsyncConnection, kind: str, ids: Sequence[int]) -> Stored:
    rows = await run(connection, queries.OLD_TERMS, {"kind": kind, "ids": list(ids)})
    return {row[0]: (row[1], row[2]) for row in rows}


async def _delete_postings(connection: AsyncConnection, kind: str, stored: Stored) -> None:
    pairs = [(term, number) for number, (terms, _) in stored.items() for term in terms]
    if pairs:
        parameters = {"kind": kind, "terms": [term for term, _ in pairs], "ids": [number for _, number in pairs]}
        await run(connection, queries.DELETE_POSTINGS, parameters)


async def _insert_items(connection: AsyncConnection, kind: str, version: int, documents: Sequence[Document]) -> None:
    parameters = {
        "kind": kind,
        "version": version,
        "ids": [document.entry.id for document in documents],
        "owners": [document.entry.owner for document in documents],
        "facets": ["\x1f".join(sorted(document.entry.facets)) for document in documents],
        "hashes": [document.hash for document in documents],
        "terms": [" ".join(document.frequencies) for document in documents],
        "frequencies": [" ".join(map(repr, document.frequencies.values())) for document in documents],
        "lengths": [document.length for document in documents],
        "slots": [document.slots for document in documents],
    }
    await run(connection, queries.UPSERT_ITEMS, parameters)
    await run(connection, queries.INSERT_POSTINGS, parameters)


async def _insert_vectors(connection: AsyncConnection, kind: str, model: str, documents: Sequence[Document]) -> None:
    parts = [
        (document.entry.id, number, part.hash) for document in documents for number, part in enumerate(document.parts)
    ]
    parameters = {
        "kind": kind,
        "model": model,
        "ids": [part[0] for part in parts],
        "parts": [part[1] for part in parts],
        "hashes": [part[2] for part in parts],
        "distinct": _distinct(part[2] for part in parts),
    }
    await run(connection, queries.INSERT_VECTORS, parameters)


async def _add_statistics(
    connection: AsyncConnection, kind: str, change: Counter[str], items: int, length: float
) -> None:
    changed = sorted(term for term, difference in change.items() if difference)
    if changed:
        parameters = {"kind": kind, "terms": changed, "changes": [change[term] for term in changed]}
        await run(connection, queries.ADD_STATISTICS, parameters)
    if fewer := [term for term in changed if change[term] < 0]:
        await run(connection, queries.DROP_STATISTICS, {"kind": kind, "terms": fewer})
    await run(connection, queries.ADD_TOTALS, {"kind": kind, "items": items, "length": length})


async def _serve(connection: AsyncConnection, kind: str, serving: str, model: str) -> None:
    """Let the running model serve as soon as all items have its vectors; the old one's then go."""
    if model and serving != model and await run(connection, queries.FLIP, {"kind": kind, "model": model}):
        await run(connection, queries.DELETE_OTHER_MODELS, {"kind": kind, "model": model})


def _distinct(hashes: Iterable[bytes]) -> list[bytes]:
    return list(dict.fromkeys(hashes))
