"""Verbs of chat models and of what holds in conversations with them.

Invariant: the same names and arguments as on every other face; a key comes in and never goes out.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias

from thresher.app import App, rehearsed
from thresher.core import Caller, InvalidInput, ModelError, Tenant, plain
from thresher.daemon.server.control import Progress, Verb

TenantOf: TypeAlias = Callable[[Mapping[str, Any]], Awaitable[Tenant]]

_ADD = frozenset({"name", "url", "model", "key", "replace", "test"})


def model_verbs(app: App, caller: Caller, owned_tenant: TenantOf) -> Mapping[str, Verb]:
    """The verbs by name.

    Args:
        app: The running product.
        caller: For whom they work.
        owned_tenant: The tenant that arguments name, for the owner of the data folder alone.
    """
    verbs = _Models(app, caller, owned_tenant)
    kept = (verbs.add_model, verbs.list_models, verbs.check_model, verbs.switch_model, verbs.remove_model)
    chosen = (verbs.show_settings, verbs.set_settings, verbs.approval_floor, verbs.set_approval_floor)
    return {verb.__name__: verb for verb in (*kept, *chosen)}


class _Models:
    """One method a verb: (arguments, progress) -> result."""

    def __init__(self, app: App, caller: Caller, owned_tenant: TenantOf) -> None:
        self._app = app
        self._owned_tenant = owned_tenant
        self._models = app.services.models
        self._settings = app.services.chat_settings
        self._caller = caller

    async def add_model(self, arguments: Mapping[str, Any], tell: Progress) -> Any:
        """Keep a model that answers, and say how it was asked; `test: false` keeps it unasked."""
        if unknown := sorted(set(arguments) - _ADD):
            raise InvalidInput(f"There is no argument '{unknown[0]}'.", hint=f"Known: {', '.join(sorted(_ADD))}.")
        given = dict(arguments)
        name, test = str(given["name"]), given.pop("test", True)
        if not test:
            return plain({"model": await self._models.add(self._caller, **given), "check": None})
        async with rehearsed(self._app) as trial:
            await trial.services.models.add(self._caller, **given)
            check = await trial.services.models.check(self._caller, name)
        if not check.ok:
            raise ModelError(
                f"The model '{name}' was not added. {check.problem}",
                hint="Correct what is wrong and add it again; --no-test keeps it as it is.",
            )
        tell({"checked": f"the model of '{name}' answers"})
        return plain({"model": await self._models.add(self._caller, **given), "check": check})

    async def list_models(self, _arguments: Mapping[str, Any], _tell: Progress) -> Any:
        return plain(await self._models.list(self._caller))

    async def check_model(self, arguments: Mapping[str, Any], _tell: Progress) -> Any:
        return plain(await self._models.check(self._caller, str(arguments["name"])))

    async def switch_model(self, arguments: Mapping[str, Any], _tell: Progress) -> Any:
        change = self._models.enable if arguments["enabled"] else self._models.disable
        return plain(await change(self._caller, str(arguments["name"])))

    async def remove_model(self, arguments: Mapping[str, Any], _tell: Progress) -> Any:
        await self._models.remove(self._caller, str(arguments["name"]))
        return {"removed": str(arguments["name"])}

    async def show_settings(self, arguments: Mapping[str, Any], _tell: Progress) -> Any:
        view = await self._settings.get(self._caller, arguments.get("thread"))
        return {"settings": view.settings.model_dump(), "sources": dict(view.sources)}

    async def set_settings(self, arguments: Mapping[str, Any], _tell: Progress) -> Any:
        view = await self._settings.put(self._caller, arguments["changes"], arguments.get("thread"))
        return {"settings": view.settings.model_dump(), "sources": dict(view.sources)}

    async def approval_floor(self, arguments: Mapping[str, Any], _tell: Progress) -> Any:
        """What holds for the caller's tenant, or, for the owner, for any."""
        named = Caller(await self._owned_tenant(arguments)) if arguments.get("tenant") else self._caller
        return {"tenant": named.tenant.name, "floor": await self._settings.floor(named)}

    async def set_approval_floor(self, arguments: Mapping[str, Any], _tell: Progress) -> Any:
        """For the owner alone: whoever holds a key is held to the floor."""
        tenant = await self._owned_tenant(arguments)
        return {"tenant": tenant.name, "floor": await self._settings.set_floor(Caller(tenant), str(arguments["floor"]))}
