"""Chat models over the OpenAI wire format, and none.

Invariant: nothing waits for a model for longer than its caller allows; without one, callers go on without.

Uses: core.
"""

from __future__ import annotations

from thresher.core import ConfigurationError, InvalidInput, Settings
from thresher.llm.addresses import service_address
from thresher.llm.openai import LARGEST_ANSWER, OpenAIChat
from thresher.llm.patience import FIRST_PAUSE, TRIES, is_misfit, retry_after, worth_a_retry
from thresher.llm.records import Chat, ChatRequest, Completion, Finish, Function, FunctionCall, Message, Role, Usage
from thresher.llm.wire import (
    Dialect,
    adapted,
    code_of,
    completion,
    finish_of,
    text_of,
    tool_of,
    usage_of,
)
from thresher.llm.wording import host_and_port, reason, refusal, silence, unanswered

__all__ = [
    "FIRST_PAUSE",
    "LARGEST_ANSWER",
    "TRIES",
    "Chat",
    "ChatRequest",
    "Completion",
    "Dialect",
    "Finish",
    "Function",
    "FunctionCall",
    "Message",
    "OpenAIChat",
    "Role",
    "Usage",
    "adapted",
    "code_of",
    "completion",
    "finish_of",
    "host_and_port",
    "is_misfit",
    "open_chat",
    "reason",
    "refusal",
    "retry_after",
    "service_address",
    "silence",
    "text_of",
    "tool_of",
    "unanswered",
    "usage_of",
    "worth_a_retry",
]


def open_chat(settings: Settings) -> OpenAIChat | None:
    """The chat model that the settings ask for, not yet asked anything; None where they name none.

    Raises:
        ConfigurationError: Its address or name cannot be used.
    """
    if settings.llm_url is None:
        return None
    if not settings.llm_model:
        raise ConfigurationError("THRESHER_LLM_URL is set, and no model.", hint="Name one in THRESHER_LLM_MODEL.")
    try:
        service_address(settings.llm_url, "THRESHER_LLM_URL", "Set THRESHER_LLM_KEY in its place.")
    except InvalidInput as error:
        raise ConfigurationError(error.message, hint=error.hint) from None
    return OpenAIChat(settings.llm_url, settings.llm_model, key=settings.llm_key, seconds=settings.llm_seconds)
