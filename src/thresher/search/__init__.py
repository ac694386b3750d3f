"""One search index for every kind: dense vectors and BM25 in PostgreSQL, fused, cut and calibrated.

Invariant: a search sees the rows of its caller's tenant alone, and a filter is applied before anything is ranked.

Uses: core, embedding, store.
"""

from thresher.search.ahead import Ahead
from thresher.search.arrays import Floats, Ids
from thresher.search.clauses import clauses, is_request, prose
from thresher.search.index import SearchIndex
from thresher.search.phrases import Embedded
from thresher.search.planning import MAX_QUERIES
from thresher.search.records import Entry, Filter, Hit, Progress, PutCounts, Scoring, SearchResult, SearchType, Slot
from thresher.search.selection import Bools, Units, select
from thresher.search.terms import query_terms, terms
from thresher.search.texts import TextVectors, text_vectors
from thresher.search.wanted import Synonyms

__all__ = [
    "MAX_QUERIES",
    "Ahead",
    "Bools",
    "Embedded",
    "Entry",
    "Filter",
    "Floats",
    "Hit",
    "Ids",
    "Progress",
    "PutCounts",
    "Scoring",
    "SearchIndex",
    "SearchResult",
    "SearchType",
    "Slot",
    "Synonyms",
    "TextVectors",
    "Units",
    "clauses",
    "is_request",
    "prose",
    "query_terms",
    "select",
    "terms",
    "text_vectors",
]
