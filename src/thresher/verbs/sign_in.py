"""Signs a person in at an upstream server, and out again, for `verbs.tools`.

Invariant: a sign-in ends with the call that asked for it; no token leaves the process.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast
from urllib.parse import parse_qs, urlsplit

from thresher.core import Caller, InvalidInput, NotAllowed, plain
from thresher.knowledge.tools import CredentialStore
from thresher.upstream import ServerConfig, SignIn, check_sign_in, check_sign_out, open_sign_in, sign_out
from thresher.verbs.request import Request, unreported

_waiting: dict[str, tuple[Caller, SignIn]] = {}
"""Sign-ins that wait for a browser, each with who asked for it, by the state that nobody else knows."""


async def login_server(
    request: Request, name: str, scopes: Sequence[str], tenant: str | None, user: str | None
) -> dict[str, Any]:
    """See the verb."""
    caller, config = await _meant(request, name, tenant, user)
    if request.is_rehearsal:
        check_sign_in(config)
        ended: dict[str, Any] = {"scope": "", "renewable": True, "expires_at": None, "failures": {}}
        return _not_rehearsed(request, config) | ended
    if request.progress is unreported:
        raise InvalidInput(
            "A sign-in needs somebody who opens its address.",
            hint=f"Use the server's page, or: thresher servers login {config.name}.",
        )
    states: list[str] = []
    async with open_sign_in(config, _credentials(request), scopes=tuple(scopes)) as sign_in:

        def show(address: str) -> None:
            states.append(parse_qs(urlsplit(address).query).get("state", [""])[0])
            _waiting[states[-1]] = request.caller, sign_in
            request.progress({"address": address})

        try:
            done = await sign_in.run(show)
        finally:
            for state in states:
                _waiting.pop(state, None)
    await _disconnect(request, caller, config)
    return cast("dict[str, Any]", plain(done)) | await _listed(request, caller, config)


def finish_login(request: Request, address: str) -> None:
    """See the verb."""
    _, _, query = address.strip().partition("?")
    state = parse_qs(query.partition("#")[0]).get("state", [""])[0]
    caller, sign_in = _waiting.get(state, (None, None))
    if sign_in is None or caller != request.caller:
        raise InvalidInput(
            "That address belongs to no sign-in that is under way.",
            hint="Copy the whole address that the browser shows after the sign-in.",
        )
    sign_in.take(address)


async def logout_server(request: Request, name: str, tenant: str | None, user: str | None) -> dict[str, Any]:
    """See the verb."""
    caller, config = await _meant(request, name, tenant, user)
    credentials = _credentials(request)
    if request.is_rehearsal:
        await check_sign_out(config, credentials)
        return _not_rehearsed(request, config) | {"revoked": False}
    revoked = await sign_out(config, credentials)
    await _disconnect(request, caller, config)
    return {"name": config.name, "revoked": revoked}


def _credentials(request: Request) -> CredentialStore:
    return CredentialStore(request.services.database, request.services.secrets)


async def _disconnect(request: Request, caller: Caller, config: ServerConfig) -> None:
    await request.services.upstreams.disconnect(
        caller.tenant.id, config.name, owner=config.owner, identity=config.identity
    )


async def _listed(request: Request, caller: Caller, config: ServerConfig) -> dict[str, Any]:
    """What the server lists now that it can be asked."""
    if not config.enabled:
        return {"failures": {}}
    return cast("dict[str, Any]", plain(await request.services.tools.refresh(caller, config.name)))


async def _meant(request: Request, name: str, tenant: str | None, user: str | None) -> tuple[Caller, ServerConfig]:
    """For whom, and at which server."""
    caller, services = request.caller, request.services
    if tenant or user:
        if not request.is_owner:
            raise NotAllowed(
                "Your key signs in for yourself only.", hint="Leave --tenant and --user out, or unset THRESHER_KEY."
            )
        of = await services.database.tenant(tenant) if tenant else caller.tenant
        caller = Caller(of, user or None)
    await services.tools.ready(caller)
    config = await services.tools.server_config(caller, name)
    if config.identity != (caller.user or ""):
        raise NotAllowed(
            f"The sign-in at server '{config.name}' is one for all users.",
            hint="It is made and ended with a key that names no user, or without --user.",
        )
    return caller, config


def _not_rehearsed(request: Request, config: ServerConfig) -> dict[str, Any]:
    """Signing in and out changes what other servers keep, which no dry run could take back."""
    request.progress({"checked": f"server '{config.name}' is there; nobody was signed in or out"})
    return {"name": config.name}
