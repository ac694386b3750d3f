"""What only commands do with the audit log: that of a tenant, and what the owner of the data folder does with it.

Invariant: a user sees only their own lines; a caller who sees all of them learns whether the log is whole; only the
owner of the data folder prunes or restarts it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias

from thresher.app import App
from thresher.core import Caller, NotAllowed, plain
from thresher.daemon.server.control import Progress, Verb
from thresher.store import age_limit, period_start
from thresher.verbs import AUDIT, Request, checked

OfTenant: TypeAlias = Callable[[Mapping[str, Any]], Awaitable[tuple[Caller, dict[str, Any]]]]


def auditing_verbs(app: App, of_tenant: OfTenant, *, is_owner: bool) -> Mapping[str, Verb]:
    """What only commands do with the log, by name.

    Args:
        app: The running product.
        of_tenant: Finds whose log is meant, and the rest of the arguments.
        is_owner: Whether the owner of the data folder asks.
    """
    audit = app.services.audit

    async def owned(arguments: Mapping[str, Any]) -> tuple[Caller, dict[str, Any]]:
        if not is_owner:
            raise NotAllowed(
                "Only the owner of the data folder may do this, nobody with a key.", hint="Unset THRESHER_KEY."
            )
        return await of_tenant(arguments)

    async def sql_activity_log(arguments: Mapping[str, Any], _tell: Progress) -> Any:
        """Statements of the last `days`, or all."""
        verb = AUDIT["sql_activity_log"]
        caller, given = await of_tenant(arguments)
        if (days := given.pop("days", None)) is not None:
            given["since"] = period_start(days).isoformat()
        return plain(await verb.run(Request(app.services, caller), checked(verb, given)))

    async def verify_audit(arguments: Mapping[str, Any], _tell: Progress) -> Any:
        """Whether a tenant's log is whole."""
        verb = AUDIT["verify_audit"]
        caller, given = await of_tenant(arguments)
        found = await verb.run(Request(app.services, caller), checked(verb, given))
        return plain(found) | {"tenant": caller.tenant.name}

    async def prune_audit(arguments: Mapping[str, Any], _tell: Progress) -> Any:
        """Remove old lines."""
        caller, given = await owned(arguments)
        return {"removed": await audit.prune(caller.tenant, age_limit(given["older_than"]))}

    async def restart_audit(arguments: Mapping[str, Any], _tell: Progress) -> Any:
        """Go on after the log was found changed."""
        caller, _ = await owned(arguments)
        return {"link": await audit.restart(caller.tenant)}

    verbs = (sql_activity_log, verify_audit, prune_audit, restart_audit)
    return {verb.__name__: verb for verb in verbs}
