"""Shows the definitions that wait for a person, and does what the person decides.

Invariant: a decision names the definition that was seen, by its hash; one that came meanwhile is never approved by it.
"""

from __future__ import annotations

import difflib
import logging
from collections.abc import Iterable, Mapping, Sequence

from thresher.core import Caller, Conflict, InvalidInput, NotFound, Tool, dumps, event
from thresher.knowledge.tools import queries
from thresher.knowledge.tools.catalogue import Catalogue, Catalogues
from thresher.knowledge.tools.definitions import definition_hash, tool_of
from thresher.knowledge.tools.indexer import Indexer
from thresher.knowledge.tools.models import HeldTool
from thresher.knowledge.tools.queries import HeldRow
from thresher.knowledge.tools.reader import write_of
from thresher.knowledge.tools.servers import own
from thresher.knowledge.tools.trust import Standing
from thresher.scanner import Finding, visible
from thresher.store import Database, run_retrying

logger = logging.getLogger("thresher.knowledge")

DIGEST = 12
"""Hexadecimal digits by which a definition is named to people: 48 bits, for a handful that wait at a time."""


class Approvals:
    """The tools that wait for approval; one per process."""

    def __init__(self, database: Database, indexer: Indexer, catalogues: Catalogues) -> None:
        self._database = database
        self._indexer = indexer
        self._catalogues = catalogues

    async def held(self, caller: Caller, server: str | None = None) -> tuple[HeldTool, ...]:
        """The tools that wait, rejected ones included, in the order in which they came.

        Raises:
            NotFound: No server has this name.
        """
        catalogue = await self._catalogues.current(caller)
        wanted = None if server is None else catalogue.server(server).id
        names = {tool.row.id: name for name, tool in catalogue.held.items()}
        rows = await self._rows(caller, names)
        return tuple(_held_tool(names[row.id], row) for row in rows if wanted in (None, row.server_id))

    async def decide(self, caller: Caller, definitions: Mapping[str, str], *, approve: bool) -> tuple[str, ...]:
        """Approve or reject definitions that were seen.

        An approved one is in use at once. A rejected one stays held, and nobody is asked about it again; the tool is
        free again when its server lists the approved definition, or when a person approves the rejected one after all.

        Args:
            caller: Who decides.
            definitions: Exposed name to the beginning of the definition's hash, as `HeldTool.digest` has it.
            approve: Approve them, or reject them.

        Returns:
            The names, in the order given.

        Raises:
            NotFound: No tool of this name waits.
            Conflict: Another definition than the one that was seen waits by now; nothing is changed for that tool.
            NotAllowed: Its server is the tenant's, and the caller one of its users.
        """
        catalogue = await self._catalogues.current(caller)
        rows = {row.id: row for row in await self._rows(caller, (t.row.id for t in catalogue.held.values()))}
        for name, digest in definitions.items():
            row = _seen(caller, catalogue, rows, name, digest)
            if not await (self._approve(caller, catalogue, row) if approve else self._reject(caller, row)):
                raise _other(name)
            verb = "tool_approved" if approve else "tool_rejected"
            event(logger, verb, tenant=caller.tenant.id, user=caller.user, tool=name, digest=row.pending["hash"])
        self._catalogues.changed(caller.tenant.id)
        ids = {catalogue.held[name].row.server_id for name in definitions}
        servers = [server for server in catalogue.servers.values() if server.id in ids]
        await self._indexer.index(caller, [server for server in servers if server.enabled])
        return tuple(definitions)

    async def _rows(self, caller: Caller, ids: Iterable[int]) -> list[HeldRow]:
        async with self._database.transaction(caller.tenant) as connection:
            return await queries.held_tools(connection, caller, ids)

    async def _approve(self, caller: Caller, catalogue: Catalogue, row: HeldRow) -> bool:
        server = catalogue.servers[row.stored.server]
        write = write_of(tool_of(server.name, row.stored.name, row.pending), server.description)
        return await run_retrying(
            self._database,
            caller.tenant,
            lambda connection: queries.approve(connection, caller.tenant, row, write),
        )

    async def _reject(self, caller: Caller, row: HeldRow) -> bool:
        return await run_retrying(
            self._database, caller.tenant, lambda connection: queries.reject(connection, caller.tenant, row)
        )


def _seen(caller: Caller, catalogue: Catalogue, rows: Mapping[int, HeldRow], name: str, digest: str) -> HeldRow:
    """The row that the caller means.

    Raises:
        As `Approvals.decide`.
    """
    tool = catalogue.held.get(name)
    row = None if tool is None else rows.get(tool.row.id)
    if tool is None or row is None:
        hint = "`thresher tools held` shows those that do."
        raise NotFound(f"No tool '{name}' waits for approval.", hint=hint)
    own(caller, catalogue.servers[tool.row.server])
    if len(digest) < DIGEST:
        raise InvalidInput(
            f"'{digest}' does not name a definition.", hint=f"Give at least {DIGEST} digits, as `tools held` shows."
        )
    if not str(row.pending["hash"]).startswith(digest.lower()):
        raise _other(name)
    return row


def _other(name: str) -> Conflict:
    return Conflict(
        f"Another definition of '{name}' has come since the one that was shown; nothing was decided about it.",
        hint="Look again: thresher tools held.",
    )


def _held_tool(name: str, row: HeldRow) -> HeldTool:
    pending = tool_of(row.stored.server, row.stored.name, row.pending)
    digest = str(row.pending["hash"])
    trusted = Standing(definition_hash(row.stored), None, row.held, bytes.fromhex(digest)).trusted
    return HeldTool(
        name=name,
        server=row.stored.server,
        reason=row.held,
        digest=digest[:DIGEST],
        since=row.since,
        findings=tuple(Finding(**finding) for finding in row.findings),
        approved=row.stored if trusted else None,
        pending=pending,
        difference=difference(row.stored if trusted else None, pending),
    )


def difference(old: Tool | None, new: Tool) -> tuple[str, ...]:
    """What changed, line by line, as a unified diff; hidden characters are written out. A new tool is shown whole."""
    after = _lines(new)
    if old is None:
        return tuple(f"+{line}" for line in after)
    compared = difflib.unified_diff(_lines(old), after, "approved", "pending", lineterm="", n=2)
    return tuple(line for line in compared if not line.startswith(("---", "+++")))


def _lines(tool: Tool) -> Sequence[str]:
    """A definition as lines that a person can compare: text by sentence, schemas by key."""
    parts = [("title", tool.title), ("description", tool.description)]
    lines = [f"{label}: {line}" for label, text in parts if text for line in _wrapped(text)]
    schemas = (("input", tool.input_schema), ("output", tool.output_schema), ("annotations", tool.annotations))
    for label, value in schemas:
        if value:
            lines += [f"{label}: {line}" for line in visible(dumps(value, indent=2, sort_keys=True)).splitlines()]
    return lines


def _wrapped(text: str) -> Iterable[str]:
    for line in text.splitlines() or [""]:
        yield visible(line)
