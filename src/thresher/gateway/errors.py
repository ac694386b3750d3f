"""Turns errors into what MCP clients understand; no other module of the gateway does.

Invariant: a client reads what happened, what to do about it and a trace id; of an unexpected error it reads the
trace id alone, and the log holds the rest. A failure affects only the request that it belongs to.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable
from typing import Any, TypeVar, cast

from mcp import MCPError
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    URL_ELICITATION_REQUIRED,
    CallToolResult,
    TextContent,
)
from pydantic import ValidationError

from thresher.core import CallerText, InvalidInput, NotFound, ThresherError, current_trace, event, traced

logger = logging.getLogger("thresher.gateway")

R = TypeVar("R")

FOR_THE_CLIENT = frozenset({MISSING_REQUIRED_CLIENT_CAPABILITY, URL_ELICITATION_REQUIRED})
"""Errors of a tool call that the client's program, and not the model, has to act upon."""


async def answered(work: Awaitable[R]) -> R | CallToolResult:
    """Await a tool call; an error becomes a tool error, so that the model can read it and try again.

    Raises:
        MCPError: A protocol error that the client has to see as one.
    """
    with traced() as trace:
        try:
            return await work
        except ThresherError as error:
            event(logger, "refused", code=error.code, message=CallerText(error.message))
            if _code(error) in FOR_THE_CLIENT:
                raise _protocol_error(error, trace) from error
            text = f"{error} [trace {trace}]"
        except MCPError:
            raise
        except Exception as error:  # noqa: BLE001 - the gateway's outermost frame
            text = _unforeseen(error)
    return CallToolResult(content=[TextContent(type="text", text=text)], is_error=True)


async def explained(work: Awaitable[R]) -> R:
    """Await anything without a place for a tool error, such as a listing: the request fails, and is never empty.

    Raises:
        MCPError: For every error, with hint and trace id in the message and in its data.
    """
    with traced() as trace:
        try:
            return await work
        except ThresherError as error:
            event(logger, "refused", code=error.code, message=CallerText(error.message))
            raise _protocol_error(error, trace) from error
        except (MCPError, ValidationError):
            raise
        except Exception as error:
            raise MCPError(code=INTERNAL_ERROR, message=_unforeseen(error), data={"trace_id": trace}) from error


def _code(error: ThresherError) -> int:
    """Return the code of the JSON-RPC error that a server returned; 0 if it returned none."""
    return getattr(error, "rpc_code", 0)


def _protocol_error(error: ThresherError, trace: str) -> MCPError:
    ours = INVALID_PARAMS if isinstance(error, InvalidInput | NotFound) else INTERNAL_ERROR
    theirs = getattr(error, "rpc_data", None)
    data = {"code": error.code, "hint": error.hint, "trace_id": trace}
    data |= cast("dict[str, Any]", theirs) if isinstance(theirs, dict) else {}
    return MCPError(code=_code(error) or ours, message=f"{error} [trace {trace}]", data=data)


def _unforeseen(error: Exception) -> str:
    logger.error("unforeseen", exc_info=error, extra={"fields": {"kind": type(error).__name__}})
    return f"Something went wrong inside Thresher. Its log tells more under this trace id. [trace {current_trace()}]"
