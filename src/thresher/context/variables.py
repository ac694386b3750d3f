"""Filling `{{NAME}}` in rule texts, also with what is known of databases, API providers, the project and the solution.

Invariant: a value is data: one line, bounded, and never searched for further variables; an undefined name is reported,
and a line that needs a missing value is left out. Nothing is requested of a database itself: what is not known yet is
missing.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import PurePath
from typing import TypeAlias

from thresher.core import Caller, InvalidInput, ThresherError, event, named, one_line, shortened
from thresher.knowledge.apis import ApiService
from thresher.knowledge.databases import Connection, DatabaseService, TableBrief
from thresher.knowledge.solutions import SolutionService

logger = logging.getLogger("thresher.context")

PROVIDER_SECONDS = 0.25
"""How long a value is awaited: rules without it are better than late rules."""
VALUE_CHARACTERS = 500
KNOWN = (
    "PROJECT_NAME",
    "ACTIVE_SOLUTION",
    "DATABASE_SERVERS",
    "DATABASE_CONNECTIONS",
    "AVAILABLE_DATASOURCES",
    "API_PROVIDERS",
    "USER_NAME",
    "RECENT_FILES",
)
"""Names that always exist, whether or not anything provides a value."""

_NAME = re.compile(r"[A-Z][A-Z0-9_]{0,63}")
_PLACE = re.compile(r"\{\{\s*([A-Za-z]\w{0,63})\s*\}\}", re.ASCII)
"""Any case: a lower-case name is not a variable, and its author is told."""
_HEADING = re.compile(r"(#{1,6})\s")
_RECENT = 10


@dataclass(frozen=True, slots=True)
class Situation:
    """What a provider may use: the caller, and the files that the client names as used last."""

    caller: Caller
    files: tuple[str, ...] = ()


Provider = Callable[[Situation], Awaitable[str | None]]
"""Returns a variable's value for one call; None or empty if there is none."""


@dataclass(frozen=True, slots=True)
class FilledText:
    """A text with its variables filled.

    Attributes:
        text: The text.
        without_value: Known names without a value; lines that name them are left out.
        unknown: Undefined names; they stay in the text as written.
    """

    text: str
    without_value: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()


@lru_cache(maxsize=1_024)
def names_in(text: str) -> tuple[str, ...]:
    """Return the variables that a text names, in order, each once."""
    return tuple(dict.fromkeys(_PLACE.findall(text))) if "{{" in text else ()


def filled(text: str, values: Mapping[str, str | None]) -> FilledText:
    """Insert values, and leave out the lines without one.

    Args:
        text: The text.
        values: Known names to values; None for one without a value.
    """
    names = names_in(text)
    missing = tuple(name for name in names if name in values and not values[name])
    kept = _without_lines(text, missing) if missing else text
    return FilledText(
        _PLACE.sub(lambda match: values.get(match[1]) or match[0], kept) if names else text,
        missing,
        tuple(name for name in names if name not in values),
    )


@lru_cache(maxsize=1_024)
def _without_lines(text: str, missing: tuple[str, ...]) -> str:
    """A text without the lines that name one of these variables, and without headings that are then empty."""
    kept: list[str] = []
    emptied = False
    for line in text.splitlines():
        if not _HEADING.match(line) and any(name in missing for name in _PLACE.findall(line)):
            emptied = True
            continue
        if emptied and (heading := _HEADING.match(line)):
            _drop_empty_section(kept, len(heading[1]))
            emptied = False
        kept.append(line)
    if emptied:
        _drop_empty_section(kept, 1)
    return "\n".join(kept) + ("\n" if text.endswith("\n") else "")


def _drop_empty_section(lines: list[str], level: int) -> None:
    """Remove a heading at the end, unless the next one, of this level, belongs to its section."""
    last = next((place for place in reversed(range(len(lines))) if lines[place].strip()), None)
    heading = _HEADING.match(lines[last]) if last is not None else None
    if heading and len(heading[1]) >= level:
        del lines[last:]


