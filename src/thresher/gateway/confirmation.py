"""Lets code of ours ask the person behind a client for a yes, where protocol and client offer it.

A session of 2025-11-25 is asked while its call is under way. A client of the stateless era is answered with the
question, and sends its call again with the answer; so code that asks must not have changed anything before.

Invariant: a yes counts for exactly the question that was asked, of the client whose request is served, and nobody waits
for it longer than was said.
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
from thresher.gateway.peers import ClientPeer, Context, asked_in_rounds, modern, session_peer
from thresher.packs import Confirm, nobody

SECONDS: Final = 100.0
"""How long a person may take to say yes: less than a call may take unless somebody has set that lower."""
_KEY: Final = "confirm"
_FORM: Final[dict[str, Any]] = {"type": "object", "properties": {}}
"""Nothing to fill in: accepting is the yes."""


class Asked(Exception):
    """A call has ended with a question for its client.

    Args:
        result: The question.
    """

    def __init__(self, result: InputRequiredResult) -> None:
        super().__init__("A question for the client.")
        self.result = result


def client_confirm(context: Context) -> Confirm:
    """A function that asks the person behind a request's client; its answer is None if the person cannot be asked."""
    if modern(context):
        return _Rounds(context.params or {}) if _fills_forms(asked_in_rounds(context)) else nobody
    peer = session_peer(context)
    return _Session(peer) if _fills_forms(peer.capabilities) else nobody


class _Session:
    """Asks within a session."""

    def __init__(self, peer: ClientPeer) -> None:
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
    """Asks by the answer to a request, and reads what was said in the next one; what was said before goes along.

    Args:
        params: Of the request; its state was opened already, and is ours for these very arguments.
    """

    def __init__(self, params: Mapping[str, Any]) -> None:
        asked, said = _opened(params.get("requestState"))
        if asked and (answer := _answer(params.get("inputResponses"))) is not None:
            said[asked] = answer
        self._said = said

    async def __call__(self, question: str) -> bool | None:
        digest = hashlib.sha256(question.encode("utf-8", "replace")).hexdigest()
        if digest not in self._said:
            state = f"{_KEY} {dumps({'asked': digest, 'said': self._said})}"
            raise Asked(InputRequiredResult(input_requests={_KEY: _request(question)}, request_state=state))
        return self._said[digest]


def _opened(state: object) -> tuple[str, dict[str, bool]]:
    """What was asked last, and what was said to earlier questions; nothing where the state is none of these."""
    if not isinstance(state, str) or not state.startswith(f"{_KEY} "):
        return "", {}
    content = json.loads(state.removeprefix(f"{_KEY} "))
    return content["asked"], content["said"]


def _answer(responses: object) -> bool | None:
    """Whether the client accepted; None where it sent nothing."""
    said = cast("Mapping[str, Any]", responses).get(_KEY) if isinstance(responses, Mapping) else None
    return cast("Mapping[str, Any]", said).get("action") == "accept" if isinstance(said, Mapping) else None


def _request(question: str) -> ElicitRequest:
    return ElicitRequest(params=ElicitRequestFormParams(message=question, requested_schema=_FORM))


def _fills_forms(capabilities: ClientCapabilities) -> bool:
    """Whether the client shows questions; one that names no way to do so means forms."""
    offered = capabilities.elicitation
    return offered is not None and (offered.form is not None or offered.url is None)
