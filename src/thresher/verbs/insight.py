"""The verbs of insight: what the logs tell, and what waits for a person."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, TypeAlias

from annotated_types import Ge, Gt, Le
from typing_extensions import Doc

from thresher.verbs.declaration import Kind, implementation

if TYPE_CHECKING:
    from thresher.insight import Attention, CallPage, IntentHistory, UnansweredMessages, UsageSummary
    from thresher.verbs.request import Request

INSIGHT = Kind("insight", "thresher.insight", remote=False)

Days: TypeAlias = Annotated[float, Gt(0), Le(366), Doc("Over how many days")]
Limit: TypeAlias = Annotated[int, Ge(1), Le(500), Doc("Most entries")]


@INSIGHT.verb("read")
async def usage_summary(request: Request, days: Days = 7.0) -> UsageSummary:
    """Messages, searches, calls, failures, times and tokens saved, by day and in all; calls by server and tool."""
    return await request.services.insight.usage(request.caller, days)


@INSIGHT.verb("read")
async def unanswered_messages(
    request: Request,
    days: Days = 7.0,
    limit: Limit = 50,
    passed: Annotated[bool, Doc("With prompts that no rules fit, which a model may well answer by itself")] = False,
) -> UnansweredMessages:
    """Searches without a result and messages that got nothing, equal ones together, the newest first."""
    return await request.services.insight.unanswered(request.caller, days, limit, passed=passed)


@INSIGHT.verb("read")
async def intent_history(request: Request, days: Days = 30.0) -> IntentHistory:
    """How often each intent matched, by day."""
    return await request.services.insight.intents(request.caller, days)


@INSIGHT.verb("read")
async def list_calls(
    request: Request,
    server: Annotated[str | None, Doc("Only of this server's tools")] = None,
    tool: Annotated[str | None, Doc("Only of this tool, as it is called")] = None,
    failed: Annotated[bool | None, Doc("Only calls that failed, or only others")] = None,
    days: Days = 7.0,
    limit: Limit = 50,
    before: Annotated[
        Annotated[int, Ge(1), Le(2**63 - 1)] | None, Doc("`next` of the page before: what comes after it")
    ] = None,
) -> CallPage:
    """The log of calls of tools, without their arguments, the newest first."""
    return await request.services.insight.calls(
        request.caller, server=server, tool=tool, failed=failed, days=days, limit=limit, before=before
    )


@INSIGHT.verb("read")
async def attention(request: Request) -> Attention:
    """What waits for a person: tools held back, packs, failed jobs, servers, stale sources; each with what to do."""
    return await implementation("attention").attention(request)
