"""What tools of servers that are not trusted claim about themselves, and which of these claims a person has accepted.

Invariant: a consent is one caller's, for one tool and one definition of it; it lapses when the definition changes.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping

from thresher.core import Caller, Conflict, NotFound, event
from thresher.knowledge.tools import queries
from thresher.knowledge.tools.approval import DIGEST
from thresher.knowledge.tools.catalogue import Catalogues, NamedTool, is_trusted
from thresher.knowledge.tools.models import Claim, Consent
from thresher.store import Database, run_retrying

logger = logging.getLogger("thresher.knowledge")


class Consents:
    """The remembered consents of all callers; one per process."""

    def __init__(self, database: Database, catalogues: Catalogues) -> None:
        self._database = database
        self._catalogues = catalogues

    async def claims(self, caller: Caller, names: Iterable[str]) -> Mapping[str, Claim]:
        """Those of some tools that claim to only read, of servers that are not trusted.

        Args:
            caller: Whose consents count.
            names: Exposed names; those that no enabled tool has are left out.
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
        """Remember the caller's yes to calls of a tool, for exactly one definition.

        Args:
            caller: Who agrees.
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
        """What the caller has agreed to, oldest first; that of tools that are held back or hidden included."""
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
        """Be asked again about calls of a tool.

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
