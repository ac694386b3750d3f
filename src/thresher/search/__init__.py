"""One search index for every kind: dense vectors and BM25 in PostgreSQL, fused, cut and calibrated.

Invariant: a search sees only the rows of its caller's tenant, and a filter is applied before anything is ranked.

Uses: core, embedding, store.
"""

from thresher.search.budget import Units, select
from thresher.search.index import Prefetch, SearchIndex
from thresher.search.lexical.bm25 import Totals, postings_of
from thresher.search.lexical.clauses import clauses, is_request, prose
from thresher.search.lexical.languages import STEMMING, language_of
from thresher.search.lexical.profiles import shares_of
from thresher.search.lexical.query_expansion import Synonyms
from thresher.search.lexical.terms import (
    STOP_WORDS,
    query_terms,
    query_words,
    split_name,
    stemmed,
    terms,
    without_terms,
)
from thresher.search.plan import MAX_QUERIES, EmbeddedQuery
from thresher.search.ranking import levelled
from thresher.search.records import (
    Adapter,
    Bools,
    Dropped,
    Entry,
    Filter,
    Floats,
    Hit,
    Ids,
    Inspection,
    ItemVectors,
    LearnedScores,
    Learner,
    Progress,
    PutCounts,
    RankedItem,
    Scoring,
    SearchResult,
    SearchType,
    Slot,
)
from thresher.search.vectors import TextVectors, text_vectors

__all__ = [
    "MAX_QUERIES",
    "STEMMING",
    "STOP_WORDS",
    "Adapter",
    "Bools",
    "Dropped",
    "EmbeddedQuery",
    "Entry",
    "Filter",
    "Floats",
    "Hit",
    "Ids",
    "Inspection",
    "ItemVectors",
    "LearnedScores",
    "Learner",
    "Prefetch",
    "Progress",
    "PutCounts",
    "RankedItem",
    "Scoring",
    "SearchIndex",
    "SearchResult",
    "SearchType",
    "Slot",
    "Synonyms",
    "TextVectors",
    "Totals",
    "Units",
    "clauses",
    "is_request",
    "language_of",
    "levelled",
    "postings_of",
    "prose",
    "query_terms",
    "query_words",
    "select",
    "shares_of",
    "split_name",
    "stemmed",
    "terms",
    "text_vectors",
    "without_terms",
]
