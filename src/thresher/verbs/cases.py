"""The verbs of test cases: messages that a person saved, with what should come for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from annotated_types import Ge, Le
from typing_extensions import Doc

from thresher.verbs.declaration import Exact, Kind

if TYPE_CHECKING:
    from thresher.cases import Case, CaseRun, CasesImported
    from thresher.verbs.request import Request

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
