"""Passes a server's messages, questions and requests for input during a call to the peer behind that call.

A server of 2026-07-28 interrupts a call with requests for input, which are passed on to the client or answered here.

Invariant: a peer is only asked what it has declared, and only while its call is under way; while a person thinks, the
call's clock stops. The server's state is returned byte for byte, and the number of rounds is bounded.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, TypeAlias

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
    InputRequiredResult,
    ListRootsRequest,
    LoggingMessageNotificationParams,
)
from mcp_types.methods import parse_server_request
from pydantic import ValidationError

from thresher.core import ThresherError, UpstreamRefused
from thresher.upstream.failures import Failures
from thresher.upstream.peer import Peer, Question
from thresher.upstream.records import UpstreamLimits
from thresher.upstream.transport.channel import PendingCall
from thresher.upstream.transport.messages import Message

_NAMES: Mapping[str, str] = {
    "elicitation/create": "Elicitation",
    "sampling/createMessage": "Sampling",
    "roots/list": "Listing roots",
}
_GONE = (MCPError, ThresherError, OSError, RuntimeError, anyio.ClosedResourceError, anyio.BrokenResourceError)
"""Exceptions of a peer that is gone; its call continues."""


def refused_by(reason: str, method: str) -> MCPError:
    """The error that refuses a question."""
    if method not in _NAMES:
        return MCPError(METHOD_NOT_FOUND, "Method not found", method)
    return MCPError(INVALID_REQUEST, f"{_NAMES[method]} not supported: {reason}.")


async def answer_question(
    version: str,
    capabilities: ClientCapabilities,
    method: str,
    params: Mapping[str, Any],
    call: PendingCall | None,
    seconds: float,
) -> dict[str, Any]:
    """Answer a question of a server of the older kind.

    Args:
        version: The session's revision.
        capabilities: The declared capabilities.
        method: The question's method.
        params: Its parameters.
        call: The call under way to which it belongs.
        seconds: Time limit for the peer's answer.

    Raises:
        MCPError: The question is refused, or the peer cannot answer.
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
    with clock_stopped(call):
        return await answer_of(call.peer, question, seconds)


def allowed(question: Question, capabilities: ClientCapabilities) -> bool:
    """Whether a client with these capabilities can be asked this question."""
    if isinstance(question, ElicitRequest):
        return capabilities.elicitation is not None
    if isinstance(question, CreateMessageRequest):
        return capabilities.sampling is not None
    return capabilities.roots is not None


async def answer_of(peer: Peer, question: Question, seconds: float) -> dict[str, Any]:
    """The peer's answer, as JSON.

    Raises:
        MCPError: The peer cannot answer, or not in time.
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
def clock_stopped(call: PendingCall) -> Generator[None]:
    """Stop a call's clock while its peer is being asked."""
    clock = call.clock
    until = clock.when() if clock is not None else None
    if clock is None or until is None:
        yield  # no limit, or already stopped by another question
        return
    remaining = until - asyncio.get_running_loop().time()
    clock.reschedule(None)
    try:
        yield
    finally:
        with suppress(RuntimeError):  # the call has ended meanwhile
            clock.reschedule(asyncio.get_running_loop().time() + remaining)


async def pass_progress(params: Mapping[str, Any], call: PendingCall | None) -> None:
    """Pass progress on to the peer of a call."""
    progress, total, message = params.get("progress"), params.get("total"), params.get("message")
    if call is None or call.peer is None or not isinstance(progress, int | float):
        return
    with suppress(*_GONE):
        await call.peer.progress(
            float(progress),
            float(total) if isinstance(total, int | float) else None,
            message if isinstance(message, str) else None,
        )


async def pass_log(params: Mapping[str, Any], call: PendingCall | None) -> None:
    """Pass a log message on to the peer of a call; a message that belongs to no call is dropped."""
    if call is None or call.peer is None:
        return
    try:
        message = LoggingMessageNotificationParams.model_validate(params, by_name=False)
    except ValidationError:
        return
    with suppress(*_GONE):
        await call.peer.log(message)


_FIRST_PAUSE = 0.05
_LONGEST_PAUSE = 0.25
"""Between attempts if the server asks nothing and only wants the request repeated."""

Send: TypeAlias = Callable[[Mapping[str, Any]], Awaitable[Message]]


async def complete(
    server: str, method: str, send: Send, peer: Peer | None, limits: UpstreamLimits, failures: Failures
) -> Message:
    """Send a request until its result is complete.

    Args:
        server: The server's name, for errors.
        method: The request's method, for errors.
        send: Sends it with these additional parameters.
        peer: The peer that answers questions.
        limits: `rounds` and `answer` apply.
        failures: Translates the server's failures.

    Raises:
        UpstreamRefused: The server asks something that the peer cannot be asked, or asks too often.
    """
    answer = await send({})
    pause = _FIRST_PAUSE
    for _ in range(limits.rounds):
        if answer.get("resultType") != "input_required":
            return answer
        wanted = _wanted(method, answer, failures)
        more: dict[str, Any] = {} if wanted.request_state is None else {"requestState": wanted.request_state}
        if wanted.input_requests:
            more["inputResponses"] = await _answers(server, wanted.input_requests, peer, limits.answer)
        else:
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)
        answer = await send(more)
    if answer.get("resultType") != "input_required":
        return answer
    raise failures.malformed(method, f"more than {limits.rounds} requests for input")


def checked(server: str, method: str, answer: Message, peer: Peer, failures: Failures) -> Message:
    """Check an answer that may be a request for input, and return it unchanged.

    Args:
        server: The server's name, for errors.
        method: The request's method, for errors.
        answer: The server's answer.
        peer: The peer that will be asked.
        failures: Translates the server's failures.

    Raises:
        UpstreamRefused: It asks something that the peer has not declared.
    """
    if answer.get("resultType") == "input_required":
        for question in (_wanted(method, answer, failures).input_requests or {}).values():
            _check_declared(server, question, peer)
    return answer


def _wanted(method: str, answer: Message, failures: Failures) -> InputRequiredResult:
    try:
        return InputRequiredResult.model_validate(answer, by_name=False)
    except ValidationError:
        raise failures.malformed(method, "a request for input that does not follow the protocol") from None


async def _answers(
    server: str, questions: Mapping[str, Question], peer: Peer | None, seconds: float
) -> dict[str, dict[str, Any]]:
    for question in questions.values():
        _check_crosses(server, question)
        _check_declared(server, question, peer)
    assert peer is not None  # noqa: S101 - checked with each question, and there is at least one
    try:
        # Sequentially: a person answers one question at a time.
        return {key: await answer_of(peer, question, seconds) for key, question in questions.items()}
    except MCPError as refusal:
        raise UpstreamRefused(
            f"Server '{server}' asked the client for input and got none ({refusal.message}).",
            hint="Answer its question, or call the tool with everything that it needs.",
        ) from None


def _check_crosses(server: str, question: Question) -> None:
    if isinstance(question, CreateMessageRequest):
        raise UpstreamRefused(
            f"Server '{server}' asks the client's model for a text (sampling), which passes only between a server and "
            "a client of one kind: both with sessions (revision 2025-11-25), or both without (2026-07-28).",
            hint="Use this tool from a client of revision 2026-07-28.",
        )


def _check_declared(server: str, question: Question, peer: Peer | None) -> None:
    if peer is None or not allowed(question, peer.capabilities):
        raise UpstreamRefused(
            f"Server '{server}' asks the client for input ({question.method}), which this client cannot give.",
            hint="Use a client that can be asked, or call the tool with everything that it needs.",
        )
