"""What a message needs of everything that is known: the right rules, tools and passages, inside a token budget.

Invariant: here the kinds meet, and nowhere below; what is cut, missing or degraded is said, with the way to the rest.

Uses: core, embedding, knowledge, search.
"""

from thresher.context.datasources import name_datasources
from thresher.context.endpoints import EndpointSource, name_providers
from thresher.context.passages import DocumentSource
from thresher.context.questions import DEFAULT_BUDGET, LARGEST_BUDGET
from thresher.context.readiness import Condition, Readiness
from thresher.context.records import Facts, Needs, Note, Offer, Prompt, Rulebook
from thresher.context.rendering import prompt_data, prompt_text, rulebook_text
from thresher.context.schemas import SchemaSource
from thresher.context.service import ContextService
from thresher.context.solutions import name_solution
from thresher.context.sources import Gathered, Inquiry, Source
from thresher.context.variables import Provider, Situation, Variables

__all__ = [
    "DEFAULT_BUDGET",
    "LARGEST_BUDGET",
    "Condition",
    "ContextService",
    "DocumentSource",
    "EndpointSource",
    "Facts",
    "Gathered",
    "Inquiry",
    "Needs",
    "Note",
    "Offer",
    "Prompt",
    "Provider",
    "Readiness",
    "Rulebook",
    "SchemaSource",
    "Situation",
    "Source",
    "Variables",
    "name_datasources",
    "name_providers",
    "name_solution",
    "prompt_data",
    "prompt_text",
    "rulebook_text",
]
