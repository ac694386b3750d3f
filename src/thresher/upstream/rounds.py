"""Sees to the requests for input with which a server of 2026-07-28 interrupts a call: hands them on, or answers them.

Invariant: the server's state goes back byte for byte; the number of rounds is bounded; nothing is asked of a peer that
cannot be asked so.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias

from mcp.shared.exceptions import MCPError
from mcp_types import CreateMessageRequest, InputRequiredResult
from pydantic import ValidationError

from thresher.core import UpstreamRefused
from thresher.upstream.failures import Failures
from thresher.upstream.limits import Limits
from thresher.upstream.peer import Peer, Question
from thresher.upstream.questions import allowed, answer_of
from thresher.upstream.transport.messages import Message

_FIRST_PAUSE = 0.05
_LONGEST_PAUSE = 0.25
"""Between two tries where the server asks nothing and merely wants to be asked again."""

Send: TypeAlias = Callable[[Mapping[str, Any]], Awaitable[Message]]


async def complete(
    server: str, method: str, send: Send, peer: Peer | None, limits: Limits, failures: Failures
) -> Message:
    """Send a request until its result is complete.

    Args:
        server: Its name, for errors.
        method: The request's method, for errors.
        send: Sends it with these parameters beside its own.
        peer: Who answers.
        limits: `rounds` and `answer`.
        failures: Words the server's failures.

    Raises:
        UpstreamRefused: The server asks something that the peer cannot be asked, or without end.
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
    """An answer that may be a request for input, as it came.

    Args:
        server: Its name, for errors.
        method: The request's method, for errors.
        answer: What the server answered.
        peer: Who is going to be asked.
        failures: Words the server's failures.

    Raises:
        UpstreamRefused: It asks something that the peer has not said it can be asked.
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
        # One after the other: a person answers one question at a time.
        return {key: await answer_of(peer, question, seconds) for key, question in questions.items()}
    except MCPError as refusal:
        raise UpstreamRefused(
            f"Server '{server}' asked the client for input ({refusal.message}), and got none.",
            hint="Answer its question, or call the tool with all that it needs.",
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
            hint="Use a client that can be asked, or call the tool with all that it needs.",
        )
