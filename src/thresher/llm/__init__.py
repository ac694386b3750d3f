"""Chat models over the OpenAI wire format.

Invariant: no caller waits for a model longer than it allows; without a configured model, callers work without one.

Uses: core.
"""

from __future__ import annotations

from thresher.core import ConfigurationError, InvalidInput, Settings
from thresher.llm.client import RequestLost, RequestRefused, ServiceAnswer, ServiceClient
from thresher.llm.openai import OpenAIChat
from thresher.llm.records import Chat, ChatRequest, Completion, Finish, Function, FunctionCall, Message, Role, Usage
from thresher.llm.service import (
    FIRST_PAUSE,
    TRIES,
    empty_answer,
    failure_text,
    host_and_port,
    is_misfit,
    no_answer,
    refusal,
    retry_after,
    service_address,
    worth_a_retry,
)
from thresher.llm.transport import LARGEST_ANSWER
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
    "RequestLost",
    "RequestRefused",
    "Role",
    "ServiceAnswer",
    "ServiceClient",
    "Usage",
    "adapted",
    "code_of",
    "completion",
    "empty_answer",
    "failure_text",
    "finish_of",
    "host_and_port",
    "is_misfit",
    "no_answer",
    "open_chat",
    "refusal",
    "retry_after",
    "service_address",
    "text_of",
    "tool_of",
    "usage_of",
    "worth_a_retry",
]


def open_chat(settings: Settings) -> OpenAIChat | None:
    """Create the configured chat model; None if none is configured.

    Raises:
        ConfigurationError: Its address or name is not usable.
    """
    if settings.llm_url is None:
        return None
    if not settings.llm_model:
        raise ConfigurationError("THRESHER_LLM_URL is set without a model.", hint="Name one in THRESHER_LLM_MODEL.")
    try:
        service_address(settings.llm_url, "THRESHER_LLM_URL", "Set THRESHER_LLM_KEY instead.")
    except InvalidInput as error:
        raise ConfigurationError(error.message, hint=error.hint) from None
    return OpenAIChat(settings.llm_url, settings.llm_model, key=settings.llm_key, seconds=settings.llm_seconds)
