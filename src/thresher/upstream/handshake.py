"""Agrees with a server on a protocol revision: the stateless one of 2026-07-28, or a session of the older kind.

Invariant: at most one of the two is in use in the end; a server that ignores unknown requests costs half a second
once, and nothing if its era is remembered.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from importlib.metadata import version
from typing import Any, Literal, TypeAlias, cast

from mcp.shared.exceptions import MCPError
from mcp.shared.inbound import (
    MCP_METHOD_HEADER,
    MCP_NAME_HEADER,
    MCP_PROTOCOL_VERSION_HEADER,
    NAME_BEARING_METHODS,
    encode_header_value,
)
from mcp_types import (
    CLIENT_CAPABILITIES_META_KEY,
    CLIENT_INFO_META_KEY,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    PROTOCOL_VERSION_META_KEY,
    SERVER_INFO_META_KEY,
    UNSUPPORTED_PROTOCOL_VERSION,
    ClientCapabilities,
    InitializeResult,
)
from mcp_types.version import (
    HANDSHAKE_PROTOCOL_VERSIONS,
    LATEST_HANDSHAKE_VERSION,
    LATEST_MODERN_VERSION,
    MODERN_PROTOCOL_VERSIONS,
)
from pydantic import ValidationError

from thresher.core import JSON
from thresher.upstream.transport.channel import Channel
from thresher.upstream.transport.errors import ErrorStatus, TransportError, Unusable
from thresher.upstream.transport.messages import Message

_SESSION_VERSIONS = frozenset(HANDSHAKE_PROTOCOL_VERSIONS)

Era: TypeAlias = Literal["", "session", "stateless"]
"""The remembered kind of protocol of a server; empty if unknown."""
_NO_SESSIONS = frozenset({UNSUPPORTED_PROTOCOL_VERSION, METHOD_NOT_FOUND, INVALID_REQUEST, INVALID_PARAMS})
"""Errors with which servers that support only the newest revision answer the older handshake."""
NO_SESSION_STATUS = frozenset({HTTPStatus.BAD_REQUEST, HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED})
"""Statuses, without an error of the protocol, of servers that do not speak an era."""
CLIENT: Mapping[str, str] = {"name": "thresher", "version": version("thresher")}


@dataclass(frozen=True, slots=True)
class Agreement:
    """The result of a handshake.

    Attributes:
        version: The protocol revision.
        capabilities: The server's capabilities, as JSON.
        instructions: The server's instructions for use.
        server_version: The server's own version; empty if it does not report one.
    """

    version: str
    capabilities: JSON
    instructions: str
    server_version: str

    @property
    def stateless(self) -> bool:
        """Whether requests are independent of a session (2026-07-28)."""
        return self.version in MODERN_PROTOCOL_VERSIONS

    @property
    def era(self) -> Era:
        """The era to remember for the next connection."""
        return "stateless" if self.stateless else "session"

    def offers(self, capability: str, feature: str = "") -> bool:
        """Whether the server has a capability and, if named, a feature of it such as `listChanged`."""
        found: object = self.capabilities.get(capability)
        if not isinstance(found, Mapping):
            return False
        return not feature or bool(cast("Mapping[str, Any]", found).get(feature))


def declared(capabilities: ClientCapabilities) -> dict[str, Any]:
    """Capabilities as JSON; changes of roots are not declared, because they are not passed on."""
    shown = capabilities.model_dump(by_alias=True, mode="json", exclude_none=True)
    return {**shown, "roots": {}} if "roots" in shown else shown


def envelope(revision: str, capabilities: Mapping[str, Any]) -> dict[str, Any]:
    """The `_meta` of a stateless request."""
    return {
        PROTOCOL_VERSION_META_KEY: revision,
        CLIENT_INFO_META_KEY: CLIENT,
        CLIENT_CAPABILITIES_META_KEY: capabilities,
    }


def routing(revision: str, method: str, params: Mapping[str, Any]) -> dict[str, str]:
    """The HTTP headers of a stateless request, which repeat fields of its body."""
    headers = {MCP_PROTOCOL_VERSION_HEADER: revision, MCP_METHOD_HEADER: method}
    name = params.get(NAME_BEARING_METHODS.get(method, ""))
    if isinstance(name, str):
        headers[MCP_NAME_HEADER] = encode_header_value(name)
    return headers


async def shake_hands(
    channel: Channel, capabilities: ClientCapabilities, *, era: Era, known: Era, probe: float, beside: bool
) -> Agreement:
    """Agree on a revision.

    Args:
        channel: An open channel that was not used yet.
        capabilities: The capabilities to declare.
        era: The kind to try first.
        known: The remembered era of the server. If it differs from `era`, any failure of the first attempt leads to
            the other kind.
        probe: Seconds to wait for the newest revision's answer before the older handshake.
        beside: Whether the older handshake then runs beside the newest one instead of replacing it: a slow child may
            still answer the first, and its answer to the second shows which of them counts.

    Raises:
        MCPError: The server refuses, or supports no common revision.
        TransportError: It failed below JSON-RPC.
        ValidationError: Its answer does not follow the protocol.
    """
    offered = declared(capabilities)
    if era == "session":
        try:
            return await _session(channel, offered)
        except (MCPError, TransportError, ValidationError) as error:
            if known == era and not _has_no_sessions(error):
                raise
    asking = asyncio.create_task(_discover(channel, offered))
    try:
        await asyncio.wait({asking}, timeout=probe)
        if asking.done():
            found = _found(asking)
            return await _session(channel, offered) if found is None else _stateless(channel, found)
        if not beside:
            return await _session(channel, offered)
        try:
            return await _session(channel, offered)
        except MCPError as refusal:
            found = _found(asking) if asking.done() else None
            if found is None:
                raise
            if not _has_no_sessions(refusal):
                raise
            return _stateless(channel, found)
    finally:
        asking.cancel()


def _has_no_sessions(error: Exception) -> bool:
    """Whether this answer to the older handshake may mean that the server supports only the newest revision."""
    if isinstance(error, MCPError):
        return error.code in _NO_SESSIONS
    return isinstance(error, ErrorStatus) and error.status in NO_SESSION_STATUS


async def _discover(channel: Channel, offered: Mapping[str, Any]) -> Message:
    params = {"_meta": envelope(LATEST_MODERN_VERSION, offered)}
    headers = routing(LATEST_MODERN_VERSION, "server/discover", params)
    return await channel.request("server/discover", params, seconds=None, headers=headers)


def _found(asking: asyncio.Task[Message]) -> Message | None:
    """The server's answer to the newest revision's discovery; None if it does not support that revision.

    Raises:
        MCPError: It supports only revisions that we do not.
        TransportError: It cannot be reached, which says nothing about revisions.
    """
    try:
        answer = asking.result()
    except MCPError as error:
        supported = (
            _texts(cast("Mapping[str, Any]", error.data).get("supported")) if isinstance(error.data, Mapping) else []
        )
        if error.code == UNSUPPORTED_PROTOCOL_VERSION and supported and not {*supported} & _SESSION_VERSIONS:
            raise
        return None
    except (ErrorStatus, Unusable):
        return None
    except asyncio.CancelledError:
        raise Unusable("it was given up") from None
    return answer if set(_texts(answer.get("supportedVersions"))) & {*MODERN_PROTOCOL_VERSIONS} else None


def _texts(value: object) -> list[str]:
    return [item for item in cast("list[object]", value) if isinstance(item, str)] if isinstance(value, list) else []


def _stateless(channel: Channel, found: Message) -> Agreement:
    mutual = [known for known in MODERN_PROTOCOL_VERSIONS if known in _texts(found.get("supportedVersions"))]
    channel.version = mutual[-1]
    capabilities: object = found.get("capabilities")
    meta: object = found.get("_meta")
    info: object = cast("Mapping[str, Any]", meta).get(SERVER_INFO_META_KEY) if isinstance(meta, Mapping) else None
    instructions: object = found.get("instructions")
    return Agreement(
        version=mutual[-1],
        capabilities=cast("JSON", capabilities) if isinstance(capabilities, Mapping) else {},
        instructions=instructions if isinstance(instructions, str) else "",
        server_version=str(cast("Mapping[str, Any]", info).get("version", "")) if isinstance(info, Mapping) else "",
    )


async def _session(channel: Channel, offered: Mapping[str, Any]) -> Agreement:
    params = {"protocolVersion": LATEST_HANDSHAKE_VERSION, "capabilities": offered, "clientInfo": CLIENT}
    raw = await channel.request("initialize", params, seconds=None)
    result = InitializeResult.model_validate(raw, by_name=False)
    if result.protocol_version not in HANDSHAKE_PROTOCOL_VERSIONS:
        raise Unusable(f"Unsupported protocol version from the server: {result.protocol_version[:40]}")
    channel.version = result.protocol_version
    await channel.begin()
    return Agreement(
        version=result.protocol_version,
        capabilities=cast("JSON", raw.get("capabilities", {})),
        instructions=result.instructions or "",
        server_version=result.server_info.version,
    )
