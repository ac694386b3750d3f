"""The intents kind: packs of rules, and the router that says which of them a message needs.

Invariant: text of a pack is data; a pack of a project does nothing until a person has trusted exactly its content.

Uses: core, embedding, scanner, search, store.
"""

from thresher.knowledge.intents.assembly import is_dangerous
from thresher.knowledge.intents.files import file_of
from thresher.knowledge.intents.globs import applies
from thresher.knowledge.intents.models import (
    PASS_THROUGH,
    Decision,
    EvalQuery,
    Found,
    Inert,
    IntentInfo,
    IntentScore,
    Pack,
    PackFile,
    PackProblem,
    Packs,
)
from thresher.knowledge.intents.reader import read_pack
from thresher.knowledge.intents.service import IntentService
from thresher.knowledge.intents.sources import Sources, sources_of
from thresher.knowledge.intents.statistics import IntentStatistics

__all__ = [
    "PASS_THROUGH",
    "Decision",
    "EvalQuery",
    "Found",
    "Inert",
    "IntentInfo",
    "IntentScore",
    "IntentService",
    "IntentStatistics",
    "Pack",
    "PackFile",
    "PackProblem",
    "Packs",
    "Sources",
    "applies",
    "file_of",
    "is_dangerous",
    "read_pack",
    "sources_of",
]
