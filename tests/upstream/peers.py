"""A client behind calls, like the gateway: it records what it receives, and answers questions."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_REQUEST,
    ClientCapabilities,
    CreateMessageRequest,
    CreateMessageResult,
    ElicitationCapability,
    ElicitRequest,
    ElicitResult,
    FormElicitationCapability,
    ListRootsRequest,
    ListRootsResult,
    LoggingLevel,
    LoggingMessageNotificationParams,
    Result,
    Root,
    RootsCapability,
    SamplingCapability,
    TextContent,
)

from thresher.upstream import Question

ELICITATION = ClientCapabilities(elicitation=ElicitationCapability(form=FormElicitationCapability()))
ALL = ClientCapabilities(
    elicitation=ElicitationCapability(form=FormElicitationCapability()),
    sampling=SamplingCapability(),
    roots=RootsCapability(list_changed=True),
)


class Client:
    """A peer; `answer` is its user's answer, and `hold` delays it until it is set."""

    def __init__(
        self, identity: str, capabilities: ClientCapabilities | None = None, answer: str = "", owner: str = ""
    ) -> None:
        self.id = identity
        self.owner = owner or identity
        self.capabilities = capabilities or ClientCapabilities()
        self.answer = answer or identity
        self.seen: list[tuple[float, float | None, str | None]] = []
        self.logged: list[Any] = []
        self.questions: list[Question] = []
        self.hold: asyncio.Event | None = None
        self.refuses = False
        self.rounds: Mapping[str, Any] | None = None
        self.level: LoggingLevel | None = None

    async def progress(self, progress: float, total: float | None, message: str | None) -> None:
        """Note it."""
        self.seen.append((progress, total, message))

    async def log(self, params: LoggingMessageNotificationParams) -> None:
        """Note it."""
        self.logged.append(params.data)

    async def ask(self, request: Question) -> Result:
        """Note the question, and answer it."""
        self.questions.append(request)
        if self.hold is not None:
            await self.hold.wait()
        if self.refuses:
            raise MCPError(INVALID_REQUEST, "The user has left.")
        match request:
            case ElicitRequest():
                return ElicitResult(action="accept", content={"name": self.answer})
            case CreateMessageRequest():
                text = TextContent(type="text", text=f"a text by {self.answer}")
                return CreateMessageResult(role="assistant", content=text, model="none")
            case ListRootsRequest():
                return ListRootsResult(roots=[Root(uri=f"file:///{self.answer}")])  # pyright: ignore[reportArgumentType] - a text becomes an address
