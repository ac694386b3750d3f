"""Verbs that show the tools that wait for a person, and take the person's decision.

Invariant: a decision names definitions by their hash, as they were shown.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from thresher.app import App
from thresher.core import Caller, plain
from thresher.daemon.server.control import Progress, Verb
from thresher.upstream import read_sql


def approving_verbs(app: App, caller: Caller) -> Mapping[str, Verb]:
    """The verbs by name.

    Args:
        app: The running product.
        caller: For whom they work, and in which project.
    """
    verbs = _Approving(app, caller)
    named = (
        verbs.held_tools,
        verbs.approve_tools,
        verbs.reject_tools,
        verbs.set_server_auto_approve,
        verbs.set_server_trusted,
        verbs.set_server_sql,
        verbs.list_consents,
        verbs.forget_consent,
    )
    return {verb.__name__: verb for verb in named}


class _Approving:
    """One method a verb: (arguments, progress) -> result."""

    def __init__(self, app: App, caller: Caller) -> None:
        self._tools = app.services.tools
        self._caller = caller

    async def held_tools(self, arguments: Mapping[str, Any], _tell: Progress) -> Any:
        return plain(await self._tools.held_tools(self._caller, arguments.get("server")))

    async def approve_tools(self, arguments: Mapping[str, Any], _tell: Progress) -> Any:
        return plain(await self._tools.approve_tools(self._caller, arguments["definitions"]))

    async def reject_tools(self, arguments: Mapping[str, Any], _tell: Progress) -> Any:
        return plain(await self._tools.reject_tools(self._caller, arguments["definitions"]))

    async def set_server_auto_approve(self, arguments: Mapping[str, Any], _tell: Progress) -> Any:
        return plain(await self._tools.set_server_auto_approve(self._caller, **arguments))

    async def set_server_trusted(self, arguments: Mapping[str, Any], _tell: Progress) -> Any:
        return plain(await self._tools.set_server_trusted(self._caller, **arguments))

    async def list_consents(self, _arguments: Mapping[str, Any], _tell: Progress) -> Any:
        return plain(await self._tools.consents.list(self._caller))

    async def forget_consent(self, arguments: Mapping[str, Any], _tell: Progress) -> Any:
        await self._tools.consents.forget(self._caller, str(arguments["tool"]))
        return {"forgotten": str(arguments["tool"])}

    async def set_server_sql(self, arguments: Mapping[str, Any], _tell: Progress) -> Any:
        sql = read_sql(arguments["sql"])
        return plain(await self._tools.set_server_sql(self._caller, str(arguments["name"]), sql))
