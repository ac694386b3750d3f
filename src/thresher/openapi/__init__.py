"""API descriptions as text: reading, resolving, rules about them, and patches for them.

Invariant: pure; nothing here reaches a network or a database, and no reference leaves its own document.

Uses: core.
"""

from thresher.openapi.description import Description, read_description
from thresher.openapi.examples import best_example, checked_example, example_of
from thresher.openapi.facts import tips_of
from thresher.openapi.limits import LIMITS, Limits
from thresher.openapi.patching import Material, Review, make_patch, suggest_edits
from thresher.openapi.plain_schemas import Check, Direction
from thresher.openapi.records import (
    Body,
    Content,
    Dialect,
    Edit,
    Finding,
    Json,
    Operation,
    Parameter,
    ParameterIn,
    Patch,
    Place,
    Problem,
    Requirement,
    Response,
    Score,
    SecurityScheme,
    Severity,
    Tag,
)
from thresher.openapi.references import MISSING, Missing
from thresher.openapi.rules import RULES, Hit, Rule, Scores, find_problems, finding_of, score

__all__ = [
    "LIMITS",
    "MISSING",
    "RULES",
    "Body",
    "Check",
    "Content",
    "Description",
    "Dialect",
    "Direction",
    "Edit",
    "Finding",
    "Hit",
    "Json",
    "Limits",
    "Material",
    "Missing",
    "Operation",
    "Parameter",
    "ParameterIn",
    "Patch",
    "Place",
    "Problem",
    "Requirement",
    "Response",
    "Review",
    "Rule",
    "Score",
    "Scores",
    "SecurityScheme",
    "Severity",
    "Tag",
    "best_example",
    "checked_example",
    "example_of",
    "find_problems",
    "finding_of",
    "make_patch",
    "read_description",
    "score",
    "suggest_edits",
    "tips_of",
]
