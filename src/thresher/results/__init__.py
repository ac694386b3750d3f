"""What a large result says within a budget of tokens, and how more of it is read.

Invariant: below the budget nothing is touched; what is delivered of a larger result stands in it, and every cut is
said.

Uses: core, embedding, search, store.
"""

from thresher.results.fitting import LEAST_BUDGET, Fitted, fit, fits, verbatim
from thresher.results.keeping import Keeper, KeptResult
from thresher.results.reading import read_on
from thresher.results.service import MOST_BUDGET, WHOLE_META, Delivery, ResultPart, Results, checked_budget

__all__ = [
    "LEAST_BUDGET",
    "MOST_BUDGET",
    "WHOLE_META",
    "Delivery",
    "Fitted",
    "Keeper",
    "KeptResult",
    "ResultPart",
    "Results",
    "checked_budget",
    "fit",
    "fits",
    "read_on",
    "verbatim",
]
