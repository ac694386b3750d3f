"""Asks a client's own model, if protocol and client support it.

Only sessions of 2025-11-25 do: a question goes to the client during its call. The stateless era has deprecated
sampling, and would need a round of the client for every question.

Invariant: the model is that of the client whose request is served, is asked only during that request, and is awaited no
longer than the given time.
"""

from __future__ import annotations

import asyncio

from mcp import MCPError
from mcp_types import (
    CreateMessageRequest,
    CreateMessageRequestParams,
    CreateMessageResult,
    SamplingMessage,
    TextContent,
)
from pydantic import ValidationError

from thresher.core import ModelError, ModelTimeout
from thresher.gateway.callers import modern
from thresher.gateway.peers import ClientPeer, Context, session_peer
from thresher.llm import Chat, ChatRequest, Completion, Finish

SECONDS = 10.0
"""The default time limit of a client's model."""
MOST_TOKENS = 4_096
"""The default limit of an answer: the protocol requires one."""


def client_chat(context: Context) -> Chat | None:
    """Return the model of the client that made a request; None if it offers none."""
    if modern(context):
        return None
    peer = session_peer(context)
    return None if peer.capabilities.sampling is None else ClientChat(peer)


class ClientChat:
    """A client's model, as a `Chat`.

    Args:
        peer: The client.
    """

    name = "the client's model"

    def __init__(self, peer: ClientPeer) -> None:
        self._peer = peer

    async def complete(self, request: ChatRequest, *, seconds: float | None = None) -> Completion:
        """See `Chat.complete`; a client may ask its user first, and its model cannot call our functions."""
        seconds = SECONDS if seconds is None else seconds
        try:
            async with asyncio.timeout(seconds):
                result = await self._peer.ask(_question(request))
        except TimeoutError:
            raise ModelTimeout(f"The client's model did not answer within {seconds:g} s.") from None
        except MCPError as error:
            raise ModelError(f"The client did not ask its model (code {error.code}).") from None
        except ValidationError:
            raise ModelError("The answer of the client's model cannot be read.") from None
        return _completion(result)


def _question(request: ChatRequest) -> CreateMessageRequest:
    if request.functions or any(message.role == "tool" or message.calls for message in request.messages):
        raise ModelError("The client's model is not offered functions.")
    system = "\n\n".join(message.text for message in request.messages if message.role == "system")
    messages = [
        SamplingMessage(
            role="assistant" if message.role == "assistant" else "user", content=TextContent(text=message.text)
        )
        for message in request.messages
        if message.role != "system"
    ]
    return CreateMessageRequest(
        params=CreateMessageRequestParams(
            messages=messages,
            system_prompt=system or None,
            temperature=request.temperature,
            max_tokens=request.most_tokens or MOST_TOKENS,
        )
    )


def _completion(result: object) -> Completion:
    if not isinstance(result, CreateMessageResult) or not isinstance(result.content, TextContent):
        raise ModelError("The client's model answered with something other than text.")
    if not (text := result.content.text.strip()):
        raise ModelError("The answer of the client's model is empty.")
    finish: Finish = "length" if result.stop_reason == "maxTokens" else "stop"
    return Completion(text, finish, model=result.model)
