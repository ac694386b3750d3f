"""Evaluation on a user's own data: of the search for tools, and of the router of intents.

Invariant: nothing of anybody's catalogue or packs is touched: tools are indexed in a throw-away tenant, removed at the
end however it ends, and routers are fitted for the evaluation alone.

Uses: core, embedding, knowledge, search, store.
"""

from thresher.evaluation.figures import Figures
from thresher.evaluation.intents_figures import IntentFigures
from thresher.evaluation.intents_reader import IntentLine, read_tests, read_training
from thresher.evaluation.intents_service import IntentResult, evaluate_intents
from thresher.evaluation.reader import Question, read_pool, read_questions
from thresher.evaluation.service import evaluate

__all__ = [
    "Figures",
    "IntentFigures",
    "IntentLine",
    "IntentResult",
    "Question",
    "evaluate",
    "evaluate_intents",
    "read_pool",
    "read_questions",
    "read_tests",
    "read_training",
]
