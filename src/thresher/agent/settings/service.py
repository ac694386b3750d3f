"""The service of settings: those in force for a conversation, their sources, and choosing them.

Invariant: settings belong to their owner, like threads; whatever they are, `approval` is never less strict than the
floor of the installation and of the tenant.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final, Protocol, TypeAlias
from uuid import UUID

from thresher.agent.settings import queries
from thresher.agent.settings.queries import Layers
from thresher.agent.settings.records import (
    STRICTNESS,
    Approval,
    ChatSettings,
    SettingSource,
    SettingsView,
    checked,
    sound,
)
from thresher.agent.threads.records import thread_id, unknown
from thresher.core import Caller, InvalidInput, did_you_mean, nearest
from thresher.store import Database

ModelNames: TypeAlias = Callable[[Caller], Awaitable[Mapping[str, bool]]]


class Named(Protocol):
    """A thing with a name, such as a connection to a database."""

    @property
    def name(self) -> str:
        """Its name."""
        ...


Connections: TypeAlias = Callable[[Caller], Awaitable[Sequence[Named]]]
_NOTHING_CHOSEN: Final = ChatSettings.model_validate({})


class AgentSettings:
    """The settings of all callers.

    Args:
        database: The database of settings.
        models: Returns the names of the models that a caller sees, and whether each is enabled.
        floor: The least strict `approval` of all tenants.
        connections: Lists the databases that a caller sees; None if the settings are only read.
    """

    def __init__(
        self,
        database: Database,
        models: ModelNames,
        floor: Approval = "none",
        *,
        connections: Connections | None = None,
    ) -> None:
        self._database = database
        self._models = models
        self._connections = connections
        self._floor: Approval = floor

    async def of(
        self, caller: Caller, thread: UUID | None = None, extra: Mapping[str, Any] | None = None
    ) -> ChatSettings:
        """Return the settings of a conversation, in one statement. An `approval` below the floor is raised to it.

        Args:
            caller: The owner.
            thread: The thread; None without a stored one. One that does not exist yet has no settings.
            extra: Settings for this turn only; a null is ignored.

        Raises:
            InvalidInput: In `extra`, a field is unknown or a value is not allowed in it.
        """
        return self.resolved(await queries.layers(self._database, caller, thread), extra)

    def resolved(self, found: Layers, extra: Mapping[str, Any] | None = None) -> ChatSettings:
        """The same as `of`, from layers that were read already."""
        now = {name: value for name, value in checked(extra or {}).items() if value is not None}
        settings = _NOTHING_CHOSEN.model_copy(update=sound(found.owner) | sound(found.thread) | now)
        floor = self._strictest(found.floor)
        enough = STRICTNESS[settings.approval] >= STRICTNESS[floor]
        return settings if enough else settings.model_copy(update={"approval": floor})

    async def get(self, caller: Caller, thread: UUID | str | None = None) -> SettingsView:
        """Return the settings of all the caller's threads, or of one, and where each value comes from.

        Raises:
            InvalidInput: The thread's id is not valid.
            NotFound: The caller has no such thread.
        """
        return await self._view(caller, None if thread is None else thread_id(thread))

    async def put(self, caller: Caller, changes: Mapping[str, Any], thread: UUID | str | None = None) -> SettingsView:
        """Change settings for all of the caller's threads, or for one.

        Args:
            caller: The owner.
            changes: Value by field; null removes the choice. Other fields stay.
            thread: Only for this one.

        Raises:
            InvalidInput: A field is unknown, a value is not allowed in it, no model or database has this name, or the
                model is disabled.
            NotFound: The caller has no such thread.
        """
        wanted = checked(changes)
        await self._check_model(caller, wanted.get("model"))
        await self._check_connection(caller, wanted.get("connection"))
        asked = None if thread is None else thread_id(thread)
        given = {name: value for name, value in wanted.items() if value is not None}
        await queries.change(self._database, caller, given, [name for name in wanted if name not in given], asked)
        return await self._view(caller, asked)

    async def floor(self, caller: Caller) -> Approval:
        """Return the least strict `approval` that conversations of the caller's tenant may have."""
        return self._strictest((await queries.layers(self._database, caller, None)).floor)

    async def set_floor(self, caller: Caller, floor: str) -> Approval:
        """Set the tenant's floor; only for the owner of the installation, which the calling face checks.

        Returns:
            The floor in force: that of the installation, if it is stricter.

        Raises:
            InvalidInput: It is not a value of the setting `approval`.
        """
        wanted = checked({"approval": floor})["approval"]
        await queries.set_floor(self._database, caller, wanted)
        return self._strictest(wanted)

    def _strictest(self, tenants: str | None) -> Approval:
        """Return the floor of the installation or of a tenant, whichever is stricter."""
        given = sound({"approval": tenants}).get("approval", self._floor)
        return max(self._floor, given, key=STRICTNESS.__getitem__)

    async def _check_model(self, caller: Caller, name: str | None) -> None:
        if not name:
            return
        if name not in (known := await self._models(caller)):
            raise _unknown("model", name, tuple(known), "Register one: thresher models add NAME.")
        if not known[name]:
            raise InvalidInput(
                f"'{name}' is not a value of the setting model: it is disabled.",
                hint=f"Enable it: thresher models enable {name}.",
            )

    async def _check_connection(self, caller: Caller, name: str | None) -> None:
        if not name or self._connections is None:
            return
        known = tuple(one.name for one in await self._connections(caller))
        if name not in known:
            raise _unknown("connection", name, known, "Add it first: thresher db add NAME --url URL.")

    async def _view(self, caller: Caller, thread: UUID | None) -> SettingsView:
        found = await queries.layers(self._database, caller, thread)
        if thread is not None and not found.there:
            raise unknown(thread)
        owner, own = sound(found.owner), sound(found.thread)
        sources: dict[str, SettingSource] = {
            name: "thread" if name in own else "owner" if name in owner else "default"
            for name in ChatSettings.model_fields
        }
        settings = self.resolved(found)
        if settings.approval != (owner | own).get("approval", _NOTHING_CHOSEN.approval):
            sources["approval"] = "floor"
        return SettingsView(settings, sources)


def _unknown(setting: str, name: str, known: Sequence[str], otherwise: str) -> InvalidInput:
    """Return the error for an unknown name; the hint lists the known ones, or how to create one."""
    hint = did_you_mean(nearest(name, known)) or (f"There are: {', '.join(known)}." if known else otherwise)
    return InvalidInput(f"'{name}' is not a value of the setting {setting}: there is none of this name.", hint=hint)
