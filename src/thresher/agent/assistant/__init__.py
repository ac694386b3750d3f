"""The assistant without a model: reads a question, calls the tools that answer it, and formats their answers.

Invariant: tools are called only through `calling`, which decides what a caller may do.
"""

from thresher.agent.assistant.intents import training_lines
from thresher.agent.assistant.records import AssistantAnswer, Intent, IntentType, Reply
from thresher.agent.assistant.service import QUERY_CHARACTERS, Assistant
from thresher.agent.assistant.sessions import AssistantSessions
from thresher.agent.assistant.toolbox import run_tool

__all__ = [
    "QUERY_CHARACTERS",
    "Assistant",
    "AssistantAnswer",
    "AssistantSessions",
    "Intent",
    "IntentType",
    "Reply",
    "run_tool",
    "training_lines",
]
