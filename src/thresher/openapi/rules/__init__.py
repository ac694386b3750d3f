"""Rules for descriptions: what is wrong, what it costs, and how good a description is."""

from thresher.openapi.rules.catalog import RULES, Kind, LintRule, RuleHit
from thresher.openapi.rules.findings import DescriptionScores, find_problems, finding_of, score

__all__ = ["RULES", "DescriptionScores", "Kind", "LintRule", "RuleHit", "find_problems", "finding_of", "score"]
