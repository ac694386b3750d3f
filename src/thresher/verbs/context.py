"""The verbs of enrichment, of the intents that it chooses between, and of the packs that intents come from."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from annotated_types import Ge, Gt, Le
from typing_extensions import Doc

from thresher.verbs.declaration import Exact, Kind, implementation

if TYPE_CHECKING:
    from thresher.context import ContextExplanation, Prompt
    from thresher.core import ContextPack
    from thresher.knowledge.intents import Decision, IntentInfo, IntentStatistics
    from thresher.verbs.request import Request

CONTEXT = Kind("context", "thresher.context")
INTENTS = Kind("intents", "thresher.knowledge.intents", remote=False)
PACKS = Kind("packs", "thresher.knowledge.intents", remote=False, local=True)

Words: TypeAlias = Annotated[str, Doc("The user's words")]
History: TypeAlias = Annotated[list[str], Doc("The last turns, oldest first")]
Queries: TypeAlias = Annotated[list[str], Doc("Short action phrases, one for each task")]
Files: TypeAlias = Annotated[list[str], Doc("Relevant files, as the client names them")]
PieceKind: TypeAlias = Literal["rules", "tools", "passages", "endpoints", "schemas"]
_NONE: list[str] = []
_NO_THRESHOLDS: dict[str, float] = {}


@CONTEXT.verb("read")
async def process_prompt(
    request: Request, prompt: Words, history: History = _NONE, queries: Queries = _NONE, files: Files = _NONE
) -> Prompt:
    """The rules that a prompt needs, with the tools of their packs; `PASS_THROUGH` if no rules fit.

    Raises:
        InvalidInput: An argument is out of bounds.
        StoreUnavailable: The database does not answer, and nothing is known of the caller's packs yet.
    """
    return await request.services.context.process_prompt(
        request.caller, prompt, history=history, queries=queries, files=files, delivers=request.reader != "person"
    )


@CONTEXT.verb("read")
async def get_context(
    request: Request,
    message: Words,
    budget: Annotated[int, Exact(), Ge(1), Le(1_000_000), Doc("Most tokens (o200k) of the answer")] = 4_000,
    history: History = _NONE,
    queries: Queries = _NONE,
    files: Files = _NONE,
    cursor: Annotated[str, Doc("Of the last answer to the same question: returns what it left out")] = "",
) -> ContextPack:
    """What a message needs of everything that is known, inside one token budget.

    Raises:
        InvalidInput: An argument is out of bounds, or the budget is too small for anything.
        InvalidCursor: The cursor belongs to another question, or the content has changed.
        StoreUnavailable: The database does not answer, and nothing is known of the caller's packs yet.
    """
    return await request.services.context.get_context(
        request.caller,
        message,
        budget=budget,
        history=history,
        queries=queries,
        files=files,
        cursor=cursor,
        delivers=request.reader != "person",
    )


@CONTEXT.verb("read")
async def explain_context(
    request: Request,
    message: Words,
    history: History = _NONE,
    queries: Queries = _NONE,
    files: Files = _NONE,
    budget: Annotated[int, Exact(), Ge(1), Le(1_000_000), Doc("Most tokens of the context")] = 4_000,
    find_budget: Annotated[
        Annotated[int, Ge(50), Le(4_000)] | None, Doc("Most tokens of the answer of find_tools; by default the setting")
    ] = None,
    servers: Annotated[list[str] | None, Doc("Only tools of these servers")] = None,
    threshold: Annotated[Annotated[float, Ge(0), Le(1)] | None, Doc("The least probability that a tool fits")] = None,
    thresholds: Annotated[
        dict[str, Annotated[float, Ge(0), Le(1)]], Doc("The least scores of intents, by name; `*` for all others")
    ] = _NO_THRESHOLDS,
    kinds: Annotated[list[PieceKind] | None, Doc("Only these kinds in the context")] = None,
    limit: Annotated[int, Ge(0), Le(200), Doc("The best so many tools and intents, chosen or not")] = 20,
    expected: Annotated[list[str], Doc("Tools that are named with their rank and the reason in any case")] = _NONE,
) -> ContextExplanation:
    """What process_prompt, find_tools and get_context make of a message, and why; nothing of it is recorded.

    Raises:
        InvalidInput: An argument is out of bounds, or the budget is too small for anything.
        NotFound: There is no such server or intent.
        StoreUnavailable: The database does not answer, and nothing is known of the caller's packs yet.
    """
    trial = CONTEXT.imported("Trial")(servers, threshold, thresholds, kinds)
    return await request.services.context.explain(
        request.caller,
        message,
        history=history,
        queries=queries,
        files=files,
        budget=budget,
        find_budget=find_budget,
        trial=trial,
        limit=limit,
        expected=expected,
    )


@INTENTS.verb("read", key="intents")
async def list_intents(request: Request) -> tuple[IntentInfo, ...]:
    """The intents in use, by name."""
    return await request.services.intents.intents(request.caller)


@INTENTS.verb("read")
async def explain_intents(
    request: Request,
    message: Annotated[str, Doc("The user's message")],
    history: Annotated[tuple[str, ...], Doc("The user's turns before, oldest first")] = (),
    queries: Annotated[tuple[str, ...], Doc("What the calling model wants to do, one task each")] = (),
    files: Annotated[tuple[str, ...], Doc("Paths that the message is about")] = (),
) -> Decision:
    """What the router makes of a message, with the scores of every intent; nothing is recorded.

    Raises:
        InvalidInput: The message is empty.
    """
    return await request.services.intents.explain(
        request.caller, message, history=history, queries=queries, files=files
    )


@INTENTS.verb("read")
async def intent_stats(
    request: Request, days: Annotated[float, Gt(0), Doc("Over how many days")] = 30.0
) -> IntentStatistics:
    """What people ask for, and where the router may be wrong.

    Raises:
        InvalidInput: The period is too long.
    """
    return await request.services.intents.stats(request.caller, days)


@INTENTS.verb("admin", idempotent=True)
async def set_threshold(
    request: Request,
    name: Annotated[str, Doc("The intent's name")],
    value: Annotated[float | None, Doc("The least score that matches; null: the fitted one")] = None,
) -> dict[str, Any]:
    """Set the least score that matches an intent, or go back to the fitted one.

    Raises:
        InvalidInput: The value is out of bounds.
        NotFound: There is no such intent.
    """
    intents = request.services.intents
    await intents.set_threshold(request.caller, name, value)
    infos = await intents.intents(request.caller)
    return next((asdict(info) for info in infos if info.name == name), {"name": name, "threshold": None})


@PACKS.verb("read")
async def list_packs(request: Request) -> dict[str, Any]:
    """The packs that are in use, those that are not, with the reason, and what could not be read."""
    return await implementation("packs").list_packs(request)


@PACKS.verb("read")
async def show_pack(
    request: Request,
    name: Annotated[str, Doc("Its name or path")],
    waiting: Annotated[bool, Doc("Of packs of one name, the one that can be trusted and not the one in use")] = False,
) -> dict[str, Any]:
    """One pack in full; if it is not in use, with the reason.

    Raises:
        NotFound: There is no such pack.
        Conflict: Several packs that are not in use have this name.
    """
    return await implementation("packs").show_pack(request, name, waiting=waiting)


@PACKS.verb("admin", idempotent=True)
async def trust_pack(
    request: Request, name: str, digest: Annotated[str, Doc("Of the content that was shown")]
) -> dict[str, Any]:
    """Use a project's pack while it has exactly the content that was shown.

    Raises:
        NotAllowed: The caller is not the owner of the data folder.
        NotFound: There is no such pack.
        Conflict: It has other content by now.
    """
    return await implementation("packs").trust_pack(request, name, digest)


@PACKS.verb("admin", key="name", idempotent=True)
async def untrust_pack(request: Request, name: str) -> str:
    """Do not use a project's pack any longer.

    Raises:
        NotAllowed: The caller is not the owner of the data folder.
        NotFound: There is no such pack, or it is not trusted.
    """
    request.check_owner()
    await request.services.intents.untrust(request.caller, name)
    return name
