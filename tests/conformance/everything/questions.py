"""Tools that ask their caller something by answering `input_required` (2026-07-28).

Invariant: an answer counts only where it has the form that was asked for; else the same question is asked again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mcp_types import (
    CallToolResult,
    CreateMessageRequest,
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    InputRequest,
    InputRequiredResult,
    InputResponseRequestParams,
    ListRootsRequest,
    ListRootsResult,
    SamplingMessage,
    TextContent,
)

Answered = Mapping[type[InputRequest], type[Any]]
_ANSWERS: Answered = {
    ElicitRequest: ElicitResult,
    CreateMessageRequest: CreateMessageResult,
    ListRootsRequest: ListRootsResult,
}


def form(message: str, **fields: str) -> ElicitRequest:
    """A form with these fields of these types, all required."""
    schema = {
        "type": "object",
        "properties": {name: {"type": kind} for name, kind in fields.items()},
        "required": list(fields),
    }
    return ElicitRequest(params=ElicitRequestFormParams(message=message, requested_schema=schema))


def sample(text: str, tokens: int) -> CreateMessageRequest:
    """A message for the client's model."""
    message = SamplingMessage(role="user", content=TextContent(type="text", text=text))
    return CreateMessageRequest(params=CreateMessageRequestParams(messages=[message], max_tokens=tokens))


@dataclass(frozen=True, slots=True)
class Round:
    """What is asked at once, and the state that must come back with the answers."""

    requests: Mapping[str, InputRequest]
    state: str | None = None

    def ask(self) -> InputRequiredResult:
        """The question as an answer to the call."""
        return InputRequiredResult(input_requests=dict(self.requests), request_state=self.state)

    def answered(self, params: InputResponseRequestParams) -> bool:
        """Whether every question of this round has an answer of its form."""
        given = params.input_responses or {}
        return params.request_state == self.state and all(
            _fits(request, given.get(key)) for key, request in self.requests.items()
        )


def _fits(request: InputRequest, answer: object) -> bool:
    if not isinstance(answer, _ANSWERS[type(request)]):
        return False
    if not isinstance(answer, ElicitResult) or not isinstance(request, ElicitRequest):
        return True
    required: Sequence[str] = request.params.requested_schema["required"]
    return answer.action == "accept" and set(required) <= set(answer.content or {})


_NAME = form("What is your name?", name="string")
ROUNDS: Mapping[str, Sequence[Round]] = {
    "test_input_required_result_elicitation": [Round({"user_name": _NAME})],
    "test_input_required_result_sampling": [Round({"capital_question": sample("What is the capital of France?", 100)})],
    "test_input_required_result_list_roots": [Round({"client_roots": ListRootsRequest()})],
    "test_input_required_result_request_state": [Round({"confirm": form("Please confirm", ok="boolean")}, "asked")],
    "test_input_required_result_tampered_state": [Round({"confirm": form("Please confirm", ok="boolean")}, "sealed")],
    "test_input_required_result_multiple_inputs": [
        Round(
            {"user_name": _NAME, "greeting": sample("Generate a greeting", 50), "client_roots": ListRootsRequest()},
            "all",
        )
    ],
    "test_input_required_result_multi_round": [
        Round({"step1": form("Step 1: What is your name?", name="string")}, "round 1"),
        Round({"step2": form("Step 2: What is your favorite color?", color="string")}, "round 2"),
    ],
    "test_streaming_elicitation": [Round({"confirm": form("Go on?", ok="boolean")})],
}
PROMPT_ROUND = Round({"user_context": form("What context should the prompt use?", context="string")})
CAPABILITY_ROUND: Mapping[str, InputRequest] = {
    "elicitation": form("Who are you?", name="string"),
    "sampling": sample("Who am I?", 50),
    "roots": ListRootsRequest(),
}
"""The one question for each capability that a client may declare."""


def put(rounds: Sequence[Round], params: InputResponseRequestParams) -> CallToolResult | InputRequiredResult:
    """Ask the next round, or finish when the last one was answered."""
    for number in reversed(range(len(rounds))):
        if rounds[number].answered(params):
            if number + 1 < len(rounds):
                return rounds[number + 1].ask()
            said = ", ".join(sorted(params.input_responses or {}))
            return CallToolResult(content=[TextContent(type="text", text=f"state-ok: answered {said}")])
    return next((asked for asked in rounds if asked.state == params.request_state), rounds[0]).ask()
