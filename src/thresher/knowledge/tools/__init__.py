"""The tools kind: servers, their tools, and the choice of the right ones for a message.

Invariant: only enabled, approved tools that the caller may see are found, described or resolved.

Uses: components, core, embedding, llm, programs, scanner, search, store, upstream.
"""

from thresher.knowledge.tools.approval import Consents
from thresher.knowledge.tools.components import SCHEME, Component, Components, Offered
from thresher.knowledge.tools.definitions import (
    compact,
    definition_text,
    found_line,
    line,
    slots_of,
    use_text,
    why_text,
)
from thresher.knowledge.tools.dropins import DropInReport, DropIns, thread_meta
from thresher.knowledge.tools.findability import (
    HealthFinding,
    ToolHealth,
    Trial,
    description_rule,
    findings_of_definition,
    findings_of_trials,
    parameters_without_words,
    try_tool,
)
from thresher.knowledge.tools.finder import WANTED
from thresher.knowledge.tools.learning import (
    AdapterFigures,
    Learning,
    LearningState,
    MovedTool,
    Replay,
    Training,
    TrainingResult,
    TrainingState,
    UsedTool,
)
from thresher.knowledge.tools.log import RULES_FIRST, SIGNATURE_FIRST, Purged, Statistics, purge_logs
from thresher.knowledge.tools.models import (
    KIND,
    LEAST_BUDGET,
    LIMIT_CAP,
    META_TOOLS,
    MOST_BUDGET,
    Claim,
    Consent,
    Definition,
    Descriptions,
    FindResult,
    Form,
    FoundTool,
    HeldTool,
    LocalServer,
    Refreshed,
    Resolved,
    ServerInfo,
    ToolCategory,
    ToolQuestions,
    ToolRewrite,
    ToolWords,
    plain_name,
)
from thresher.knowledge.tools.proposals import propose, trial_queries
from thresher.knowledge.tools.refresh import total_of
from thresher.knowledge.tools.servers import CredentialStore
from thresher.knowledge.tools.service import ToolService

__all__ = [
    "KIND",
    "LEAST_BUDGET",
    "LIMIT_CAP",
    "META_TOOLS",
    "MOST_BUDGET",
    "RULES_FIRST",
    "SCHEME",
    "SIGNATURE_FIRST",
    "WANTED",
    "AdapterFigures",
    "Claim",
    "Component",
    "Components",
    "Consent",
    "Consents",
    "CredentialStore",
    "Definition",
    "Descriptions",
    "DropInReport",
    "DropIns",
    "FindResult",
    "Form",
    "FoundTool",
    "HealthFinding",
    "HeldTool",
    "Learning",
    "LearningState",
    "LocalServer",
    "MovedTool",
    "Offered",
    "Purged",
    "Refreshed",
    "Replay",
    "Resolved",
    "ServerInfo",
    "Statistics",
    "ToolCategory",
    "ToolHealth",
    "ToolQuestions",
    "ToolRewrite",
    "ToolService",
    "ToolWords",
    "Training",
    "TrainingResult",
    "TrainingState",
    "Trial",
    "UsedTool",
    "compact",
    "definition_text",
    "description_rule",
    "findings_of_definition",
    "findings_of_trials",
    "found_line",
    "line",
    "parameters_without_words",
    "plain_name",
    "propose",
    "purge_logs",
    "slots_of",
    "thread_meta",
    "total_of",
    "trial_queries",
    "try_tool",
    "use_text",
    "why_text",
]
