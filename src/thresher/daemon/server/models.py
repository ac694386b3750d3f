"""What only commands do with chat models: a checked model, and the floor of a tenant's approval.

Invariant: a key comes in and never goes out; only the owner of the data folder sets a floor.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias

from thresher.app import App, rehearsed
from thresher.core import Caller, ModelError, Tenant, plain
from thresher.daemon.server.control import Progress, Verb
from thresher.verbs import SETTINGS, Request, checked

TenantOf: TypeAlias = Callable[[Mapping[str, Any]], Awaitable[Tenant]]

_ADD = SETTINGS["add_model"]


def model_verbs(app: App, caller: Caller, owned_tenant: TenantOf) -> Mapping[str, Verb]:
    """What only commands do with models: add one that answers, show and set the floor.

    Args:
        app: The running product.
        caller: For whom they work.
        owned_tenant: The tenant that arguments name, for the owner of the data folder alone.
    """
    settings = app.services.chat_settings

    async def add_model(arguments: Mapping[str, Any], tell: Progress) -> Any:
        """Keep a model that answers, and return how it was asked; `test: false` keeps it unasked."""
        given = dict(arguments)
        test = given.pop("test", True)
        given = checked(_ADD, given)
        if not test:
            return plain({"model": await _ADD.run(Request(app.services, caller), given), "check": None})
        name = given["name"]
        async with rehearsed(app) as trial:
            await _ADD.run(Request(trial.services, caller), given)
            check = await trial.services.models.check(caller, name)
        if not check.ok:
            raise ModelError(
                f"The model '{name}' was not added. {check.problem}",
                hint="Correct what is wrong and add it again; --no-test keeps it as it is.",
            )
        tell({"checked": f"the model of '{name}' answers"})
        return plain({"model": await _ADD.run(Request(app.services, caller), given), "check": check})

    async def approval_floor(arguments: Mapping[str, Any], _tell: Progress) -> Any:
        """What holds for the caller's tenant or, for the owner, for any."""
        named = Caller(await owned_tenant(arguments)) if arguments.get("tenant") else caller
        return {"tenant": named.tenant.name, "floor": await settings.floor(named)}

    async def set_approval_floor(arguments: Mapping[str, Any], _tell: Progress) -> Any:
        """For the owner alone: a caller with a key is held to the floor."""
        tenant = await owned_tenant(arguments)
        return {"tenant": tenant.name, "floor": await settings.set_floor(Caller(tenant), str(arguments["floor"]))}

    verbs = (add_model, approval_floor, set_approval_floor)
    return {verb.__name__: verb for verb in verbs}