class Variables:
    """The providers of one process."""

    def __init__(self) -> None:
        self._providers: dict[tuple[str, str], Provider] = {
            ("", "PROJECT_NAME"): _project,
            ("", "USER_NAME"): _user,
            ("", "RECENT_FILES"): _recent,
        }

    def register(self, name: str, provider: Provider, *, pack: str = "") -> None:
        """Add a variable, or replace its provider.

        Args:
            name: Capitals, digits and underscores.
            provider: Provides its value.
            pack: Digest of the only pack whose rules may use it; by default all may.

        Raises:
            InvalidInput: The name is not valid.
        """
        if not _NAME.fullmatch(name):
            raise InvalidInput(
                f"{shortened(name, 80)!r} cannot be the name of a variable.", hint="Use capitals: A-Z, 0-9 and _."
            )
        self._providers[pack, name] = provider

    def forget(self, pack: str) -> None:
        """Remove the variables of one pack, named by its digest."""
        for key in [key for key in self._providers if key[0] == pack]:
            del self._providers[key]

    async def values(self, situation: Situation, names: Collection[str], *, pack: str = "") -> dict[str, str | None]:
        """Return the values of those names that are known; the providers run concurrently."""
        wanted = [name for name in names if self._provider(name, pack) is not None or name in KNOWN]
        found = await asyncio.gather(*(self._value(situation, name, pack) for name in wanted))
        return dict(zip(wanted, found, strict=True))

    def _provider(self, name: str, pack: str) -> Provider | None:
        return self._providers.get((pack, name)) or self._providers.get(("", name))

    async def _value(self, situation: Situation, name: str, pack: str) -> str | None:
        provider = self._provider(name, pack)
        if provider is None:
            return None
        try:
            async with asyncio.timeout(PROVIDER_SECONDS):
                value = await provider(situation)
        except Exception as error:  # noqa: BLE001 - a pack's own code may fail in any way, and must not stop the rules
            event(logger, "variable without value", level=logging.WARNING, variable=name, error=type(error).__name__)
            return None
        return one_line(value, VALUE_CHARACTERS) if value else None


def joined(values: Iterable[str]) -> str:
    """Return several values as one."""
    return ", ".join(value for text in values if (value := named(text.strip())))


async def _project(situation: Situation) -> str | None:
    return PurePath(situation.caller.project).name or None


async def _user(situation: Situation) -> str | None:
    return situation.caller.user


async def _recent(situation: Situation) -> str | None:
    return joined(situation.files[:_RECENT]) or None


_ROOM = VALUE_CHARACTERS - 20
"""Characters of all names, leaving room for the count of what is cut."""
_MOST = 40
"""Tables of one connection that are looked at."""
_SHARE = 8
"""Connections that are named with tables: more would leave room for one table each."""
_SECONDS = 0.15
"""How long tables are waited for: below what a value may take in all."""

_Tables: TypeAlias = tuple[str, Sequence[TableBrief], int]
"""A connection's name, some of its tables, and their total number."""


def name_datasources(variables: Variables, databases: DatabaseService) -> None:
    """Provide `DATABASE_CONNECTIONS` and `AVAILABLE_DATASOURCES` for the rules of all packs.

    Args:
        variables: Where they are registered.
        databases: The connections and their tables.
    """
    asked: set[asyncio.Task[_Tables | None]] = set()

    async def all_connections(situation: Situation) -> str | None:
        return servers_line(await databases.list_connections(situation.caller))

    async def sources(situation: Situation) -> str | None:
        known = [one for one in await databases.list_connections(situation.caller) if one.tables][:_SHARE]
        tasks = [asyncio.create_task(_some_tables(databases, situation.caller, one.name)) for one in known]
        asked.update(tasks)
        for task in tasks:
            task.add_done_callback(asked.discard)
        if tasks:
            # A large schema continues to load, and is ready the next time.
            await asyncio.wait(tasks, timeout=_SECONDS)
        pairs = zip(known, tasks, strict=True)
        found = [task.result() if task.done() else (one.name, (), one.tables) for one, task in pairs]
        return sources_line([one for one in found if one is not None])

    variables.register("DATABASE_CONNECTIONS", all_connections)
    variables.register("AVAILABLE_DATASOURCES", sources)


