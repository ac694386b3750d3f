"""The verbs of intents: what the router knows, what it makes of a message, and how well it did."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from annotated_types import Gt
from typing_extensions import Doc

from thresher.verbs.declaration import Kind, Request

if TYPE_CHECKING:
    from thresher.knowledge.intents import Decision, IntentInfo, IntentStatistics

INTENTS = Kind("intents", "thresher.knowledge.intents", remote=False)


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
