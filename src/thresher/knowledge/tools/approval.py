"""Definitions that wait for approval, and consents to tools that claim to only read.

Invariant: a decision names the definition that was shown, by its hash; it never approves one that arrived later. A
consent is one caller's, for one tool and one definition of it; it lapses when the definition changes.
"""

from __future__ import annotations

import difflib
import logging
from collections.abc import Iterable, Mapping, Sequence

from thresher.core import Caller, Conflict, InvalidInput, NotFound, Tool, dumps, event
from thresher.knowledge.tools import queries
from thresher.knowledge.tools.catalogue import CatalogueCache, NamedTool, ToolCatalogue, is_trusted
from thresher.knowledge.tools.definitions import definition_hash, tool_of
from thresher.knowledge.tools.indexer import Indexer, write_of
from thresher.knowledge.tools.models import Claim, Consent, HeldTool
from thresher.knowledge.tools.queries import HeldRow
from thresher.knowledge.tools.servers import checked_owner
from thresher.knowledge.tools.trust import ToolStanding
from thresher.scanner import Finding, visible
from thresher.store import Database, run_retrying

logger = logging.getLogger("thresher.knowledge")

DIGEST = 12
"""Hexadecimal digits that identify a definition to people: 48 bits, for a handful that wait at a time."""


class Approvals:
    """The tools that wait for approval; one per process."""

    def __init__(self, database: Database, indexer: Indexer, catalogues: CatalogueCache) -> None:
        self._database = database
        self._indexer = indexer
        self._catalogues = catalogues

    async def held(self, caller: Caller, server: str | None = None) -> tuple[HeldTool, ...]:
        """Return the tools that wait, rejected ones included, in order of arrival.

        Raises:
            NotFound: No server has this name.
        """
        catalogue = await self._catalogues.current(caller)
        wanted = None if server is None else catalogue.server(server).id
        names = {tool.row.id: name for name, tool in catalogue.held.items()}
        rows = await self._rows(caller, names)
        return tuple(_held_tool(names[row.id], row) for row in rows if wanted in (None, row.server_id))

    async def decide(self, caller: Caller, definitions: Mapping[str, str], *, approve: bool) -> tuple[str, ...]:
        """Approve or reject definitions that were shown.

        An approved one is in use at once. A rejected one stays held, and no one is asked about it again. The tool is
        free again when its server lists the approved definition, or when a person approves the rejected one after all.

        Args:
            caller: The user who decides.
            definitions: Exposed name to the beginning of the definition's hash, as in `HeldTool.digest`.
            approve: Whether to approve or reject them.

        Returns:
            The names, in the given order.

        Raises:
            NotFound: No tool of this name waits.
            Conflict: Another definition than the one that was shown is pending now; that tool is not changed.
            NotAllowed: The server belongs to the tenant, and the caller is one of its users.
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

    async def _approve(self, caller: Caller, catalogue: ToolCatalogue, row: HeldRow) -> bool:
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


def _seen(caller: Caller, catalogue: ToolCatalogue, rows: Mapping[int, HeldRow], name: str, digest: str) -> HeldRow:
    """The row that the caller means.

    Raises:
        InvalidInput: The digest is too short.
        NotFound: No such tool waits.
        NotAllowed: The caller may not change its server.
        Conflict: Another definition is pending now.
    """
    tool = catalogue.held.get(name)
    row = None if tool is None else rows.get(tool.row.id)
    if tool is None or row is None:
        hint = "`thresher tools held` shows those that do."
        raise NotFound(f"No tool '{name}' waits for approval.", hint=hint)
    checked_owner(caller, catalogue.servers[tool.row.server])
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
    trusted = ToolStanding(definition_hash(row.stored), None, row.held, bytes.fromhex(digest)).trusted
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
    """Return the changes line by line as a unified diff, hidden characters written out. A new tool is shown whole."""
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


class Consents:
    """The remembered consents of all callers; one per process."""

    def __init__(self, database: Database, catalogues: CatalogueCache) -> None:
        self._database = database
        self._catalogues = catalogues

    async def claims(self, caller: Caller, names: Iterable[str]) -> Mapping[str, Claim]:
        """Return the tools of untrusted servers, among the given ones, that claim to only read.

        Args:
            caller: The user whose consents count.
            names: Exposed names; those without an enabled tool are left out.
        """
        catalogue = await self._catalogues.current(caller)
        found = [tool for name in dict.fromkeys(names) if (tool := catalogue.find(name)) is not None]
        doubted = {tool.row.id: tool.name for tool in found if not is_trusted(catalogue.servers[tool.row.server])}
        if not doubted:
            return {}
        async with self._database.transaction(caller.tenant) as connection:
            rows = await queries.claims(connection, caller, doubted)
        return {doubted[row.id]: Claim(row.definition_hash.hex(), row.agreed) for row in rows}

    async def remember(self, caller: Caller, name: str, definition: str) -> None:
        """Remember the caller's consent to calls of a tool, for exactly one definition.

        Args:
            caller: The user who agrees.
            name: The tool's exposed name.
            definition: `Claim.definition` as it was shown.

        Raises:
            NotFound: No tool has this name.
            Conflict: The tool has another definition by now.
        """
        tool, digest = await self._tool(caller, name), bytes.fromhex(definition)
        kept = await run_retrying(
            self._database,
            caller.tenant,
            lambda connection: queries.put_consent(connection, caller, tool.row.id, digest),
        )
        if not kept:
            raise Conflict(
                f"The definition of '{name}' has changed since the question; nothing was remembered.",
                hint="Have it called again: you will be asked about the new one.",
            )
        event(logger, "consent_remembered", tenant=caller.tenant.id, user=caller.user, tool=name, digest=definition)

    async def list(self, caller: Caller) -> tuple[Consent, ...]:
        """Return the caller's consents, oldest first; those to held or hidden tools included."""
        async with self._database.transaction(caller.tenant) as connection:
            rows = await queries.consents(connection, caller)
        catalogue = await self._catalogues.current(caller)
        names = {tool.row.id: tool for tool in (*catalogue.tools, *catalogue.held.values())}
        return tuple(
            Consent(
                tool.name,
                tool.row.server,
                row.definition_hash.hex()[:DIGEST],
                row.created_at,
                row.holds and not tool.row.held,
            )
            for row in rows
            if (tool := names.get(row.tool_id)) is not None
        )

    async def forget(self, caller: Caller, name: str) -> None:
        """Withdraw the consent to calls of a tool: the caller is asked again.

        Raises:
            NotFound: No tool has this name, or the caller has not agreed to it.
        """
        tool = await self._tool(caller, name)
        gone = await run_retrying(
            self._database, caller.tenant, lambda connection: queries.delete_consent(connection, caller, tool.row.id)
        )
        if not gone:
            raise NotFound(f"No consent to '{name}' is remembered.", hint="`thresher tools consents` shows them all.")
        event(logger, "consent_forgotten", tenant=caller.tenant.id, user=caller.user, tool=name)

    async def _tool(self, caller: Caller, name: str) -> NamedTool:
        catalogue = await self._catalogues.current(caller)
        return catalogue.held.get(name) or catalogue.known(name)
