"""Evaluation of the search for tools on a user's own pool and queries.

Invariant: it works in a throw-away tenant, removed at the end however it ends.

Uses: core.
"""

from thresher.evaluation.reader import Question, read_pool, read_questions

__all__ = ["Question", "read_pool", "read_questions"]
