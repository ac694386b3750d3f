"""Runs one tool of a pack, and turns its result or error into an answer for the client.

Invariant: a client reads what the function returned, or one sentence about the error; the traceback is in the log,
under the trace id that the client gets. No function ends the daemon.
"""

from __future__ import annotations

import asyncio
import json
import logging
from typing import Any, cast

import anyio
from fastmcp import FastMCP
from fastmcp.exceptions import FastMCPError, ValidationError
from fastmcp.server.context import Context
from fastmcp.server.dependencies import bind_request_context
from fastmcp.tools import FunctionTool, InputRequiredToolResult, ToolResult
from mcp import MCPError
from mcp.server.connection import Connection
from mcp.server.context import ServerRequestContext
from mcp.server.session import ServerSession
from mcp.shared.dispatcher import DispatchContext
from mcp.shared.exceptions import NoBackChannelError
from mcp.shared.transport_context import TransportContext
from mcp_types import CallToolResult
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError as PydanticValidationError

from thresher.calling import Result
from thresher.core import JSON, InvalidInput, ThresherError, UpstreamError, UpstreamTimeout, dumps, problems_of
from thresher.gateway.callers import modern
from thresher.gateway.calls import question_of
from thresher.gateway.confirmation import QuestionForClient
from thresher.gateway.packs.code import error_location, error_text
from thresher.knowledge.intents import Pack

logger = logging.getLogger("thresher.gateway")


class _NoChannel:
    """The back-channel of a call from inside this process: there is no client to ask or notify."""

    transport = TransportContext(kind="inside", can_send_request=False)
    can_send_request = False
    request_id = message_metadata = None

    def __init__(self) -> None:
        self.cancel_requested = anyio.Event()

    async def send_raw_request(self, method: str, _params: object, _opts: object = None) -> dict[str, Any]:
        raise NoBackChannelError(method)

    async def notify(self, _method: str, _params: object, _opts: object = None) -> None:
        return

    async def progress(self, _progress: float, _total: float | None = None, _message: str | None = None) -> None:
        return


def unattended() -> ServerRequestContext[Any, Any]:
    """Return the request that a tool sees if its call comes from inside this process and not from a client."""
    version = max(MODERN_PROTOCOL_VERSIONS)
    channel = cast("DispatchContext[TransportContext]", _NoChannel())
    session = ServerSession(channel, Connection.from_envelope(version, None, {}))
    return ServerRequestContext(
        session=session, lifespan_context={}, protocol_version=version, method="tools/call", params={}, request_id="1"
    )


async def run_tool(
    server: FastMCP[Any],
    context: ServerRequestContext[Any, Any],
    pack: Pack,
    tool: FunctionTool,
    arguments: JSON,
    seconds: float,
) -> Result:
    """Run a tool as FastMCP does: with its `Context`, its dependencies and its conversion of results.

    Args:
        server: The server that the function sees.
        context: The client's request.
        pack: The pack of the tool.
        tool: The tool.
        arguments: As in its schema.
        seconds: The time limit.

    Returns:
        The result, or the function's question for its client.

    Raises:
        UpstreamTimeout: It took too long; a blocking function was told to stop.
        UpstreamError: It failed.
        InvalidInput: The arguments are not valid.
        ThresherError: As the function raised it.
        MCPError: As the function raised it.
    """
    limit = asyncio.timeout(seconds)
    try:
        with bind_request_context(context):
            async with Context(fastmcp=server), limit:
                result = await tool.run(dict(arguments))
        return _answer(context, pack, tool, result)
    except QuestionForClient as question:
        return question_of(question.result)
    except (ThresherError, MCPError):
        raise
    except ValidationError as error:
        raise InvalidInput(f"{tool.name}: {_refused(error)}.", hint="describe_tools shows the schema.") from error
    except FastMCPError as error:  # what the author wrote for the model
        raise UpstreamError(f"{tool.name}: {error}") from error
    except TimeoutError as error:
        if not limit.expired():
            raise _failed(pack, tool, error) from error
        raise UpstreamTimeout(
            f"'{tool.name}' of the pack '{pack.name}' took longer than {seconds:g} s and was stopped.",
            hint="Ask for less in one call.",
        ) from error
    except BaseException as error:
        if isinstance(error, asyncio.CancelledError) and is_cancelled():
            raise
        raise _failed(pack, tool, error) from error


def is_cancelled() -> bool:
    """Return whether the current task was cancelled, and the error was not just raised by its code."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _refused(error: ValidationError) -> str:
    """Return which arguments are not valid: pydantic's error, which has them, is the cause of FastMCP's."""
    cause = error.__cause__
    return problems_of(cause) if isinstance(cause, PydanticValidationError) else error_text(error).rstrip(".")


def _failed(pack: Pack, tool: FunctionTool, error: BaseException) -> UpstreamError:
    logger.error("pack_tool", exc_info=error, extra={"fields": {"pack": pack.name, "tool": tool.name}})
    return UpstreamError(
        f"'{tool.name}' of the pack '{pack.name}' failed: {error_text(error)}{error_location(error, pack)}"
    )


def _answer(context: ServerRequestContext[Any, Any], pack: Pack, tool: FunctionTool, result: ToolResult) -> Result:
    if not isinstance(result, InputRequiredToolResult):
        answer = CallToolResult(
            content=result.content,
            structured_content=result.structured_content,
            is_error=result.is_error,
            _meta=result.meta,  # pyright: ignore[reportCallIssue] - the field's alias
        )
        whole = answer.model_dump(by_alias=True, exclude_none=True, mode="json")
        # Through our own JSON: what no client could read - a lone surrogate, NaN - is replaced.
        return Result(json.loads(dumps(whole)))
    if modern(context):
        return question_of(result.input_required)
    raise UpstreamError(
        f"'{tool.name}' of the pack '{pack.name}' asks its user in a way that this client does not support.",
        hint="Use a client of MCP 2026-07-28.",
    )
