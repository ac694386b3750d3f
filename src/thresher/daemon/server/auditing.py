"""Verbs of the audit log: what was asked of databases, and whether the log is whole.

Invariant: a user sees his own lines; whether the log is whole is told to who sees all of it; what is pruned or begun
anew is for the owner of the data folder.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias, cast

from thresher.app import App
from thresher.audit import Filters, check_all_seen
from thresher.core import Caller, NotAllowed, plain
from thresher.daemon.server.control import Progress, Verb
from thresher.store import age_limit, period_start

OfTenant: TypeAlias = Callable[[Mapping[str, Any]], Awaitable[tuple[Caller, dict[str, Any]]]]


def auditing_verbs(app: App, of_tenant: OfTenant, *, is_owner: bool) -> Mapping[str, Verb]:
    """The verbs by name.

    Args:
        app: The running product.
        of_tenant: Finds whose log is meant, and the rest of the arguments.
        is_owner: Whether the owner of the data folder asks.
    """
    verbs = _Auditing(app, of_tenant, is_owner=is_owner)
    named = (verbs.sql_activity_log, verbs.verify_audit, verbs.prune_audit, verbs.restart_audit)
    return {verb.__name__: verb for verb in named}


class _Auditing:
    """One method a verb: (arguments, progress) -> result."""

    def __init__(self, app: App, of_tenant: OfTenant, *, is_owner: bool) -> None:
        self._audit = app.services.audit
        self._of_tenant = of_tenant
        self._is_owner = is_owner

    async def sql_activity_log(self, arguments: Mapping[str, Any], _tell: Progress) -> Any:
        caller, given = await self._of_tenant(arguments)
        paging = {name: given.pop(name) for name in ("limit", "cursor") if name in given}
        days = cast("float | None", given.pop("days", None))
        filters = Filters(since=None if days is None else period_start(days), **given)
        return plain(await self._audit.entries(caller, filters, **paging))

    async def verify_audit(self, arguments: Mapping[str, Any], _tell: Progress) -> Any:
        caller, given = await self._of_tenant(arguments)
        check_all_seen(caller)
        found = await self._audit.verify(caller.tenant, **given)
        return plain(found) | {"tenant": caller.tenant.name, "sound": found.sound}

    async def prune_audit(self, arguments: Mapping[str, Any], _tell: Progress) -> Any:
        self._owner_only()
        caller, given = await self._of_tenant(arguments)
        return {"removed": await self._audit.prune(caller.tenant, age_limit(given["older_than"]))}

    async def restart_audit(self, arguments: Mapping[str, Any], _tell: Progress) -> Any:
        self._owner_only()
        caller, _ = await self._of_tenant(arguments)
        return {"link": await self._audit.restart(caller.tenant)}

    def _owner_only(self) -> None:
        if not self._is_owner:
            raise NotAllowed(
                "Only the owner of the data folder may do this, nobody with a key.", hint="Unset THRESHER_KEY."
            )
