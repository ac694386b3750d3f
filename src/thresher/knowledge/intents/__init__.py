"""The intents kind: packs of rules, and the router that chooses the packs that a message needs.

Invariant: the text of a pack is data; a pack of a project does nothing until a person has trusted exactly its content.

Uses: core, embedding, scanner, search, store.
"""

from thresher.knowledge.intents.client_files import Exported, Installed, export_skills, install_lines, remove_lines
from thresher.knowledge.intents.decision_log import IntentStatistics
from thresher.knowledge.intents.discovery import Sources, discover, sources_of
from thresher.knowledge.intents.edits import PackTexts, difference, lock_of, texts_of
from thresher.knowledge.intents.files import file_of, rehearsed_files
from thresher.knowledge.intents.globs import applies
from thresher.knowledge.intents.lint import OWN_TOOLS, LintSubject, lint, subject_at, subject_of
from thresher.knowledge.intents.models import (
    PASS_THROUGH,
    Decision,
    EditCheck,
    EditEffect,
    EvalQuery,
    FoundPacks,
    Inert,
    IntentEffect,
    IntentInfo,
    IntentScore,
    KnownTools,
    LineFlip,
    LintFinding,
    Pack,
    PackFile,
    PackProblem,
    Packs,
    RouterState,
    Tally,
)
from thresher.knowledge.intents.reader import read_pack
from thresher.knowledge.intents.router.head import Head, fit_head
from thresher.knowledge.intents.router.trial import (
    BACKGROUND,
    LabelledLines,
    Pieces,
    Trial,
    TrialResult,
    fit_trial,
    pieces_of,
)
from thresher.knowledge.intents.rule_book import new_pack, outline, short_form
from thresher.knowledge.intents.service import IntentService
from thresher.knowledge.intents.training import lines_of, negatives_of
from thresher.knowledge.intents.views import assemble, is_dangerous

__all__ = [
    "BACKGROUND",
    "OWN_TOOLS",
    "PASS_THROUGH",
    "Decision",
    "EditCheck",
    "EditEffect",
    "EvalQuery",
    "Exported",
    "FoundPacks",
    "Head",
    "Inert",
    "Installed",
    "IntentEffect",
    "IntentInfo",
    "IntentScore",
    "IntentService",
    "IntentStatistics",
    "KnownTools",
    "LabelledLines",
    "LineFlip",
    "LintFinding",
    "LintSubject",
    "Pack",
    "PackFile",
    "PackProblem",
    "PackTexts",
    "Packs",
    "Pieces",
    "RouterState",
    "Sources",
    "Tally",
    "Trial",
    "TrialResult",
    "applies",
    "assemble",
    "difference",
    "discover",
    "export_skills",
    "file_of",
    "fit_head",
    "fit_trial",
    "install_lines",
    "is_dangerous",
    "lines_of",
    "lint",
    "lock_of",
    "negatives_of",
    "new_pack",
    "outline",
    "pieces_of",
    "read_pack",
    "rehearsed_files",
    "remove_lines",
    "short_form",
    "sources_of",
    "subject_at",
    "subject_of",
    "texts_of",
]
