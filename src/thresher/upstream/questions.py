"""Brings what a server says and asks during a call to the peer behind that call.

Invariant: nothing is asked of a peer that has not said it can be asked so, or that has no call under way; while a
person thinks, the call's clock stands still.
"""

from __future__ import annotations

import asyncio
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

import anyio
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    REQUEST_TIMEOUT,
    ClientCapabilities,
    CreateMessageRequest,
    ElicitRequest,
    ListRootsRequest,
    LoggingMessageNotificationParams,
)
from mcp_types.methods import parse_server_request
from pydantic import ValidationError

from thresher.core import ThresherError
from thresher.upstream.peer import Peer, Question
from thresher.upstream.transport.channel import Call

_NAMES: Mapping[str, str] = {
    "elicitation/create": "Elicitation",
    "sampling/createMessage": "Sampling",
    "roots/list": "Listing roots",
}
_GONE = (MCPError, ThresherError, OSError, RuntimeError, anyio.ClosedResourceError, anyio.BrokenResourceError)
"""What a peer that cannot be told any more may raise; its call goes on all the same."""


def refused_by(reason: str, method: str) -> MCPError:
    """The refusal of a question."""
    if method not in _NAMES:
        return MCPError(METHOD_NOT_FOUND, "Method not found", method)
    return MCPError(INVALID_REQUEST, f"{_NAMES[method]} not supported: {reason}.")


async def asked(
    version: str,
    capabilities: ClientCapabilities,
    method: str,
    params: Mapping[str, Any],
    call: Call | None,
    seconds: float,
) -> dict[str, Any]:
    """Answer a question of a server of the older kind.

    Args:
        version: The revision of the session.
        capabilities: What was declared in it.
        method: The question's method.
        params: Its parameters.
        call: The call under way that it belongs to.
        seconds: For the peer to answer.

    Raises:
        MCPError: It is refused, or the peer cannot answer.
    """
    if method not in _NAMES:
        raise refused_by("", method)
    try:
        question = parse_server_request(method, version, params or None)
    except KeyError:
        raise MCPError(METHOD_NOT_FOUND, "Method not found", method) from None
    except ValidationError:
        raise MCPError(INVALID_PARAMS, "The question does not follow the protocol.") from None
    if not isinstance(question, ElicitRequest | CreateMessageRequest | ListRootsRequest):
        raise refused_by("", method)
    if call is None or call.peer is None:
        raise refused_by("no call of this client is under way", method)
    if not allowed(question, capabilities):
        raise refused_by("the client behind this call has not declared it", method)
    with stopped(call):
        return await answer_of(call.peer, question, seconds)


def allowed(question: Question, capabilities: ClientCapabilities) -> bool:
    """Whether a client that declared this can be asked so."""
    if isinstance(question, ElicitRequest):
        return capabilities.elicitation is not None
    if isinstance(question, CreateMessageRequest):
        return capabilities.sampling is not None
    return capabilities.roots is not None


async def answer_of(peer: Peer, question: Question, seconds: float) -> dict[str, Any]:
    """What the peer answers, as JSON.

    Raises:
        MCPError: It cannot, or does not in time.
    """
    try:
        async with asyncio.timeout(seconds):
            result = await peer.ask(question)
    except TimeoutError:
        raise MCPError(REQUEST_TIMEOUT, f"The client did not answer within {seconds:g} s.") from None
    answer = result.model_dump(by_alias=True, mode="json", exclude_none=True)
    answer.pop("resultType", None)  # a field of the newest revision's results
    return answer


@contextmanager
def stopped(call: Call) -> Generator[None]:
    """Stop a call's clock while its peer is being asked."""
    clock = call.clock
    until = clock.when() if clock is not None else None
    if clock is None or until is None:
        yield  # without a limit, or already stopped by another question
        return
    remaining = until - asyncio.get_running_loop().time()
    clock.reschedule(None)
    try:
        yield
    finally:
        with suppress(RuntimeError):  # the call has ended meanwhile
            clock.reschedule(asyncio.get_running_loop().time() + remaining)


async def progressed(params: Mapping[str, Any], call: Call | None) -> None:
    """Tell the peer of a call how far it is."""
    progress, total, message = params.get("progress"), params.get("total"), params.get("message")
    if call is None or call.peer is None or not isinstance(progress, int | float):
        return
    with suppress(*_GONE):
        await call.peer.progress(
            float(progress),
            float(total) if isinstance(total, int | float) else None,
            message if isinstance(message, str) else None,
        )


async def told_log(params: Mapping[str, Any], call: Call | None) -> None:
    """Tell the peer of a call what the server logs; a line that belongs to no call is nobody's."""
    if call is None or call.peer is None:
        return
    try:
        said = LoggingMessageNotificationParams.model_validate(params, by_name=False)
    except ValidationError:
        return
    with suppress(*_GONE):
        await call.peer.log(said)
