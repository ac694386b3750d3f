"""Adds, changes and refreshes servers for `verbs.tools`, and signs people in at them.

Invariant: no server waits for another. A dry run starts and asks only the servers that are tested, and lists none. A
sign-in ends with the call that asked for it; no token leaves the process.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast
from urllib.parse import parse_qs, urlsplit

from pydantic import TypeAdapter, ValidationError

from thresher.core import Caller, InvalidInput, NotAllowed, ThresherError, UpstreamError, plain, problems_of
from thresher.knowledge.tools import CredentialStore, Refreshed, ServerInfo, total_of
from thresher.upstream import (
    ServerConfig,
    SignIn,
    SignInNeeded,
    check_sign_in,
    check_sign_out,
    checked_server,
    open_sign_in,
    parse_servers,
    read_sql,
    sign_out,
)
from thresher.verbs.request import Progress, Request, unreported

_SERVER = TypeAdapter(ServerConfig)
_NAMED = 4
"""The number of servers that a report names."""


async def add_server(
    request: Request, server: Mapping[str, Any], sql: Mapping[str, Any] | None, *, test: bool, **switches: bool | None
) -> Refreshed:
    """See the verb."""
    try:
        config = checked_server(_SERVER.validate_python(server))
    except ValidationError as error:
        raise InvalidInput(f"The server is not well defined: {problems_of(error)}.") from None
    config = replace(config, sql=read_sql(sql) or config.sql)
    unusable = await _unusable(request, [config]) if test else {}
    if error := unusable.get(config.name):
        raise UpstreamError(f"Server '{config.name}' was not added. {error.message}", hint=error.hint)
    return await _add(request, [config], **switches)


async def import_servers(
    request: Request, document: str, variables: Mapping[str, str], *, test: bool
) -> dict[str, Any]:
    """See the verb."""
    servers = parse_servers(document, variables)
    found = [_with_path(server, variables.get("PATH", "")) for server in servers]
    unusable = await _unusable(request, found) if test else {}
    usable = [server for server in found if server.name not in unusable]
    done = await _add(request, usable)
    failures = {name: str(error) for name, error in unusable.items()}
    refreshed = cast("dict[str, Any]", plain(replace(done, failures={**done.failures, **failures})))
    return refreshed | {
        "added": [server.name for server in usable],
        "problems": [str(problem) for problem in servers.problems],
    }


async def set_server_sql(request: Request, name: str, sql: Mapping[str, Any] | None) -> ServerInfo:
    """See the verb."""
    return await request.services.tools.set_server_sql(request.caller, name, read_sql(sql))


async def refresh(request: Request, servers: Sequence[str] | None, tool: str | None, *, reconnect: bool) -> Refreshed:
    """See the verb."""
    if reconnect:
        await _disconnect(request, servers or ())
    if tool is not None and servers is not None:
        raise InvalidInput("Give servers or tool, not both.", hint="A tool's server is known.")
    if tool is not None and not request.is_rehearsal:
        return await request.services.tools.refresh(request.caller, tool=tool)
    return await _refresh(request, servers)


async def _disconnect(request: Request, names: Sequence[str]) -> None:
    """End the sessions with some servers that the caller may change; the next use opens others."""
    if not names:
        raise InvalidInput("No server is named.", hint="Name those to reconnect to in 'servers'.")
    for name in names:
        report = await request.services.tools.reports.server(request.caller, name)
        if not report.may_change:
            raise NotAllowed(
                f"Server '{name}' is shared by the whole tenant.", hint="Only a key that names no user can reconnect."
            )
        if not request.is_rehearsal:
            owner = request.caller.user or ""
            await request.services.upstreams.disconnect(request.caller.tenant.id, name, owner=owner)


async def _unusable(request: Request, servers: Sequence[ServerConfig]) -> dict[str, ThresherError]:
    """Test all enabled servers at once; return the errors of those that cannot be used.

    A server that needs a sign-in can be used.
    """
    enabled = [server for server in servers if server.enabled]
    waiting = _Waiting(request.progress, [server.name for server in enabled])

    async def tested(server: ServerConfig) -> ThresherError | None:
        try:
            checked = await request.services.tools.check_server(request.caller, server)
        except SignInNeeded as error:
            checked = str(error)
        except ThresherError as error:
            return error
        finally:
            waiting.done(server.name)
        if request.is_rehearsal:
            request.progress({"checked": checked})
        return None

    errors = await asyncio.gather(*(tested(server) for server in enabled))
    return {server.name: error for server, error in zip(enabled, errors, strict=True) if error is not None}


async def _add(request: Request, servers: Sequence[ServerConfig], **switches: bool | None) -> Refreshed:
    for server in servers:
        await request.services.tools.add_server(request.caller, server, replace=True, **switches)
    done = await _refresh(request, [server.name for server in servers if server.enabled])
    if request.is_rehearsal:
        return done
    listed = [server.name for server in servers if server.enabled and server.name not in done.failures]
    return replace(done, findings=await request.services.tools.health.glance(request.caller, listed))


async def _refresh(request: Request, names: Sequence[str] | None) -> Refreshed:
    """Refresh some servers, or all enabled ones."""
    tools, caller = request.services.tools, request.caller
    if request.is_rehearsal:
        request.progress({"checked": "no server was started or asked for its tools"})
        return total_of([])
    if names is None and request.reader != "person":
        return await tools.refresh(caller)
    if names is None:
        names = [server.name for server in await tools.list_servers(caller) if server.enabled]
    names = list(dict.fromkeys(names))
    waiting = _Waiting(request.progress, names)

    async def refreshed(name: str) -> Refreshed:
        done = await tools.refresh(caller, name, progress=waiting.indexing)
        waiting.done(name)
        return done

    return total_of(await asyncio.gather(*(refreshed(name) for name in names)))


class _Waiting:
    """Reports which servers have not answered yet."""

    def __init__(self, progress: Progress, names: Sequence[str]) -> None:
        self._progress = progress
        self._total = len(names)
        self._left = list(names)
        if self._left:
            self._report()

    def done(self, name: str) -> None:
        """Note that a server has answered, or failed."""
        if name in self._left:
            self._left.remove(name)
        if self._left:
            self._report()

    def indexing(self, done: int, total: int) -> None:
        """Report how many tools of a server are indexed."""
        self._progress({"stage": "Indexing", "done": done, "total": total})

    def _report(self) -> None:
        more = f" and {len(self._left) - _NAMED} more" if len(self._left) > _NAMED else ""
        stage = f"Waiting for {', '.join(self._left[:_NAMED])}{more}"
        self._progress({"stage": stage, "done": self._total - len(self._left), "total": self._total})


def _with_path(server: ServerConfig, path: str) -> ServerConfig:
    """Return a stdio server that finds programs as the shell does from which it was added."""
    if server.transport != "stdio" or not path or "PATH" in server.env:
        return server
    return replace(server, env={**server.env, "PATH": path})


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
    await _end_sessions(request, caller, config)
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
    await _end_sessions(request, caller, config)
    return {"name": config.name, "revoked": revoked}


def _credentials(request: Request) -> CredentialStore:
    return CredentialStore(request.services.database, request.services.secrets)


async def _end_sessions(request: Request, caller: Caller, config: ServerConfig) -> None:
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
