"""The assistant: says what a question wants, calls the tools that answer it, and formats what they give.

Invariant: tools are called through `calling`, so that what a caller may do is decided there alone.

Uses: calling, context, core, embedding, knowledge, llm, search, store.
"""

from thresher.agent.assistant.intents import training_lines
from thresher.agent.assistant.records import Answer, Intent, IntentType, Reply
from thresher.agent.assistant.service import Assistant
from thresher.agent.assistant.sessions import Sessions
from thresher.agent.conversations import ChatServices, Conversations
from thresher.agent.exchange import (
    Approval,
    Called,
    ChatCall,
    Citation,
    ClientCall,
    Decision,
    Delta,
    Entry,
    Event,
    Finish,
    Report,
    Step,
)
from thresher.agent.models import Checked, Chunk, Model, Models, OpenModel
from thresher.agent.offers import Offers, Outcome
from thresher.agent.prompts import Prompt, Prompts
from thresher.agent.settings import AgentSettings, ChatSettings, SettingSource, SettingsView
from thresher.agent.threads import Point, Points, Thread, ThreadPage, Threads, thread_id
from thresher.agent.tracing import untraced

__all__ = [
    "AgentSettings",
    "Answer",
    "Approval",
    "Assistant",
    "Called",
    "ChatCall",
    "ChatServices",
    "ChatSettings",
    "Checked",
    "Chunk",
    "Citation",
    "ClientCall",
    "Conversations",
    "Decision",
    "Delta",
    "Entry",
    "Event",
    "Finish",
    "Intent",
    "IntentType",
    "Model",
    "Models",
    "Offers",
    "OpenModel",
    "Outcome",
    "Point",
    "Points",
    "Prompt",
    "Prompts",
    "Reply",
    "Report",
    "Sessions",
    "SettingSource",
    "SettingsView",
    "Step",
    "Thread",
    "ThreadPage",
    "Threads",
    "thread_id",
    "training_lines",
    "untraced",
]
