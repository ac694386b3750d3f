"""API descriptions as text: reading, resolving, rules about them, and patches for them.

Invariant: pure; nothing here reaches a network or a database, and no reference leaves its own document.

Uses: core.
"""

from thresher.openapi.calls import auth_of, base_of, call_of, finite, is_placeholder, parameter_example, sent_content
from thresher.openapi.examples import best_example, checked_example, example_of
from thresher.openapi.patching import Material, Review, make_patch, suggest_edits
from thresher.openapi.reader.characters import UNSEEN, visible
from thresher.openapi.reader.description import Description, read_description
from thresher.openapi.reader.problems import LIMITS, Limits
from thresher.openapi.reader.references import MISSING, Missing
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
from thresher.openapi.rules import RULES, Hit, Rule, Scores, find_problems, finding_of, score
from thresher.openapi.samples import samples_of
from thresher.openapi.schema_checks import Check, Direction
from thresher.openapi.schemas import bounds_of, brief_schema, is_simple, lines_of, name_of, schemas_reached, type_of
from thresher.openapi.tips import tips_of

__all__ = [
    "LIMITS",
    "MISSING",
    "RULES",
    "UNSEEN",
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
    "auth_of",
    "base_of",
    "best_example",
    "bounds_of",
    "brief_schema",
    "call_of",
    "checked_example",
    "example_of",
    "find_problems",
    "finding_of",
    "finite",
    "is_placeholder",
    "is_simple",
    "lines_of",
    "make_patch",
    "name_of",
    "parameter_example",
    "read_description",
    "samples_of",
    "schemas_reached",
    "score",
    "sent_content",
    "suggest_edits",
    "tips_of",
    "type_of",
    "visible",
]
