"""What a message needs of everything that is known: the right rules, tools and passages, inside a token budget.

Invariant: only here do the kinds meet; an answer says what is cut, missing or degraded, and how to get the rest.

Uses: core, embedding, insight, knowledge, search, store.
"""

from thresher.context.explanation import (
    ContextExplanation,
    ExplainedAnswer,
    ExplainedKind,
    ExplainedPiece,
    ExplainedTools,
)
from thresher.context.kind_sources import DocumentSource, EndpointSource, SchemaSource
from thresher.context.readiness import Condition, Readiness
from thresher.context.records import DEFAULT_BUDGET, LARGEST_BUDGET, ContextBlock, Needs, Note, Prompt, Rulebook, Trial
from thresher.context.rendering import prompt_data, prompt_text, rulebook_text
from thresher.context.service import ContextService
from thresher.context.sources import PieceSource, SourcePieces, SourceQuery
from thresher.context.variables import Provider, Situation, Variables, name_datasources, name_providers, name_solution

__all__ = [
    "DEFAULT_BUDGET",
    "LARGEST_BUDGET",
    "Condition",
    "ContextBlock",
    "ContextExplanation",
    "ContextService",
    "DocumentSource",
    "EndpointSource",
    "ExplainedAnswer",
    "ExplainedKind",
    "ExplainedPiece",
    "ExplainedTools",
    "Needs",
    "Note",
    "PieceSource",
    "Prompt",
    "Provider",
    "Readiness",
    "Rulebook",
    "SchemaSource",
    "Situation",
    "SourcePieces",
    "SourceQuery",
    "Trial",
    "Variables",
    "name_datasources",
    "name_providers",
    "name_solution",
    "prompt_data",
    "prompt_text",
    "rulebook_text",
]
