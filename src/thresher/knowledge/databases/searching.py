"""Finds tables by any words.

Invariant: only tables of connections that the caller sees, and that are still there, are found.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from thresher.connectors import Table
from thresher.core import Caller, InvalidInput, Why, shortened
from thresher.knowledge.databases.catalog import Catalog
from thresher.knowledge.databases.entries import KIND, facets_of, key_of, words_of
from thresher.knowledge.databases.models import FoundTable, FoundTables, TableBrief
from thresher.knowledge.databases.queries import Held
from thresher.search import Filter, SearchIndex, terms

MOST_FOUND: Final = 50
QUERY_CHARACTERS: Final = 2_000
_SHOWN_COLUMNS: Final = 12


@dataclass(frozen=True, slots=True)
class Ranked:
    """Tables that fit some words.

    Attributes:
        tables: Connection's id, table, probability and reasons; best first.
        degraded: What was weaker than it should be, in words.
    """

    tables: tuple[tuple[int, Table, float, Why], ...]
    degraded: str


class Searcher:
    """Searches tables.

    Args:
        index: Where they are found.
    """

    def __init__(self, index: SearchIndex) -> None:
        self._index = index

    async def ranked(self, caller: Caller, query: str, catalogs: Mapping[int, Catalog], limit: int) -> Ranked:
        """The tables of some connections that fit, best first.

        Args:
            caller: Who asks.
            query: Any words; of very many the first count.
            catalogs: Schemas by connection.
            limit: Tables at most.
        """
        words = shortened(query.strip(), QUERY_CHARACTERS)
        if not words:
            raise InvalidInput("There is nothing to search for.", hint="Say what the table holds, in any words.")
        scope = Filter(facets_of(catalogs))
        found = await self._index.search(caller, KIND, [words], limit=limit, filter=scope, threshold=0.0, split=False)
        tables = [
            (connection, table, hit.score, hit.why)
            for hit in found.hits
            for connection, number in [key_of(hit.id)]
            if connection in catalogs and (table := catalogs[connection].by_number.get(number)) is not None
        ]
        return Ranked(tuple(tables), found.degraded)

    async def search(
        self, caller: Caller, query: str, sources: Mapping[int, tuple[Held, Catalog]], limit: int
    ) -> FoundTables:
        """The same as records."""
        catalogs = {number: catalog for number, (_, catalog) in sources.items()}
        found = await self.ranked(caller, query, catalogs, limit)
        asked = frozenset(terms(query))
        tables = tuple(
            FoundTable(
                sources[connection][0].connection.name,
                brief(table),
                _met_first(table, asked),
                round(score, 4),
                why_text(why),
            )
            for connection, table, score, why in found.tables
        )
        return FoundTables(query, tables, found.degraded)


def brief(table: Table) -> TableBrief:
    """A table, as lists show it."""
    return TableBrief(table.schema, table.name, table.kind, len(table.columns), table.rows, table.comment)


def why_text(why: Why) -> str:
    """The reasons for a hit, in a few words."""
    words = ", ".join(why.terms[:4])
    meaning = "" if why.dense.score is None else f"meaning {why.dense.score:.2f}"
    return "; ".join(part for part in (f"words: {words}" if words else "", meaning) if part)


def _met_first(table: Table, asked: frozenset[str]) -> tuple[str, ...]:
    """Names of columns, those first that bear a word of the question."""
    names = [column.name for column in table.columns]
    names.sort(key=lambda name: asked.isdisjoint(terms(words_of(name))))
    return tuple(names[:_SHOWN_COLUMNS])
