"""Traits of operations that the ranking uses beside their scores, as columns.

Invariant: pure; rows are in the order of the operations' row ids and never change.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, cast

import numpy as np
from numpy.typing import NDArray

from thresher.knowledge.apis.cache import LocatedOperation
from thresher.knowledge.apis.heads import Brief, Operations, ProviderHead, VersionHead
from thresher.knowledge.apis.ingestion.paths import ends_in_parameter, literals, parameters, spaced
from thresher.knowledge.apis.search.actions import ACTIONS, actions_of
from thresher.search import Bools, Floats, Ids, terms

_PREVIEW: Final = re.compile(r"/v?\d+(?:alpha|beta)\d*(?:/|$)|/(?:unstable|experimental|preview|alpha|beta)/", re.I)
_VERSION: Final = re.compile(r"/v(\d+)(?:(alpha|beta)(\d*))?(?=/|$)", re.I)
_RETIRED: Final = re.compile(r"\bdeprecated\b|\bbeing removed\b|\bhas been removed\b|\bno longer supported\b", re.I)
_RETIRED_WITHIN: Final = 240
_SPECIAL: Final = frozenset(
    "watch status bulk batch collection async scale history count export import preview validate".split()  # noqa: SIM905 - a text is easier to read
)
"""Words of variants of an operation that also exists without them."""
_GENERAL: Final = frozenset({"watch", "status"})
"""Segments that distinguish a variant from the operation beside it."""
_BULK: Final = frozenset({"bulk", "batch", "collection"})
BULK, STATUS, WATCH = range(3)
_PLACES: Final = frozenset({"namespaces", "organizations", "orgs", "tenants", "workspaces"})
"""Segments that only say where a thing is."""


@dataclass(frozen=True, slots=True)
class OperationTraits:
    """Operations as columns, one row each.

    Attributes:
        found: The operations.
        ids: int64 (n,), row ids, sorted.
        providers: int64 (n,), ids of providers.
        actions: float32 (n, actions), how well each performs each action.
        item: Whether the path names one thing.
        reads: Whether it is a GET.
        wide: Whether it also exists for one place only.
        parameters: float32 (n,), number of path parameters.
        depth: float32 (n,), number of literals in the path.
        variants: float32 (n, 3), whether it is for many at once, for a status only, or for watching changes.
        retired: Whether it is deprecated.
        preview: Whether it is not stable yet.
        older: Whether a newer version of the same operation is among the rows.
        groups: int64 (n,), equal for operations on the same resource.
        titles: Terms of the title.
        paths: Terms of the path's literals.
        last: Terms of the path's last literal.
        special: Words of the title and path that mark a variant.
    """

    found: tuple[LocatedOperation, ...]
    ids: Ids
    providers: Ids
    actions: Floats
    item: Bools
    reads: Bools
    wide: Bools
    parameters: Floats
    depth: Floats
    variants: Floats
    retired: Bools
    preview: Bools
    older: Bools
    groups: Ids
    titles: tuple[frozenset[str], ...]
    paths: tuple[frozenset[str], ...]
    last: tuple[frozenset[str], ...]
    special: tuple[frozenset[str], ...]

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.found)

    def rows_of(self, ids: Ids) -> NDArray[np.int64]:
        """Return the row of each id, -1 if it is unknown; int64, in the given order."""
        if not len(self.ids):
            return np.full(len(ids), -1, np.int64)
        places = np.minimum(np.searchsorted(self.ids, ids), len(self.ids) - 1)
        return np.where(self.ids[places] == ids, places, -1)


def traits_of(parts: Iterable[tuple[ProviderHead, VersionHead, Operations]]) -> OperationTraits:
    """Return the traits of the operations of some versions."""
    found = [LocatedOperation(provider, version, brief) for provider, version, held in parts for brief in held.briefs]
    found.sort(key=lambda one: one.brief.id)
    titles = [one.brief.title for one in found]
    paths = [one.brief.path for one in found]
    words = [frozenset(terms(" ".join(map(spaced, literals(path))))) for path in paths]
    special = tuple(
        frozenset(spaced(f"{name} {path}").lower().split()) & _SPECIAL for name, path in zip(titles, paths, strict=True)
    )
    variants = [
        (bool(one & _BULK), literals(path)[-1:] == ("status",), "watch" in literals(path)[:-1])
        for path, one in zip(paths, special, strict=True)
    ]
    return OperationTraits(
        tuple(found),
        np.array([one.brief.id for one in found], np.int64),
        np.array([one.provider.id for one in found], np.int64),
        np.array(
            [actions_of(one.brief.method, one.brief.path, name) for one, name in zip(found, titles, strict=True)],
            np.float32,
        ).reshape(len(found), ACTIONS),
        np.array([ends_in_parameter(path) for path in paths], np.bool_),
        np.array([one.brief.method == "GET" for one in found], np.bool_),
        _wide(found),
        np.array([len(parameters(path)) for path in paths], np.float32),
        np.array([len(literals(path)) for path in paths], np.float32),
        np.array(variants, np.float32).reshape(-1, 3),
        np.array([retired(one.brief) for one in found], np.bool_),
        np.array([_PREVIEW.search(path) is not None for path in paths], np.bool_),
        _older(found),
        _groups(found),
        tuple(frozenset(terms(name)) for name in titles),
        tuple(words),
        tuple(frozenset(terms(spaced(last))) for path in paths for last in [(literals(path) or ("",))[-1]]),
        special,
    )


def numbers(values: Ids) -> list[int]:
    """Return the values of a column."""
    return cast("list[int]", values.tolist())


def retired(brief: Brief) -> bool:
    """Return whether an operation is deprecated, by its flag or its first words."""
    return brief.deprecated or _RETIRED.search(f"{brief.summary} {brief.description[:_RETIRED_WITHIN]}") is not None


def _older(found: Sequence[LocatedOperation]) -> Bools:
    """Return which operations have a newer twin that differs only in the version in its path."""
    newest: dict[tuple[int, str, str], tuple[int, int, int]] = {}
    keys = [(one.provider.id, one.brief.method, _VERSION.sub("/v", one.brief.path)) for one in found]
    ages = [_age(one.brief.path) for one in found]
    for key, age in zip(keys, ages, strict=True):
        newest[key] = max(newest.get(key, age), age)
    return np.array([age < newest[key] for key, age in zip(keys, ages, strict=True)], np.bool_)


def _wide(found: Sequence[LocatedOperation]) -> Bools:
    """Return which operations also exist for one place only: `/pods` beside `/namespaces/{namespace}/pods`."""
    most: dict[tuple[object, ...], int] = {}
    keys = [
        (
            one.provider.id,
            one.brief.method,
            tuple(part for part in literals(one.brief.path) if part not in _PLACES),
            ends_in_parameter(one.brief.path),
        )
        for one in found
    ]
    counts = [len(parameters(one.brief.path)) for one in found]
    for key, count in zip(keys, counts, strict=True):
        most[key] = max(most.get(key, 0), count)
    return np.array([count < most[key] for key, count in zip(keys, counts, strict=True)], np.bool_)


def _age(path: str) -> tuple[int, int, int]:
    """Return a sort key: preview before stable, then the number."""
    last = None
    versions = list(_VERSION.finditer(path))
    if not versions:
        return (0, 0, 0)
    last = versions[-1]
    stage = {"": 2, "beta": 1, "alpha": 0}[(last[2] or "").lower()]
    return (stage, int(last[1]), int(last[3] or 0))


def _groups(found: Sequence[LocatedOperation]) -> Ids:
    numbers: dict[tuple[int, tuple[str, ...]], int] = {}
    keys = [
        (one.provider.id, tuple(part for part in literals(one.brief.path) if part not in _GENERAL)) for one in found
    ]
    return np.array([numbers.setdefault(key, len(numbers)) for key in keys], np.int64)
