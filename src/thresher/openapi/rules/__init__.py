"""Rules about descriptions: what is wrong in one, what it costs, and how good the description is."""

from thresher.openapi.rules.catalog import RULES, Hit, Kind, Rule
from thresher.openapi.rules.findings import Scores, find_problems, finding_of, score

__all__ = ["RULES", "Hit", "Kind", "Rule", "Scores", "find_problems", "finding_of", "score"]