async def _some_tables(databases: DatabaseService, caller: Caller, name: str) -> _Tables | None:
    """Some tables of a connection; None if it is gone or fails: others can be named anyway."""
    try:
        found = await databases.list_tables(caller, name, limit=_MOST)
    except ThresherError:
        return None
    return name, found.tables, found.total


def servers_line(connections: Sequence[Connection]) -> str | None:
    """Return all connections in one line, each with its engine."""
    return ", ".join(f"{named(one.name)} ({one.dialect})" for one in connections) or None


def sources_line(connections: Sequence[_Tables]) -> str | None:
    """Return tables as `db:/connection/table`, as many of each connection as fit its share of one line.

    Args:
        connections: Name, some tables, and their total number.
    """
    share = _ROOM // max(1, len(connections))
    parts = [_tables(name, tables, total, share) for name, tables, total in connections]
    return "; ".join(parts) or None


def _tables(connection: str, tables: Sequence[TableBrief], total: int, room: int) -> str:
    """The tables of one connection within a number of characters, and how many more there are."""
    several = len({table.schema for table in tables}) > 1
    taken: list[str] = []
    for table in tables:
        name = f"{table.schema}.{table.name}" if several and table.schema else table.name
        path = named(f"db:/{connection}/{name}", VALUE_CHARACTERS)
        if sum(len(one) + 2 for one in taken) + len(path) + 18 > room:
            break
        taken.append(path)
    more = total - len(taken)
    listed = ", ".join(taken) or named(f"db:/{connection}")
    return f"{listed} and {more:,} more" if more else listed


def name_solution(variables: Variables, solutions: SolutionService, databases: DatabaseService) -> None:
    """Provide `PROJECT_NAME`, `ACTIVE_SOLUTION` and `DATABASE_SERVERS` for the rules of all packs.

    Args:
        variables: Where they are registered.
        solutions: The workspaces of callers.
        databases: The connections that belong to the servers of a workspace.
    """

    async def project(situation: Situation) -> str | None:
        workspace, solution = await solutions.working_in(situation.caller)
        return solution or workspace or PurePath(situation.caller.project).name or None

    async def active(situation: Situation) -> str | None:
        _, solution = await solutions.working_in(situation.caller)
        return solution

    async def servers(situation: Situation) -> str | None:
        caller = situation.caller
        workspace, _ = await solutions.working_in(caller)
        connections = await databases.list_connections(caller)
        if workspace is not None:
            names = await _server_names(solutions, caller, workspace)
            connections = tuple(one for one in connections if one.workspace == workspace or one.name in names)
        return servers_line(connections)

    variables.register("DATABASE_SERVERS", servers)
    variables.register("PROJECT_NAME", project)
    variables.register("ACTIVE_SOLUTION", active)


async def _server_names(solutions: SolutionService, caller: Caller, workspace: str) -> frozenset[str]:
    """The database servers whose tables a workspace knows; none if they cannot be read in time."""
    try:
        async with asyncio.timeout(_SECONDS):
            return frozenset(table.server for table in await solutions.tables(caller, workspace) if table.server)
    except (TimeoutError, ThresherError):
        return frozenset()


def name_providers(variables: Variables, apis: ApiService) -> None:
    """Provide `API_PROVIDERS` for the rules of all packs.

    Args:
        variables: Where it is registered.
        apis: The providers.
    """

    async def providers(situation: Situation) -> str | None:
        return await apis.overview(situation.caller) or None

    variables.register("API_PROVIDERS", providers)
