"""Everything that a search does with words alone: terms, clauses, BM25, arguments, query expansion.

Invariant: nothing here needs a model or the database.
"""
