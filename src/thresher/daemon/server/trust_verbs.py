"""Verbs that sign in at upstream servers and out again, and show which servers need it.

Invariant: a sign-in ends with the connection that asked for it; no token leaves the daemon.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast
from urllib.parse import parse_qs, urlsplit

from thresher.app import App
from thresher.core import Caller, ConfigurationError, InvalidInput, NotAllowed, plain
from thresher.daemon.server.control import Progress, Verb
from thresher.knowledge.tools import CredentialStore, ServerInfo
from thresher.upstream import (
    ServerConfig,
    SignIn,
    check_sign_in,
    check_sign_out,
    open_sign_in,
    sign_in_state,
    sign_out,
)

_waiting: dict[str, SignIn] = {}
"""Sign-ins that wait for a browser, by the state that nobody else knows."""


def signing_verbs(app: App, caller: Caller, *, is_owner: bool) -> Mapping[str, Verb]:
    """The verbs by name.

    Args:
        app: The running product.
        caller: For whom they work, and in which project.
        is_owner: Whether that is the owner of the data folder, who may act for everybody.
    """
    verbs = _Signing(app, caller, is_owner=is_owner)
    named = (verbs.login_server, verbs.finish_login, verbs.logout_server, verbs.list_servers)
    return {verb.__name__: verb for verb in named}


class _Signing:
    """One method a verb: (arguments, progress) -> result."""

    def __init__(self, app: App, caller: Caller, *, is_owner: bool) -> None:
        self._services = app.services
        self._is_rehearsal = app.rehearsal
        self._tools = app.services.tools
        self._credentials = CredentialStore(app.services.database, app.services.secrets)
        self._is_owner = is_owner
        self._caller = caller

    async def login_server(self, arguments: Mapping[str, Any], tell: Progress) -> Any:
        """Sign in; tells the `address` to open, and lists the server afterwards."""
        caller, config = await self._meant(arguments)
        if self._is_rehearsal:
            check_sign_in(config)
            ended: dict[str, Any] = {"scope": "", "renewable": True, "expires_at": None, "failures": {}}
            return _not_rehearsed(config, tell) | ended
        states: list[str] = []
        async with open_sign_in(config, self._credentials, scopes=tuple(arguments.get("scopes") or ())) as sign_in:

            def show(address: str) -> None:
                states.append(parse_qs(urlsplit(address).query).get("state", [""])[0])
                _waiting[states[-1]] = sign_in
                tell({"address": address})

            try:
                done = await sign_in.run(show)
            finally:
                for state in states:
                    _waiting.pop(state, None)
        await self._services.upstreams.disconnect(
            caller.tenant.id, config.name, owner=config.owner, identity=config.identity
        )
        return cast("dict[str, Any]", plain(done)) | await self._listed(caller, config)

    async def _listed(self, caller: Caller, config: ServerConfig) -> dict[str, Any]:
        """What the server lists now that it can be asked."""
        if not config.enabled:
            return {"failures": {}}
        return cast("dict[str, Any]", plain(await self._tools.refresh(caller, config.name)))

    async def finish_login(self, arguments: Mapping[str, Any], _tell: Progress) -> Any:
        """Take the address at which a browser elsewhere has ended."""
        address = str(arguments["address"])
        sign_in = _waiting.get(parse_qs(urlsplit(address.strip()).query).get("state", [""])[0])
        if sign_in is None:
            raise InvalidInput(
                "That address belongs to no sign-in that is under way.",
                hint="Copy the whole address that the browser shows after the sign-in.",
            )
        sign_in.take(address)

    async def logout_server(self, arguments: Mapping[str, Any], tell: Progress) -> Any:
        """Forget a sign-in, and end it at the authorization server where that is offered."""
        caller, config = await self._meant(arguments)
        if self._is_rehearsal:
            await check_sign_out(config, self._credentials)
            return _not_rehearsed(config, tell) | {"revoked": False}
        revoked = await sign_out(config, self._credentials)
        await self._services.upstreams.disconnect(
            caller.tenant.id, config.name, owner=config.owner, identity=config.identity
        )
        return {"name": config.name, "revoked": revoked}

    async def list_servers(self, _arguments: Mapping[str, Any], _tell: Progress) -> Any:
        """The servers, each with `sign_in`: `done`, `needed`, or empty where nobody knows of a need."""
        servers = await self._tools.list_servers(self._caller)
        return [cast("dict[str, Any]", plain(server)) | {"sign_in": await self._state(server)} for server in servers]

    async def _state(self, server: ServerInfo) -> str:
        if server.transport not in ("http", "sse"):
            return ""
        try:
            config = await self._tools.server_config(self._caller, server.name)
            return sign_in_state(config, await self._credentials.load(config))
        except ConfigurationError:
            return "needed"  # sealed with a key that is gone

    async def _meant(self, arguments: Mapping[str, Any]) -> tuple[Caller, ServerConfig]:
        """For whom, and at which server."""
        caller, tenant, user = self._caller, arguments.get("tenant"), arguments.get("user")
        if tenant or user:
            if not self._is_owner:
                raise NotAllowed(
                    "Your key signs in for yourself only.", hint="Leave --tenant and --user out, or unset THRESHER_KEY."
                )
            of = await self._services.database.tenant(tenant) if tenant else caller.tenant
            caller = Caller(of, user or None)
        await self._tools.ready(caller)
        config = await self._tools.server_config(caller, str(arguments["name"]))
        if config.identity != (caller.user or ""):
            raise NotAllowed(
                f"The sign-in at server '{config.name}' is one for all users.",
                hint="It is made and ended with a key that names no user, or without --user.",
            )
        return caller, config


def _not_rehearsed(config: ServerConfig, tell: Progress) -> dict[str, Any]:
    """Signing in and out changes what other servers keep, which no dry run could take back."""
    tell({"checked": f"server '{config.name}' is there; nobody was signed in or out"})
    return {"name": config.name}
