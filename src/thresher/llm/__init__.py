"""Chat models over the OpenAI wire format, and none.

Invariant: nothing waits for a model for longer than its caller allows; without one, callers go on without.

Uses: core.
"""

from __future__ import annotations

import httpx

from thresher.core import ConfigurationError, Settings
from thresher.llm.openai import OpenAIChat
from thresher.llm.records import Chat, ChatRequest, Completion, Finish, Function, FunctionCall, Message, Role, Usage

__all__ = [
    "Chat",
    "ChatRequest",
    "Completion",
    "Finish",
    "Function",
    "FunctionCall",
    "Message",
    "OpenAIChat",
    "Role",
    "Usage",
    "open_chat",
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
        address = httpx.URL(settings.llm_url)
    except httpx.InvalidURL:
        address = httpx.URL("")
    if address.scheme not in ("http", "https") or not address.host:
        raise ConfigurationError(
            "THRESHER_LLM_URL is no address of a service.", hint="Write it like http://127.0.0.1:11434/v1."
        )
    if address.userinfo:
        raise ConfigurationError("THRESHER_LLM_URL holds a password.", hint="Set THRESHER_LLM_KEY in its place.")
    return OpenAIChat(settings.llm_url, settings.llm_model, key=settings.llm_key, seconds=settings.llm_seconds)
