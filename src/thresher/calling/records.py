"""What a call of a tool is made of: the call, its result, and who is at the other end.

Invariant: nothing here is a type of MCP; what a server answers is kept as the plain JSON that it was.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, Self, cast

from thresher import __version__
from thresher.core import JSON, Caller
from thresher.knowledge.intents import Pack, Packs
from thresher.knowledge.tools import Resolved
from thresher.upstream import Peer, ServerConfig

RULES_META: Final = "thresher/rules"
"""Names, in the `_meta` of a result that holds rules in place of an answer, the packs whose rules they are."""

ADMIN: Final = "admin"
"""The group of a pack's tools that are there only where the setting `admin_tools` allows them."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a tool.

    Attributes:
        name: The exposed name, or that of one of our own tools.
        arguments: As the client sent them.
        resumed: Whether it continues a call that ended with a question.
        budget: Most tokens of the result; None: those of the setting; 0: all of it.
        focus: What the caller wants to know; empty: what the tool was found for.
        shown: Whether a person was shown this tool with these arguments.
    """

    name: str
    arguments: JSON = field(default_factory=dict[str, Any])
    resumed: bool = False
    budget: int | None = None
    focus: str = ""
    shown: bool = False


@dataclass(frozen=True, slots=True)
class Result:
    """What a call has come to.

    Attributes:
        answer: The whole result as JSON: `content`, `structuredContent`, `isError`, `_meta`, and whatever else its
            server put there; of a question `inputRequests` and `requestState`. Not to be changed.
        asks: Whether it is a question for the client, and not yet an answer.
    """

    answer: JSON
    asks: bool = False

    @classmethod
    def of(cls, text: str, structured: JSON | None = None, *, is_error: bool = False, meta: JSON | None = None) -> Self:
        """A result with one text."""
        answer: dict[str, Any] = {"content": [{"type": "text", "text": text}], "isError": is_error}
        if structured is not None:
            answer["structuredContent"] = structured
        return cls(answer if meta is None else {**answer, "_meta": meta})

    @property
    def content(self) -> Sequence[JSON]:
        """The blocks, as MCP writes them."""
        return cast("Sequence[JSON]", self.answer.get("content") or ())

    @property
    def structured(self) -> JSON:
        """The structured content; empty if there is none, or it is not an object."""
        given = self.answer.get("structuredContent")
        return cast("JSON", given) if isinstance(given, Mapping) else {}

    @property
    def is_error(self) -> bool:
        """Whether the tool reports a failure."""
        return bool(self.answer.get("isError"))

    @property
    def meta(self) -> JSON:
        """What goes along in `_meta`."""
        return cast("JSON", self.answer.get("_meta") or {})

    @property
    def text(self) -> str:
        """The text blocks, a line break between two."""
        return "\n".join(str(block.get("text", "")) for block in self.content if block.get("type") == "text")


class Client(Protocol):
    """The other end of a call."""

    @property
    def name(self) -> str:
        """Name and version of the client, as it states them; empty if it does not."""
        ...

    def admit(self, schema: JSON) -> None:
        """Refuse a call that the client's protocol does not allow.

        Args:
            schema: The tool's input schema.
        """
        ...

    async def relay(self, config: ServerConfig, send: Callable[[Peer | None], Awaitable[Result]]) -> Result:
        """Send a call to a server so that the server's questions reach this client.

        Args:
            config: The server.
            send: Sends the call for a peer; None if no one can be asked.
        """
        ...

    async def attended(self, work: Callable[[Client], Awaitable[Result]]) -> Result:
        """Run several calls as one, with a client whose person can be asked between them and in them.

        Args:
            work: Makes the calls.

        Returns:
            What `work` returns, or a question; the request that brings the answer goes on where the work waits.
        """
        ...

    async def confirm(self, question: str) -> bool | None:
        """Ask the person behind the client to confirm something, in work that is attended.

        Returns:
            Whether the person does; None if nobody can be asked.
        """
        ...


class _NoClient:
    """See `NO_CLIENT`."""

    name = f"Thresher {__version__}"

    def admit(self, schema: JSON) -> None:
        """See `Client.admit`."""

    async def relay(self, config: ServerConfig, send: Callable[[Peer | None], Awaitable[Result]]) -> Result:  # noqa: ARG002 - the protocol's signature
        """See `Client.relay`."""
        return await send(None)

    async def attended(self, work: Callable[[Client], Awaitable[Result]]) -> Result:
        """See `Client.attended`."""
        return await work(self)

    async def confirm(self, question: str) -> None:
        """See `Client.confirm`."""


NO_CLIENT: Final[Client] = _NoClient()
"""The other end of calls that come from inside this process: it cannot be asked anything."""


class PackTools(Protocol):
    """The tools of packs, as the code that runs them offers them from above."""

    async def ready(self, caller: Caller, *, wait: bool = True) -> Packs:
        """The caller's packs, with their tools in the catalogue.

        Args:
            caller: Who asks.
            wait: Whether to wait, for a bounded time, for tools that are not there yet.
        """
        ...

    def listed(self, caller: Caller) -> Mapping[str, frozenset[str]]:
        """The tools that packs in use add to `tools/list`: their own names, by server."""
        ...

    async def run(self, client: Client, caller: Caller, resolved: Resolved, arguments: JSON) -> Result:
        """Run a tool of a pack.

        Raises:
            ThresherError: It cannot be run, or fails.
        """
        ...


def server_of(pack: Pack, group: str = "pack") -> str:
    """The name of the server that tools of a pack form; packs of one name in two projects are two."""
    where = f":{hashlib.sha256(str(pack.path).encode()).hexdigest()[:8]}" if pack.origin == "project" else ""
    return f"{pack.name}:{group}{where}"
