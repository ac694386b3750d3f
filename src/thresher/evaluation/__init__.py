"""Evaluation of the search for tools on a user's own pool and queries.

Invariant: it works in a throw-away tenant, removed at the end however it ends.

Uses: core, knowledge, store.
"""

from thresher.evaluation.figures import Figures
from thresher.evaluation.reader import Question, read_pool, read_questions
from thresher.evaluation.service import evaluate

__all__ = ["Figures", "Question", "evaluate", "read_pool", "read_questions"]
