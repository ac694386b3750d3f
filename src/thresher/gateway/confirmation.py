"""Asks the person behind a client to confirm, if protocol and client support it.

A session of 2025-11-25 is asked during its call. A client of the stateless era gets the question as the answer, and
sends its call again with the reply; so code that asks must not have changed anything before.

Invariant: a confirmation applies to exactly the question that was asked, of the client whose request is served, and is
awaited no longer than `SECONDS`.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Mapping
from typing import Any, Final, cast

from mcp import MCPError
from mcp_types import ClientCapabilities, ElicitRequest, ElicitRequestFormParams, ElicitResult, InputRequiredResult
from pydantic import ValidationError

from thresher.core import dumps
from thresher.gateway.callers import modern
from thresher.gateway.peers import Context, asked_in_rounds, session_peer
from thresher.packs import Confirm, nobody
from thresher.upstream import Peer

SECONDS: Final = 100.0
"""How long a person may take: less than the default limit of a call."""
_KEY: Final = "confirm"
_FORM: Final[dict[str, Any]] = {"type": "object", "properties": {}}
"""Nothing to fill in: accepting confirms."""


class QuestionForClient(Exception):
    """A call has ended with a question for its client.

    Args:
        result: The question.
    """

    def __init__(self, result: InputRequiredResult) -> None:
        super().__init__("A question for the client.")
        self.result = result


def client_confirm(context: Context, attended: Peer | None = None) -> Confirm:
    """Return a function that asks the person behind a request's client; it returns None if they cannot be asked.

    Args:
        context: The request.
        attended: Who is asked in the middle of the call, where that outlasts the request.
    """
    if attended is not None:
        return _Session(attended) if _fills_forms(attended.capabilities) else nobody
    if modern(context):
        return _Rounds(context.params or {}) if _fills_forms(asked_in_rounds(context)) else nobody
    peer = session_peer(context)
    return _Session(peer) if _fills_forms(peer.capabilities) else nobody


class _Session:
    """Asks within a session."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer

    async def __call__(self, question: str) -> bool | None:
        try:
            async with asyncio.timeout(SECONDS):
                answer = await self._peer.ask(_request(question))
        except TimeoutError:
            return False
        except (MCPError, ValidationError):
            return None
        return isinstance(answer, ElicitResult) and answer.action == "accept"


class _Rounds:
    """Asks in the answer to a request, and reads the reply in the next request; the state carries earlier replies.

    Args:
        params: The request's parameters; their state is already opened, and is ours for exactly these arguments.
    """

    def __init__(self, params: Mapping[str, Any]) -> None:
        asked, replies = _opened(params.get("requestState"))
        if asked and (answer := _answer(params.get("inputResponses"))) is not None:
            replies[asked] = answer
        self._replies = replies

    async def __call__(self, question: str) -> bool | None:
        digest = hashlib.sha256(question.encode("utf-8", "replace")).hexdigest()
        if digest not in self._replies:
            state = f"{_KEY} {dumps({'asked': digest, 'said': self._replies})}"
            raise QuestionForClient(InputRequiredResult(input_requests={_KEY: _request(question)}, request_state=state))
        return self._replies[digest]


def _opened(state: object) -> tuple[str, dict[str, bool]]:
    """Return the last question, and the replies to earlier ones; nothing if the state is of another kind."""
    if not isinstance(state, str) or not state.startswith(f"{_KEY} "):
        return "", {}
    content = json.loads(state.removeprefix(f"{_KEY} "))
    return content["asked"], content["said"]


def _answer(responses: object) -> bool | None:
    """Return whether the client accepted; None if it sent no reply."""
    reply = cast("Mapping[str, Any]", responses).get(_KEY) if isinstance(responses, Mapping) else None
    return cast("Mapping[str, Any]", reply).get("action") == "accept" if isinstance(reply, Mapping) else None


def _request(question: str) -> ElicitRequest:
    return ElicitRequest(params=ElicitRequestFormParams(message=question, requested_schema=_FORM))


def _fills_forms(capabilities: ClientCapabilities) -> bool:
    """Return whether the client shows forms; one that names no mode supports forms."""
    offered = capabilities.elicitation
    return offered is not None and (offered.form is not None or offered.url is None)
