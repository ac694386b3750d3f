"""The log of API searches and of endpoints that were read.

Invariant: no answer waits for its row, and none fails by it. Of a query only its words are kept, folded, without their
secrets, and not at all where the setting says so.
"""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

from thresher.core import Caller, Settings, Tenant, ThresherError, current_trace, mask_text
from thresher.knowledge.apis.models import EndpointAnswer, FoundEndpoint, FoundEndpoints
from thresher.knowledge.apis.queries.usage_log import ReadRow, SearchRow, write_usage
from thresher.store import Database, Journal, clean

_CHARACTERS: Final = 300
"""Of a query that is kept: a longer one is a pasted text, and hardly asked twice."""
_PREFIX: Final = "op_"
_HIDDEN: Final = "off"


@dataclass(frozen=True, slots=True)
class _Page:
    """A later page of a search: its hits belong to the row of the first."""

    row: SearchRow


_Row: TypeAlias = SearchRow | _Page | ReadRow


class UsageLog:
    """Both logs of one process."""

    def __init__(self, database: Database, settings: Settings) -> None:
        self._database = database
        self._words = settings.api_queries
        self._journal: Journal[_Row] = Journal(self._write)

    @property
    def lost(self) -> int:
        """Rows that this process could not write."""
        return self._journal.lost

    def searched(
        self,
        caller: Caller,
        query: str,
        found: FoundEndpoints | None,
        *,
        duration_ms: float,
        continued: bool = False,
        error: str = "",
        providers: Sequence[str] = (),
    ) -> None:
        """Note a search, unless the assistant asked every kind of source and this one has nothing; never waits.

        Args:
            caller: Who searched.
            query: As asked.
            found: The answer; None where there was none.
            duration_ms: How long it took.
            continued: Whether a cursor asked for a later page.
            error: The code of what it failed with.
            providers: Those that were asked for, where there is no answer.
        """
        if caller.assisted and found is not None and not _numbers(found):
            return
        row = SearchRow(
            at=_now(),
            owner=caller.user,
            client=clean(caller.client),
            trace_id=current_trace(),
            mode=_mode(query, found),
            query=folded(query) if self._words != _HIDDEN else None,
            providers=[clean(name) for name in _concerned(found, providers)],
            hits=_numbers(found),
            duration_ms=duration_ms,
            error=error,
        )
        if not continued or error:
            self._journal.add(caller.tenant, row)
        elif row.hits:
            self._journal.add(caller.tenant, _Page(row))

    def read(
        self,
        caller: Caller,
        endpoint: FoundEndpoint | None,
        *,
        duration_ms: float,
        error: str = "",
        provider: str = "",
    ) -> None:
        """Note that an endpoint was read, or could not be; never waits.

        Args:
            caller: Who read.
            endpoint: Which; None where none was found.
            duration_ms: How long it took.
            error: The code of what it failed with.
            provider: The one that was asked for, where there is no endpoint.
        """
        row = ReadRow(
            at=_now(),
            owner=caller.user,
            client=clean(caller.client),
            trace_id=current_trace(),
            endpoint=None if endpoint is None else number_of(endpoint.id),
            operation="" if endpoint is None else clean(f"{endpoint.method} {endpoint.path}"),
            provider=clean(provider if endpoint is None else endpoint.provider),
            duration_ms=duration_ms,
            error=error,
        )
        self._journal.add(caller.tenant, row)

    async def note_search(
        self,
        caller: Caller,
        query: str,
        answering: Awaitable[FoundEndpoints],
        *,
        continued: bool = False,
        providers: Sequence[str] = (),
    ) -> FoundEndpoints:
        """Wait for the answer of a search, and note what became of it.

        Raises:
            ThresherError: As the search does.
        """
        began = time.perf_counter()
        try:
            found = await answering
        except ThresherError as error:
            self.searched(caller, query, None, duration_ms=_ms_since(began), error=error.code, providers=providers)
            raise
        self.searched(caller, query, found, duration_ms=_ms_since(began), continued=continued)
        return found

    async def note_read(
        self, caller: Caller, answering: Awaitable[EndpointAnswer], *, provider: str = ""
    ) -> EndpointAnswer:
        """Wait until an endpoint is explained, and note what became of it.

        Raises:
            ThresherError: As the explanation does.
        """
        began = time.perf_counter()
        try:
            answer = await answering
        except ThresherError as error:
            self.read(caller, None, duration_ms=_ms_since(began), error=error.code, provider=provider)
            raise
        self.read(caller, answer.endpoint, duration_ms=_ms_since(began))
        return answer

    async def settle(self) -> None:
        """Wait until every row is written, or given up with a warning."""
        await self._journal.settle()

    async def _write(self, tenant: Tenant, rows: Sequence[_Row]) -> None:
        await write_usage(
            self._database,
            tenant,
            [row for row in rows if isinstance(row, SearchRow)],
            _joined([row.row for row in rows if isinstance(row, _Page)]),
            [row for row in rows if isinstance(row, ReadRow)],
        )


def folded(query: str) -> str:
    """A query as it is counted: without its secrets, its case and what stands at its end."""
    words = " ".join(mask_text(clean(query[: 4 * _CHARACTERS])).split()).lower().rstrip(" .?!")
    return words if len(words) <= _CHARACTERS else f"{words[: _CHARACTERS - 1]}…"


def number_of(endpoint: str) -> int | None:
    """The number in an endpoint's id; None where it is none."""
    try:
        return int(endpoint.removeprefix(_PREFIX), 16)
    except ValueError:
        return None


def id_of(number: int) -> str:
    """The endpoint's id that a number stands for."""
    return f"{_PREFIX}{number:012x}"


def _mode(query: str, found: FoundEndpoints | None) -> Literal["search", "browse"]:
    if found is not None:
        return found.mode
    return "search" if query.strip() else "browse"


def _concerned(found: FoundEndpoints | None, asked: Sequence[str]) -> Sequence[str]:
    """Names of the providers that a search is about: those that it was kept to, else those of its hits."""
    if found is None:
        return sorted(set(asked))
    return sorted(set(found.providers) or {endpoint.provider for endpoint in found.endpoints})


def _numbers(found: FoundEndpoints | None) -> list[int]:
    endpoints = () if found is None else found.endpoints
    return [number for endpoint in endpoints if (number := number_of(endpoint.id)) is not None]


def _joined(pages: Sequence[SearchRow]) -> list[SearchRow]:
    """Pages of one search as one: a row is changed once in a statement."""
    joined: dict[tuple[str | None, str, str | None], SearchRow] = {}
    for page in pages:
        key = (page.owner, page.client, page.query)
        first = joined.get(key)
        joined[key] = page if first is None else replace(first, hits=[*first.hits, *page.hits])
    return list(joined.values())


def _ms_since(began: float) -> float:
    return (time.perf_counter() - began) * 1000


def _now() -> dt.datetime:
    return dt.datetime.now(dt.UTC)
