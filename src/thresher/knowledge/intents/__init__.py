"""The intents kind: packs of rules, and the router that says which of them a message needs.

Invariant: text of a pack is data; a pack of a project does nothing until a person has trusted exactly its content.

Uses: core, embedding, scanner, search, store.
"""

from thresher.knowledge.intents.assembly import assemble, is_dangerous
from thresher.knowledge.intents.discovery import discover
from thresher.knowledge.intents.exporting import Exported, export_skills
from thresher.knowledge.intents.files import file_of
from thresher.knowledge.intents.globs import applies
from thresher.knowledge.intents.installing import Installed, install_lines, remove_lines
from thresher.knowledge.intents.lint_records import KnownTools, LintFinding
from thresher.knowledge.intents.linting import Subject, lint, subject_at, subject_of
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
    RouterState,
)
from thresher.knowledge.intents.placing import rehearsed_files
from thresher.knowledge.intents.reader import read_pack
from thresher.knowledge.intents.router.head import Head, fit_head
from thresher.knowledge.intents.scaffold import new_pack
from thresher.knowledge.intents.sections import short_form
from thresher.knowledge.intents.service import IntentService
from thresher.knowledge.intents.sources import Sources, sources_of
from thresher.knowledge.intents.statistics import IntentStatistics
from thresher.knowledge.intents.training import lines_of, negatives_of
from thresher.knowledge.intents.trial import BACKGROUND, Judged, Lines, Pieces, Trial, fit_trial, pieces_of

__all__ = [
    "BACKGROUND",
    "PASS_THROUGH",
    "Decision",
    "EvalQuery",
    "Exported",
    "Found",
    "Head",
    "Inert",
    "Installed",
    "IntentInfo",
    "IntentScore",
    "IntentService",
    "IntentStatistics",
    "Judged",
    "KnownTools",
    "Lines",
    "LintFinding",
    "Pack",
    "PackFile",
    "PackProblem",
    "Packs",
    "Pieces",
    "RouterState",
    "Sources",
    "Subject",
    "Trial",
    "applies",
    "assemble",
    "discover",
    "export_skills",
    "file_of",
    "fit_head",
    "fit_trial",
    "install_lines",
    "is_dangerous",
    "lines_of",
    "lint",
    "negatives_of",
    "new_pack",
    "pieces_of",
    "read_pack",
    "rehearsed_files",
    "remove_lines",
    "short_form",
    "sources_of",
    "subject_at",
    "subject_of",
]
