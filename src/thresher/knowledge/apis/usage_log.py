"""The log of API searches and endpoint reads.

Invariant: no answer waits for its log row or fails because of it. Of a query only the text is kept, folded and without
secrets, or not at all if the settings say so.
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
from thresher.store import Database, LogQueue, clean

_CHARACTERS: Final = 300
"""Maximum characters of a logged query; a longer one is a pasted text that is rarely repeated."""
_PREFIX: Final = "op_"
_HIDDEN: Final = "off"


@dataclass(frozen=True, slots=True)
class _LaterPage:
    """A later page of a search; its hits are added to the row of the first page."""

    row: SearchRow


_Row: TypeAlias = SearchRow | _LaterPage | ReadRow


class UsageLog:
    """Both logs of one process."""

    def __init__(self, database: Database, settings: Settings) -> None:
        self._database = database
        self._words = settings.api_queries
        self._queue: LogQueue[_Row] = LogQueue(self._write)

    @property
    def lost(self) -> int:
        """Number of rows that this process could not write."""
        return self._queue.lost

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
        """Log a search, unless the assistant searched every kind of source and this one found nothing; never waits.

        Args:
            caller: The tenant and user.
            query: The query as given.
            found: The answer; None if it failed.
            duration_ms: Duration of the search.
            continued: Whether it was a later page.
            error: Error code if it failed.
            providers: The requested providers, used if it failed.
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
            self._queue.add(caller.tenant, row)
        elif row.hits:
            self._queue.add(caller.tenant, _LaterPage(row))

    def read(
        self,
        caller: Caller,
        endpoint: FoundEndpoint | None,
        *,
        duration_ms: float,
        error: str = "",
        provider: str = "",
    ) -> None:
        """Log a read of an endpoint, or a failed one; never waits.

        Args:
            caller: The tenant and user.
            endpoint: The endpoint; None if none was found.
            duration_ms: Duration of the read.
            error: Error code if it failed.
            provider: The requested provider, used if it failed.
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
        self._queue.add(caller.tenant, row)

    async def note_search(
        self,
        caller: Caller,
        query: str,
        answering: Awaitable[FoundEndpoints],
        *,
        continued: bool = False,
        providers: Sequence[str] = (),
    ) -> FoundEndpoints:
        """Await the answer of a search and log the outcome.

        Raises:
            ThresherError: The search failed.
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
        """Await the explanation of an endpoint and log the outcome.

        Raises:
            ThresherError: The explanation failed.
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
        await self._queue.settle()

    async def _write(self, tenant: Tenant, rows: Sequence[_Row]) -> None:
        await write_usage(
            self._database,
            tenant,
            [row for row in rows if isinstance(row, SearchRow)],
            _joined([row.row for row in rows if isinstance(row, _LaterPage)]),
            [row for row in rows if isinstance(row, ReadRow)],
        )


def folded(query: str) -> str:
    """Return a query as it is counted: lower case, without secrets and trailing punctuation."""
    words = " ".join(mask_text(clean(query[: 4 * _CHARACTERS])).split()).lower().rstrip(" .?!")
    return words if len(words) <= _CHARACTERS else f"{words[: _CHARACTERS - 1]}…"


def number_of(endpoint: str) -> int | None:
    """Return the number in an endpoint id; None if the id is not valid."""
    try:
        return int(endpoint.removeprefix(_PREFIX), 16)
    except ValueError:
        return None


def id_of(number: int) -> str:
    """Return the endpoint id of a number."""
    return f"{_PREFIX}{number:012x}"


def _mode(query: str, found: FoundEndpoints | None) -> Literal["search", "browse"]:
    if found is not None:
        return found.mode
    return "search" if query.strip() else "browse"


def _concerned(found: FoundEndpoints | None, asked: Sequence[str]) -> Sequence[str]:
    """Return the names of the providers that a search was restricted to, or else those of its hits."""
    if found is None:
        return sorted(set(asked))
    return sorted(set(found.providers) or {endpoint.provider for endpoint in found.endpoints})


def _numbers(found: FoundEndpoints | None) -> list[int]:
    endpoints = () if found is None else found.endpoints
    return [number for endpoint in endpoints if (number := number_of(endpoint.id)) is not None]


def _joined(pages: Sequence[SearchRow]) -> list[SearchRow]:
    """Merge pages of one search, since a statement may update a row only once."""
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
