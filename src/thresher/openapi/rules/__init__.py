"""Rules about descriptions: what is wrong in one, what it costs, and how good the description is."""

from thresher.openapi.rules.catalog import RULES, Kind, Rule
from thresher.openapi.rules.finding import find_problems, finding_of
from thresher.openapi.rules.hits import Hit
from thresher.openapi.rules.scores import Scores, score

__all__ = ["RULES", "Hit", "Kind", "Rule", "Scores", "find_problems", "finding_of", "score"]
