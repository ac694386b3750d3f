"""Finds out what a message needs: which intents, which tools, whose rules.

Invariant: whatever cannot be found out is left out and noted; a turn never fails because of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from thresher.agent.offers import DOCUMENTS, OWN_PACKS, joined
from thresher.agent.turn_context import TurnContext
from thresher.context import Needs
from thresher.core import Caller, Rule, ThresherError
from thresher.embedding import count_tokens

T = TypeVar("T")

SECONDS: Final = 15.0
REPOSITORIES: Final = "list_repositories"
CONNECTIONS: Final = "sql_connection_list"
RULES_TOKENS: Final = 4_000
"""Most tokens of rules for one message."""
AROUND_TOKENS: Final = 400
"""Most tokens of the prompt's list of repositories and databases."""
_MESSAGE: Final = 4_000
"""Characters of a message that are considered."""


_READ_IN_HISTORY: Final = {"retrieve_document", "retrieve_documents", "read_document", *DOCUMENTS}
"""Tools that read documents in a way that would leave their text in the history."""


@dataclass(frozen=True, slots=True)
class TurnNeeds:
    """What a message needs.

    Attributes:
        intents: Names of packs, best first.
        offered: Names of tools, in the model's order.
        rules: Of those packs, as the model reads them.
        around: The repositories and databases that exist.
        all_tools: Tokens of the definitions of all enabled tools; 0 if none were searched.
    """

    intents: tuple[str, ...] = ()
    offered: tuple[str, ...] = ()
    rules: str = ""
    around: str = ""
    all_tools: int = 0


async def detect(context: TurnContext, message: str, former: Sequence[str], offered: Sequence[str]) -> TurnNeeds:
    """Find out what a message needs.

    Args:
        context: The turn.
        message: The person's words; after a failure followed by the error.
        former: Earlier messages, oldest first.
        offered: Names of tools that the conversation has already.
    """
    settings = context.settings
    core = await context.offers.core()
    found, around = await asyncio.gather(_found(context, message[:_MESSAGE], former[-4:]), _around(context, core))
    await context.offers.describe([*offered, *found.tools])
    wanted = [tool.name for tool in context.offers.known(found.tools) if tool.name not in _READ_IN_HISTORY]
    whole = joined(offered, core, wanted[: settings.tools], 2 * settings.tools)
    there = tuple(tool.name for tool in context.offers.known(whole))
    return TurnNeeds(found.intents, there, _rules(context, found.rules), around, found.all_tokens)


async def _found(context: TurnContext, message: str, former: Sequence[str]) -> Needs:
    """Return the packs and tools for a message."""
    settings = context.settings
    search = settings.servers or settings.packs
    if not message.strip() or not search:
        return Needs()
    found = await _or_note(
        context,
        "find_tools",
        context.services.context.needs(
            context.caller,
            message,
            history=former,
            known=OWN_PACKS,
            packs=settings.packs,
            tools=min(10, settings.tools),
        ),
        Needs(),
    )
    for note in found.notes:
        context.account.note(note[:300])
    return found


async def _or_note(context: TurnContext, name: str, work: Awaitable[T], otherwise: T) -> T:
    """Return the result of some work; a failure is noted."""
    try:
        async with asyncio.timeout(SECONDS):
            return await work
    except TimeoutError:
        problem = f"{name} did not answer within {SECONDS:g} s."
    except ThresherError as error:
        problem = str(error)
    context.account.note(f"{name} failed, so the tools may not fit: {problem[:200]}")
    return otherwise


def _rules(context: TurnContext, rules: Sequence[Rule]) -> str:
    """Return rules of packs other than those of the tools that every conversation has, as far as they fit."""
    parts, room = list[str](), RULES_TOKENS
    for rule in rules:
        text = f"# Rules of {rule.intent} for this message\n\n{rule.text}"
        if (cost := count_tokens(text)) > room:
            context.account.note(f"The rules of {rule.intent} have {cost:,} tokens and were left out.")
            continue
        parts.append(text)
        room -= cost
    return "\n\n".join(parts)


async def _around(context: TurnContext, core: Sequence[str]) -> str:
    """Return the repositories and databases, a line each."""
    repositories, connections = await asyncio.gather(
        _listed(context, core, REPOSITORIES, context.services.documents.list_repositories),
        _listed(context, core, CONNECTIONS, context.services.databases.list_connections),
    )
    parts = list[str]()
    if repositories:
        lines = [_line(one.name, one.description) for one in repositories]
        parts.append("\n".join(["Documents that can be searched:", *_within(lines)]))
    if connections:
        lines = [_line(one.name, one.description, one.dialect) for one in connections]
        parts.append("\n".join(["Databases that can be asked:", *_within(lines)]))
    names = None if connections is None else [one.name for one in connections]
    return "\n\n".join(filter(None, (*parts, _meant(context, names))))


async def _listed(
    context: TurnContext, core: Sequence[str], tool: str, listing: Callable[[Caller], Awaitable[Sequence[T]]]
) -> Sequence[T] | None:
    """Return what a tool that is offered lists; None if it could not be listed."""
    return await _or_note(context, tool, listing(context.caller), None) if tool in core else ()


def _meant(context: TurnContext, names: Sequence[str] | None) -> str:
    """Name the default database; a chosen one that does not exist is noted.

    Args:
        context: The turn.
        names: Of the databases; None if they could not be listed.
    """
    chosen = context.settings.connection
    if not chosen or not context.settings.sql or names is None:
        return ""
    if chosen in names:
        return f"Where no database is named, {chosen} is meant."
    context.account.note(
        f"The setting connection names '{chosen}', but no database has this name; the setting is ignored."
    )
    return ""


def _line(name: str, description: str, dialect: str = "") -> str:
    about = " ".join(description.split())[:120]
    return f"- {name}{f' ({dialect})' if dialect else ''}{f': {about}' if about else ''}"


def _within(lines: Sequence[str]) -> list[str]:
    taken, room = list[str](), AROUND_TOKENS
    for line in lines:
        if (cost := count_tokens(line)) > room:
            return [*taken, f"- and {len(lines) - len(taken)} more"]
        taken.append(line)
        room -= cost
    return taken
