"""The verbs of insight and test cases: what the logs tell, what waits for a person, what should come for a message."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from annotated_types import Ge, Gt, Le
from typing_extensions import Doc

from thresher.verbs.declaration import Exact, Kind, implementation

if TYPE_CHECKING:
    from thresher.cases import Case, CaseRun, CasesImported
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


CASES = Kind("cases", "thresher.cases", remote=False)

Names: TypeAlias = dict[str, list[str]]
_NONE: Names = {}


@CASES.verb("write", idempotent=True)
async def add_case(
    request: Request,
    message: Annotated[str, Doc("The user's words")],
    needs: Annotated[Names, Doc("What must come, by kind: tools, intents, documents, endpoints, tables")] = _NONE,
    excluded: Annotated[Names, Doc("What must not come, by kind")] = _NONE,
    verb: Annotated[Literal["get_context", "find_tools"], Doc("What is asked")] = "get_context",
) -> Case:
    """Save a message with what should come for it; a case of the same message gets these names.

    Raises:
        InvalidInput: The message is empty or too long, or a kind or name is not valid.
    """
    return await request.services.cases.add(request.caller, message, needs, excluded, verb)


@CASES.verb("read", key="cases")
async def list_cases(request: Request) -> tuple[Case, ...]:
    """The test cases that you see, the oldest first."""
    return await request.services.cases.list_cases(request.caller)


@CASES.verb("write", key="removed", destroys=True)
async def remove_case(request: Request, case: Annotated[int, Ge(1), Le(2**63 - 1), Doc("Its number")]) -> int:
    """Remove a test case, with what it got in runs.

    Raises:
        NotFound: There is no case of this number that the caller may see.
        NotAllowed: It belongs to the tenant, and the caller is one of its users.
    """
    return await request.services.cases.remove(request.caller, case)


@CASES.verb("write", idempotent=True)
async def import_cases(
    request: Request,
    cases: Annotated[list[dict[str, Any]], Doc('{"message": text, "needs": {}, "excluded"?: {}, "verb"?: text}')],
) -> CasesImported:
    """Save cases in the format of `thresher eval context`; all of them, or none.

    Raises:
        InvalidInput: A case is not valid.
    """
    return await request.services.cases.import_cases(request.caller, cases)


@CASES.verb("read")
async def run_cases(
    request: Request,
    budget: Annotated[
        Annotated[int, Exact(), Ge(1), Le(1_000_000)] | None, Doc("Most tokens of each context; 4,000 by default")
    ] = None,
) -> CaseRun:
    """Ask all test cases as a client would, and say what changed since the last run and since yesterday.

    Raises:
        InvalidInput: The budget is too small for anything.
    """

    def follow(done: int, total: int) -> None:
        request.progress({"stage": "Asking", "done": done, "total": total})

    return await request.services.cases.run(request.caller, budget, follow)


@CASES.verb("read", key="run")
async def last_case_run(request: Request) -> CaseRun | None:
    """The last run of the test cases, with what changed before it; null without one."""
    return await request.services.cases.last(request.caller)


@CASES.verb("read", key="runs")
async def list_case_runs(
    request: Request, limit: Annotated[int, Ge(1), Le(100), Doc("Most runs")] = 20
) -> tuple[CaseRun, ...]:
    """The last runs of the test cases, the newest first, without what single cases got."""
    return await request.services.cases.runs(request.caller, limit)
