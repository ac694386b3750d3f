"""The agent: conversations with a model, and the assistant that answers without one.

Invariant: tools are called only through `calling`, which decides what a caller may do.

Uses: calling, context, core, embedding, knowledge, llm, results, search, store.
"""

from thresher.agent.assistant.intents import training_lines
from thresher.agent.assistant.records import AssistantAnswer, Intent, IntentType, Reply
from thresher.agent.assistant.service import Assistant
from thresher.agent.assistant.sessions import AssistantSessions
from thresher.agent.conversations import ChatServices, Conversations
from thresher.agent.exchange import (
    Approval,
    CalledTool,
    ChatCall,
    Citation,
    ClientCall,
    Decision,
    Delta,
    Event,
    Finish,
    PromptTokens,
    Step,
    ThreadEntry,
    TurnProgress,
    TurnReport,
)
from thresher.agent.models import AnswerChunk, Model, ModelCheck, Models, OpenModel
from thresher.agent.offers import Offers, ToolOutcome
from thresher.agent.prompts import AgentPrompt, Prompts
from thresher.agent.settings import AgentSettings, ChatSettings, SettingSource, SettingsView
from thresher.agent.threads import Point, Points, Thread, ThreadPage, Threads, thread_id
from thresher.agent.tracing import untraced

__all__ = [
    "AgentPrompt",
    "AgentSettings",
    "AnswerChunk",
    "Approval",
    "Assistant",
    "AssistantAnswer",
    "AssistantSessions",
    "CalledTool",
    "ChatCall",
    "ChatServices",
    "ChatSettings",
    "Citation",
    "ClientCall",
    "Conversations",
    "Decision",
    "Delta",
    "Event",
    "Finish",
    "Intent",
    "IntentType",
    "Model",
    "ModelCheck",
    "Models",
    "Offers",
    "OpenModel",
    "Point",
    "Points",
    "PromptTokens",
    "Prompts",
    "Reply",
    "SettingSource",
    "SettingsView",
    "Step",
    "Thread",
    "ThreadEntry",
    "ThreadPage",
    "Threads",
    "ToolOutcome",
    "TurnProgress",
    "TurnReport",
    "thread_id",
    "training_lines",
    "untraced",
]
