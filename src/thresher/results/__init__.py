"""What a large result says within a budget of tokens.

Uses: core, embedding, search.
"""

from thresher.results.fidelity import verbatim
from thresher.results.fitting import Fitted, fit

__all__ = ["Fitted", "fit", "verbatim"]
