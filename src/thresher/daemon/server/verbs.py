"""What a command can ask of the daemon: each verb with the name and arguments that it has on every face.

Invariant: a verb returns what JSON can hold, without secrets.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, cast

from pydantic import TypeAdapter, ValidationError

from thresher import __version__
from thresher.app import App
from thresher.core import (
    Caller,
    EncoderError,
    InvalidInput,
    NotAllowed,
    NotFound,
    Tenant,
    ThresherError,
    UpstreamError,
    did_you_mean,
    nearest,
    plain,
    problems_of,
)
from thresher.daemon.server.command_verbs import (
    auditing_verbs,
    component_verbs,
    database_verbs,
    intent_verbs,
    job_verbs,
    model_verbs,
)
from thresher.daemon.server.control import Progress, Verb
from thresher.daemon.server.conversation_verbs import asking_verbs, conversing_verbs, enriching_verbs
from thresher.daemon.server.evaluation_verbs import measuring_chat_verbs, measuring_verbs
from thresher.daemon.server.packing import pack_verbs
from thresher.daemon.server.presence import Presence
from thresher.daemon.server.trust_verbs import approving_verbs, signing_verbs
from thresher.evaluation import evaluate_tools, read_pool, read_questions
from thresher.knowledge.tools import Refreshed, total_of
from thresher.services import Services
from thresher.upstream import ServerConfig, SignInNeeded, checked_server, parse_servers, read_sql
from thresher.verbs import KINDS, Kind, Request, checked
from thresher.verbs import Verb as DeclaredVerb

_SERVER = TypeAdapter(ServerConfig)
_ANY_LENGTH = 64 * 1024 * 1024
"""Characters of a patch: the command that asks is on this machine, and writes it into a file."""
_NAMED = 4
"""Servers that are named while they are waited for."""
_SPEED_TEXTS = [f"list the open issues of project {number}" for number in range(10)]


@dataclass(frozen=True, slots=True)
class Facts:
    """What `status` tells of the daemon itself.

    Attributes:
        data_dir: The data folder.
        url: The MCP address over HTTP; empty without the HTTP door.
        access: Whom HTTP serves without a key, in a sentence.
        started_by: `client` or `person`.
        since: When it was ready, on the monotonic clock.
    """

    data_dir: str
    url: str
    access: str
    started_by: str
    since: float


def build_verbs(
    app: App, presence: Presence, facts: Facts, caller: Caller | None, project: str = ""
) -> Mapping[str, Verb]:
    """The verbs by name.

    Args:
        app: The running product.
        presence: Who is attached.
        facts: What `status` tells besides.
        caller: For whom they work; None: the owner of the data folder.
        project: The folder that the client works in; empty where there is none.
    """
    is_owner, asking = caller is None, replace(caller or app.services.caller, project=project)
    verbs = _Verbs(app, presence, facts, asking, is_owner=is_owner)
    named = (verbs.find_tools, verbs.describe_tools, verbs.list_tools, verbs.set_tool, verbs.list_servers)
    more = (verbs.add_server, verbs.import_servers, verbs.remove_server, verbs.set_server_enabled, verbs.refresh)
    rest = (verbs.stats, verbs.purge, verbs.evaluate_tools, verbs.status, verbs.measure_encoder)
    keys = (verbs.add_key, verbs.list_keys, verbs.revoke_key)
    mine: dict[str, Verb] = {**declared_verbs(app.services, asking)}  # first: what only commands do takes their place
    mine |= {verb.__name__: verb for verb in (*named, *more, *rest, *keys)}
    mine |= {**signing_verbs(app, asking, is_owner=is_owner), **approving_verbs(app, asking)}
    mine |= enriching_verbs(app, asking)
    mine |= {**asking_verbs(app, asking), **conversing_verbs(app, asking)}
    mine |= measuring_chat_verbs(app, asking)
    mine |= {**measuring_verbs(app, asking), **job_verbs(app, asking)}
    mine |= auditing_verbs(app, verbs.of_tenant, is_owner=is_owner)
    mine |= {**database_verbs(app, asking), **component_verbs(app, is_owner=is_owner)}
    mine |= model_verbs(app, asking, verbs.owned_tenant)
    mine |= {**intent_verbs(app, asking, verbs.of_tenant), **pack_verbs(app, asking, is_owner=is_owner)}
    return mine


def declared_verbs(services: Services, caller: Caller, kinds: Sequence[Kind] = KINDS) -> Mapping[str, Verb]:
    """The verbs that every face has, under their names; a list that one returns stands under its key."""

    def served(verb: DeclaredVerb) -> Verb:
        async def run(arguments: Mapping[str, Any], _tell: Progress) -> Any:
            request = Request(services, caller, client="thresher command", longest=_ANY_LENGTH)
            answer = plain(await verb.run(request, checked(verb, arguments)))
            return {verb.key: answer} if verb.key else answer

        return run

    return {verb.name: served(verb) for kind in kinds for verb in kind}


class _Verbs:
    """One method a verb: (arguments, progress) -> result."""

    def __init__(self, app: App, presence: Presence, facts: Facts, caller: Caller, *, is_owner: bool) -> None:
        self._app = app
        self._presence = presence
        self._facts = facts
        self._services = app.services
        self._tools = app.services.tools
        self._keys = app.services.keys
        self._is_owner = is_owner
        self._caller = caller

    async def find_tools(self, arguments: Mapping[str, Any], _tell: Progress) -> Any:
        found = await self._tools.find_tools(self._caller, **arguments)
        tools = [
            {"name": tool.name, "key": tool.tool.key, "score": tool.score, "line": tool.line, "tokens": tool.tokens}
            | {"also": tool.also, "why": tool.why}
            for tool in found.tools
        ]
        failed = [] if found.tools else await self._failed(arguments.get("servers"))
        return plain(replace(found, tools=())) | {"tools": plain(tools), "failed_servers": failed}

    async def _failed(self, chosen: Sequence[str] | None) -> list[str]:
        """The servers that could offer tools and do not, since they could not be listed."""
        servers = await self._tools.list_servers(self._caller)
        failed = (server for server in servers if server.enabled and not server.tools and server.state == "failed")
        return [server.name for server in failed if not chosen or server.name in chosen]

    async def describe_tools(self, arguments: Mapping[str, Any], _tell: Progress) -> Any:
        return plain(await self._tools.describe_tools(self._caller, arguments["names"]))

    async def list_tools(self, arguments: Mapping[str, Any], _tell: Progress) -> Any:
        whole = arguments.get("whole") is True
        return plain(await self._tools.list_tools(self._caller, arguments.get("server"), whole=whole))

    async def set_tool(self, arguments: Mapping[str, Any], _tell: Progress) -> Any:
        return plain(await self._tools.set_tool(self._caller, **arguments))

    async def list_servers(self, _arguments: Mapping[str, Any], _tell: Progress) -> Any:
        return plain(await self._tools.list_servers(self._caller))

    async def add_server(self, arguments: Mapping[str, Any], tell: Progress) -> Any:
        """Keep a server that can be used; `test: false` keeps it untried."""
        try:
            config = checked_server(_SERVER.validate_python(arguments["server"]))
        except ValidationError as error:
            raise InvalidInput(f"The server is not well defined: {problems_of(error)}.") from None
        config = replace(config, sql=read_sql(arguments.get("sql")) or config.sql)
        unusable = await self._unusable([config], tell) if arguments.get("test", True) else {}
        if error := unusable.get(config.name):
            raise UpstreamError(f"Server '{config.name}' was not added. {error.message}", hint=error.hint)
        switches = {name: arguments.get(name) for name in ("auto_approve", "trusted")}
        return _refreshed(await self._take_in([config], tell, **switches))

    async def import_servers(self, arguments: Mapping[str, Any], tell: Progress) -> Any:
        """Keep those servers of a file that can be used; `test: false` keeps them untried."""
        variables = arguments["variables"]
        servers = parse_servers(arguments["document"], variables)
        found = [_with_path(server, variables.get("PATH", "")) for server in servers]
        unusable = await self._unusable(found, tell) if arguments.get("test", True) else {}
        usable = [server for server in found if server.name not in unusable]
        done = await self._take_in(usable, tell)
        failures = {name: str(error) for name, error in unusable.items()}
        return _refreshed(replace(done, failures={**done.failures, **failures})) | {
            "added": [server.name for server in usable],
            "problems": [str(problem) for problem in servers.problems],
        }

    async def _unusable(self, servers: Sequence[ServerConfig], tell: Progress) -> dict[str, ThresherError]:
        """Which servers cannot be used, all tried at once; a sign-in that is needed is no fault of a definition."""
        waiting = _Waiting(tell, [server.name for server in servers if server.enabled])

        async def tried(server: ServerConfig) -> ThresherError | None:
            try:
                checked = await self._tools.check_server(self._caller, server)
            except SignInNeeded as error:
                checked = str(error)
            except ThresherError as error:
                return error
            finally:
                waiting.done(server.name)
            if self._app.rehearsal:
                tell({"checked": checked})
            return None

        enabled = [server for server in servers if server.enabled]
        errors = await asyncio.gather(*(tried(server) for server in enabled))
        return {server.name: error for server, error in zip(enabled, errors, strict=True) if error is not None}

    async def _take_in(self, servers: list[ServerConfig], tell: Progress, **switches: bool | None) -> Refreshed:
        for server in servers:
            await self._tools.add_server(self._caller, server, replace=True, **switches)
        return await self._refresh([server.name for server in servers if server.enabled], tell)

    async def remove_server(self, arguments: Mapping[str, Any], _tell: Progress) -> Any:
        name = str(arguments["name"])
        await self._app.components.check_removable(self._caller, name)
        await self._tools.remove_server(self._caller, name)

    async def set_server_enabled(self, arguments: Mapping[str, Any], _tell: Progress) -> Any:
        return plain(await self._tools.set_server_enabled(self._caller, **arguments))

    async def refresh(self, arguments: Mapping[str, Any], tell: Progress) -> Any:
        if (tool := cast("str | None", arguments.get("tool"))) and not self._app.rehearsal:
            return _refreshed(await self._tools.refresh(self._caller, tool=tool))
        return _refreshed(await self._refresh(cast("list[str] | None", arguments.get("servers")), tell))

    async def _refresh(self, names: list[str] | None, tell: Progress) -> Refreshed:
        """Refresh some servers, or all; none waits for another. In a dry run no server is asked."""
        if self._app.rehearsal:
            tell({"checked": "no server was started or asked for its tools"})
            return total_of([])
        if names is None:
            names = [server.name for server in await self._tools.list_servers(self._caller) if server.enabled]
        waiting = _Waiting(tell, names)

        async def refreshed(name: str) -> Refreshed:
            done = await self._tools.refresh(self._caller, name, progress=waiting.indexing)
            waiting.done(name)
            return done

        return total_of(await asyncio.gather(*(refreshed(name) for name in names)))

    async def stats(self, arguments: Mapping[str, Any], _tell: Progress) -> Any:
        caller, given = await self.of_tenant(arguments)
        return plain(await self._tools.stats(caller, **given))

    async def purge(self, arguments: Mapping[str, Any], _tell: Progress) -> Any:
        caller, given = await self.of_tenant(arguments)
        purged = cast("dict[str, Any]", plain(await self._tools.purge(caller, **given)))
        others = (self._services.intents, self._services.apis)
        return purged | {"rows": purged["rows"] + sum([await one.purge(caller, **given) for one in others])}

    async def of_tenant(self, arguments: Mapping[str, Any]) -> tuple[Caller, dict[str, Any]]:
        """Whoever reaches the socket without a key keeps this installation: any tenant's logs are in his care."""
        given = dict(arguments)
        if given.pop("tenant", None) is None:
            return self._caller, given
        return Caller(await self.owned_tenant(arguments)), given

    async def evaluate_tools(self, arguments: Mapping[str, Any], tell: Progress) -> Any:
        pool = read_pool(Path(arguments["pool"]))
        questions = read_questions(Path(arguments["queries"]))

        def follow(stage: str, done: int, total: int) -> None:
            tell({"stage": stage, "done": done, "total": total})

        return asdict(await evaluate_tools(self._services.database, self._tools, pool, questions, follow))

    async def status(self, _arguments: Mapping[str, Any], _tell: Progress) -> Any:
        states = Counter(state.state for state in self._services.upstreams.states())
        tools = await self._tools.list_tools(self._caller)
        return plain(
            {"pid": os.getpid(), "version": __version__, "data_dir": self._facts.data_dir, "url": self._facts.url}
            | {"access": self._facts.access, "started_by": self._facts.started_by}
            | {"tenant": self._caller.tenant.name, "user": self._caller.user}
            | {"clients": {"mcp": self._presence.count("mcp"), "control": self._presence.count("control")}}
            | {
                "uptime_seconds": round(time.monotonic() - self._facts.since, 1),
                "indexing": not self._app.indexing.done(),
            }
            | {"tools": len(tools), "upstreams": states, "model": self._model()}
        )

    def _model(self) -> str:
        try:
            return self._services.encoder.model.id
        except EncoderError as error:
            return f"none: {error.message}"

    async def add_key(self, arguments: Mapping[str, Any], _tell: Progress) -> Any:
        name = arguments.get("tenant") or self._caller.tenant.name
        self._owner_only()
        known = await self._services.database.tenants()
        tenant = known.get(name) or await self._services.database.tenant(name)
        text, info = await self._keys.add(tenant, arguments["name"], arguments.get("user"))
        said = {"key": text, "tenant": tenant.name, "new_tenant": name not in known, "access": self._facts.access}
        return said | plain(info)

    async def list_keys(self, arguments: Mapping[str, Any], _tell: Progress) -> Any:
        tenant = await self.owned_tenant(arguments)
        return [{"tenant": tenant.name} | plain(info) for info in await self._keys.list(tenant)]

    async def revoke_key(self, arguments: Mapping[str, Any], _tell: Progress) -> Any:
        tenant = await self.owned_tenant(arguments)
        return {"tenant": tenant.name} | plain(await self._keys.revoke(tenant, arguments["name"]))

    async def owned_tenant(self, arguments: Mapping[str, Any]) -> Tenant:
        """The tenant that is meant; only the owner of the data folder may name one, or manage keys."""
        self._owner_only()
        name = arguments.get("tenant") or self._caller.tenant.name
        known = await self._services.database.tenants()
        if name not in known:
            near = did_you_mean(nearest(name, known))
            raise NotFound(f"There is no tenant '{name}'.", hint=near or "`thresher keys add --tenant` makes one.")
        return known[name]

    def _owner_only(self) -> None:
        if not self._is_owner:
            raise NotAllowed(
                "Only the owner of the data folder may do this, nobody with a key.", hint="Unset THRESHER_KEY."
            )

    async def measure_encoder(self, _arguments: Mapping[str, Any], _tell: Progress) -> Any:
        """Time the encoder on short texts that no cache holds."""
        salt = time.monotonic_ns()
        spent: list[float] = []
        for text in _SPEED_TEXTS:
            started = time.perf_counter()
            await self._services.encoder.embed_queries([f"{text} {salt}"])
            spent.append((time.perf_counter() - started) * 1000)
        return {"model": self._services.encoder.model.id, "p50_ms": sorted(spent)[len(spent) // 2]}


class _Waiting:
    """Tells whoever watches which servers have not answered yet."""

    def __init__(self, tell: Progress, names: Sequence[str]) -> None:
        self._tell = tell
        self._total = len(names)
        self._left = list(names)
        if self._left:
            self._report()

    def done(self, name: str) -> None:
        """A server has answered, or failed."""
        if name in self._left:
            self._left.remove(name)
        if self._left:
            self._report()

    def indexing(self, done: int, total: int) -> None:
        """Tools of one of them are indexed."""
        self._tell({"stage": "Indexing", "done": done, "total": total})

    def _report(self) -> None:
        more = f" and {len(self._left) - _NAMED} more" if len(self._left) > _NAMED else ""
        stage = f"Waiting for {', '.join(self._left[:_NAMED])}{more}"
        self._tell({"stage": stage, "done": self._total - len(self._left), "total": self._total})


def _with_path(server: ServerConfig, path: str) -> ServerConfig:
    """A stdio server that finds programs as the shell does that it was added from."""
    if server.transport != "stdio" or not path or "PATH" in server.env:
        return server
    return replace(server, env={**server.env, "PATH": path})


def _refreshed(done: Refreshed) -> dict[str, Any]:
    return cast("dict[str, Any]", plain(done))
