"""The service of models: people register, list, check, enable and remove them; conversations open one.

Invariant: a key is sealed before it is written, and opened only for its service; only the owner of a model changes it.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Mapping, Sequence
from functools import partial
from importlib import import_module
from typing import Final, TypeAlias

import httpx2

from thresher.agent.models import queries
from thresher.agent.models.open_model import OpenModel
from thresher.agent.models.queries import ModelRow
from thresher.agent.models.records import DEFAULT, Model, ModelCheck
from thresher.agent.models.requests import Service, ServiceDescription, Watch
from thresher.agent.settings import AgentSettings, ChatSettings
from thresher.core import (
    Breaker,
    Caller,
    Conflict,
    InvalidInput,
    ModelTimeout,
    NotAllowed,
    NotFound,
    Pauses,
    Settings,
    ThresherError,
    checked_name,
    did_you_mean,
    nearest,
    shortened,
)
from thresher.llm import host_and_port, service_address
from thresher.store import Database, SecretBox, clean

_LONGEST_URL: Final = 2_000
_LONGEST_MODEL: Final = 200
_KEY: Final = re.compile(r"[\x21-\x7e]{1,8000}")
_PORTS: Final = {"http": 80, "https": 443}


def checked_url(url: str) -> httpx2.URL:
    """Return the address of a model's service.

    Raises:
        InvalidInput: It is not a valid address, or contains a password.
    """
    url = url.strip()
    if clean(url) != url or len(url) > _LONGEST_URL:
        raise InvalidInput("The address holds what no address has.", hint="Copy it again.")
    address = service_address(url, "The address", "Give the key beside it.")
    if address.fragment:
        raise InvalidInput("The address of a service has no '#'.", hint="Leave away what follows.")
    return address


def checked_model(model: str) -> str:
    """Return the service's name for a model.

    Raises:
        InvalidInput: It is not valid.
    """
    name = model.strip()
    if not name or clean(name) != name or not name.isprintable() or len(name) > _LONGEST_MODEL:
        raise InvalidInput(
            "This is not a valid name of a model.", hint="Write it as the service does, such as qwen3:8b."
        )
    return name


def checked_key(key: str | None) -> str | None:
    """Return a service's key; None without one.

    Raises:
        InvalidInput: It contains characters that no key has.
    """
    if key is None or not key.strip():
        return None
    if not _KEY.fullmatch(key.strip()):
        raise InvalidInput(
            "This is not a valid key of a service.", hint="Copy it again: letters, digits and signs, no spaces."
        )
    return key.strip()


def may_register(caller: Caller, address: httpx2.URL, settings: Settings) -> None:
    """Refuse a service that this process must not be made to reach.

    Raises:
        NotAllowed: A caller with a key names a host that the settings do not.
    """
    if not caller.keyed:
        return
    host, port = address.host.lower(), address.port or _PORTS[address.scheme]
    allowed = {one.lower() for one in settings.model_hosts}
    if host not in allowed and f"{host}:{port}" not in allowed:
        raise NotAllowed(
            "With a key, only models on the hosts that the server's owner named can be registered.",
            hint="Ask the owner to register the model, or to name its host in THRESHER_MODEL_HOSTS.",
        )


_MOST_KEPT: Final = 200
"""Services whose connections are kept; unused ones are dropped first, the oldest first."""
_CHECK_SECONDS: Final = 30.0
_SAID: Final = 200
_PAUSES: Final = Pauses(failures=3, pause=5.0, longest=60.0)
_TAKEN: Final = {DEFAULT: "the model of THRESHER_LLM_URL", "thresher": "what clients call whichever model you chose"}
_HINT: Final = "Check it: thresher models check {}."
_RENEW: Final = "with thresher models add {} ... --key - --replace"
_DEFAULT_HINT: Final = "Check THRESHER_LLM_URL, THRESHER_LLM_MODEL, THRESHER_LLM_KEY."
_LOOK: Final = "Compare its address and its model with the service's: thresher models list."
_SLOW: Final = "Try again: a model that has to be loaded first takes longer."

_Place: TypeAlias = tuple[int, str | None, str]
_What: TypeAlias = tuple[str, str, bytes | None]


class Models:
    """The models of all callers. One per process.

    Args:
        database: The database of models.
        secrets: Seals keys.
        settings: Names the default model, and the hosts that callers with a key may name.
        watch: Receives each request's body before it is sent, for evaluations.
    """

    def __init__(
        self, database: Database, secrets: SecretBox, settings: Settings, *, watch: Watch | None = None
    ) -> None:
        self._database = database
        self._secrets = secrets
        self._settings = settings
        self._watch = watch
        self._choices = AgentSettings(database, self.names)
        self._services: dict[_Place, tuple[_What, Service]] = {}
        self._opening = asyncio.Lock()

    async def add(
        self, caller: Caller, name: str, url: str, model: str, *, key: str | None = None, replace: bool = False
    ) -> Model:
        """Register a model for the caller's user, or for the tenant if the caller has no user.

        Args:
            caller: The owner.
            name: Its name in Thresher.
            url: The service's address, such as `http://127.0.0.1:11434/v1`.
            model: The service's name for it.
            key: Sent as a bearer token; stored sealed.
            replace: Whether it may replace an existing one of this name.

        Raises:
            InvalidInput: The name, the address, the model's name or the key is not valid.
            NotAllowed: A caller with a key names a host that the settings do not.
            Conflict: The name is taken.
        """
        checked_name(name, "a model")
        if (taken := _TAKEN.get(name)) is not None:
            raise InvalidInput(f"'{name}' is {taken}.", hint="Choose another name.")
        address, model, key = checked_url(url), checked_model(model), checked_key(key)
        may_register(caller, address, self._settings)
        sealed = None if key is None else self._secrets.seal(key)
        row = await queries.add(self._database, caller, name, str(address), model, sealed, replace=replace)
        if row is None:
            raise Conflict(f"There is a model '{name}' already.", hint="Choose another name, or replace it.")
        return _shown(row)

    async def list(self, caller: Caller) -> tuple[Model, ...]:
        """Return the models that the caller sees: the one of the settings, the user's own ones, the tenant's."""
        rows = await queries.seen(self._database, caller)
        chosen = (await self._choices.of(caller)).model or self._first(rows)
        default = self._default(chosen=chosen == DEFAULT)
        found = [_shown(row, chosen=row.enabled and row.name == chosen) for row in rows.values()]
        return (*([default] if default else []), *found)

    async def get(self, caller: Caller, name: str) -> Model:
        """Return a model that the caller sees.

        Raises:
            NotFound: There is none of this name.
        """
        found = {model.name: model for model in await self.list(caller)}
        if name not in found:
            raise _unknown(name, tuple(found))
        return found[name]

    async def names(self, caller: Caller) -> Mapping[str, bool]:
        """Return the names of those, and whether each is enabled."""
        return {model.name: model.enabled for model in await self.list(caller)}

    async def enable(self, caller: Caller, name: str) -> Model:
        """Let conversations use a model again.

        Raises:
            NotFound: There is none of this name.
            NotAllowed: It is not the caller's own.
        """
        return await self._switch(caller, name, enabled=True)

    async def disable(self, caller: Caller, name: str) -> Model:
        """Keep conversations from using a model; errors as for `enable`."""
        return await self._switch(caller, name, enabled=False)

    async def remove(self, caller: Caller, name: str) -> None:
        """Delete a model and its key; errors as for `enable`."""
        self._own(caller, name, await queries.seen(self._database, caller))
        await queries.remove(self._database, caller, name)
        if (kept := self._services.pop((caller.tenant.id, caller.user, name), None)) is not None:
            await kept[1].retire()

    async def check(self, caller: Caller, name: str) -> ModelCheck:
        """Send a harmless test request to a model, even if it is disabled or its breaker is open.

        Raises:
            NotFound: There is none of this name.
        """
        rows = await queries.seen(self._database, caller)
        if not self._known(name, rows):
            raise _unknown(name, self._visible(rows))
        model = await self._opened(caller, name, rows, ChatSettings.model_validate({}), anyway=True)
        started = time.perf_counter()
        try:
            said = await model.complete([("user", "Say ok.")], seconds=_CHECK_SECONDS)
        except ThresherError as error:
            return ModelCheck(name, False, _since(started), problem=_problem(error, name))
        return ModelCheck(name, True, _since(started), says=shortened(said.text, _SAID), model=said.model)

    async def open(
        self, caller: Caller, name: str = "", *, settings: ChatSettings, rows: Mapping[str, ModelRow] | None = None
    ) -> OpenModel | None:
        """Return a model that can be asked.

        Args:
            caller: The caller.
            name: The model; empty for the one of the conversation's settings, else that of THRESHER_LLM_URL, else the
                first enabled one that the caller sees, own ones before the tenant's.
            settings: The settings of the conversation.
            rows: The models that the caller sees, if they were read already.

        Returns:
            The model; None if there is none at all.

        Raises:
            NotFound: There is none of this name.
            Conflict: It is disabled.
        """
        rows = await queries.seen(self._database, caller) if rows is None else rows
        if not (wanted := name or settings.model or self._first(rows)):
            return None
        if not self._known(wanted, rows):
            raise _unknown(wanted, self._visible(rows))
        if wanted != DEFAULT and not rows[wanted].enabled:
            raise Conflict(f"The model '{wanted}' is disabled.", hint=f"Enable it: thresher models enable {wanted}.")
        return await self._opened(caller, wanted, rows, settings)

    async def close(self) -> None:
        """Close all connections."""
        kept, self._services = self._services, {}
        for _, service in kept.values():
            await service.close()

    async def _switch(self, caller: Caller, name: str, *, enabled: bool) -> Model:
        rows = await queries.seen(self._database, caller)
        self._own(caller, name, rows)
        row = await queries.enable(self._database, caller, name, enabled=enabled)
        if row is None:
            raise _unknown(name, self._visible(rows))
        return _shown(row)

    def _own(self, caller: Caller, name: str, rows: Mapping[str, ModelRow]) -> None:
        """Refuse to change a model that is not the caller's own."""
        if not self._known(name, rows):
            raise _unknown(name, self._visible(rows))
        if name == DEFAULT:
            raise InvalidInput(f"The model '{DEFAULT}' comes from THRESHER_LLM_URL.", hint="Change it there.")
        if rows[name].owner != caller.user:
            raise NotAllowed(f"The model '{name}' is the tenant's.", hint="Ask who set it up to change it.")

    def _known(self, name: str, rows: Mapping[str, ModelRow]) -> bool:
        return name in self._visible(rows)

    def _visible(self, rows: Mapping[str, ModelRow]) -> tuple[str, ...]:
        return (*([DEFAULT] if self._settings.llm_url else []), *rows)

    def _first(self, rows: Mapping[str, ModelRow]) -> str:
        """Return the model that answers if none is named; may be empty."""
        if self._settings.llm_url:
            return DEFAULT
        return next((row.name for row in rows.values() if row.enabled), "")

    def _default(self, *, chosen: bool) -> Model | None:
        given = self._settings
        if not given.llm_url or not given.llm_model:
            return None
        keyed = given.llm_key is not None
        return Model(DEFAULT, _plain(given.llm_url), given.llm_model, keyed, configured=True, chosen=chosen)

    async def _opened(
        self, caller: Caller, name: str, rows: Mapping[str, ModelRow], settings: ChatSettings, *, anyway: bool = False
    ) -> OpenModel:
        row = rows.get(name)
        if row is None:
            given = self._settings
            key = given.llm_key.get_secret_value() if given.llm_key else None
            what = (given.llm_url or "", given.llm_model or "", key.encode() if key else None)
            owner, hint, renew = None, _DEFAULT_HINT, "in THRESHER_LLM_KEY"
        else:
            key = None if row.key is None else self._secrets.open(row.key)
            what = (row.url, row.model, row.key)
            owner, hint, renew = row.owner, _HINT.format(name), _RENEW.format(name)
        about = ServiceDescription(name, hint, host_and_port(what[0]), key is not None, renew)
        service = await self._service((caller.tenant.id, owner, name), what, key, about)
        shown = httpx2.URL(what[0]).netloc.decode("ascii", "replace")
        return OpenModel(name, shown, service, settings, anyway=anyway)

    async def _service(self, place: _Place, what: _What, key: str | None, about: ServiceDescription) -> Service:
        """Return the connections to a model, which stay while its registration does."""
        async with self._opening:
            kept = self._services.pop(place, None)
            if kept is not None and kept[0] == what:
                self._services[place] = kept
                return kept[1]
            if kept is not None:
                await kept[1].retire()
            module = await asyncio.to_thread(import_module, "thresher.agent.models.client")
            connect = partial(module.ModelClient, what[0], what[1], key, about.hint)
            service = Service(connect, Breaker(_PAUSES), about, watch=self._watch)
            await service.connect()
            self._services[place] = (what, service)
            if len(self._services) > _MOST_KEPT:
                await self._services.pop(next(iter(self._services)))[1].retire()
            return service


def _problem(error: ThresherError, name: str) -> str:
    """Return the message of a check about a failure, without the advice to check."""
    hint = _SLOW if isinstance(error, ModelTimeout) else error.hint.replace(_HINT.format(name), _LOOK)
    return f"{error.message} {hint}".strip()


def _unknown(name: str, known: Sequence[str]) -> NotFound:
    if not known:
        return NotFound(f"There is no model '{name[:80]}'.", hint="Register one: thresher models add NAME.")
    listed = f"There are: {', '.join(known[:20])}."
    return NotFound(f"There is no model '{name[:80]}'.", hint=did_you_mean(nearest(name[:80], known)) or listed)


def _shown(row: ModelRow, *, chosen: bool = False) -> Model:
    keyed = row.key is not None
    return Model(
        row.name,
        _plain(row.url),
        row.model,
        keyed,
        row.enabled,
        row.owner,
        chosen=chosen,
        created_at=row.created_at,
    )


def _plain(url: str) -> str:
    """Return an address without its query, which may hold a key."""
    return str(httpx2.URL(url).copy_with(query=None))


def _since(started: float) -> int:
    return round((time.perf_counter() - started) * 1000)
