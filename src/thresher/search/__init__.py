"""One search index for every kind: dense vectors and BM25 in PostgreSQL, fused, cut and calibrated.

Invariant: a search sees the rows of its caller's tenant alone, and a filter is applied before anything is ranked.

Uses: core, embedding, store.
"""

from thresher.search.ahead import Ahead
from thresher.search.clauses import clauses, is_request, prose
from thresher.search.index import SearchIndex
from thresher.search.planning import MAX_QUERIES
from thresher.search.records import Entry, Filter, Hit, Progress, PutCounts, SearchResult, Slot
from thresher.search.terms import query_terms, terms
from thresher.search.texts import TextVectors, text_vectors

__all__ = [
    "MAX_QUERIES",
    "Ahead",
    "Entry",
    "Filter",
    "Hit",
    "Progress",
    "PutCounts",
    "SearchIndex",
    "SearchResult",
    "Slot",
    "TextVectors",
    "clauses",
    "is_request",
    "prose",
    "query_terms",
    "terms",
    "text_vectors",
]
