"""API descriptions as text: reading, resolving, rules about them, and patches for them.

Invariant: pure; nothing here reaches a network or a database, and no reference leaves its own document.

Uses: core.
"""

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

__all__ = [
    "Body",
    "Content",
    "Dialect",
    "Edit",
    "Finding",
    "Json",
    "Operation",
    "Parameter",
    "ParameterIn",
    "Patch",
    "Place",
    "Problem",
    "Requirement",
    "Response",
    "Score",
    "SecurityScheme",
    "Severity",
    "Tag",
]
