"""The assistant: says what a question wants, calls the tools that answer it, and formats what they give.

Invariant: tools are called through an MCP client of the gateway, so that what a caller may do is decided there alone.

Uses: core, embedding, knowledge, search, store.
"""

from thresher.agent.assistant import Assistant
from thresher.agent.intents import training_lines
from thresher.agent.records import Answer, Intent, IntentType, Reply
from thresher.agent.sessions import Sessions
from thresher.agent.threads import Thread, Threads

__all__ = ["Answer", "Assistant", "Intent", "IntentType", "Reply", "Sessions", "Thread", "Threads", "training_lines"]
