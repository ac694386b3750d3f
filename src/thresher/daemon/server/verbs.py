"""The verbs that commands can use: each with the name and arguments that it has on every face.

Invariant: a verb returns what JSON can represent, without secrets.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from thresher import __version__, evaluation
from thresher.app import App
from thresher.context import prompt_data
from thresher.core import Caller, EncoderError, InvalidInput, NotFound, Tool, plain, problems_of
from thresher.daemon.server.command_verbs import command_verbs
from thresher.daemon.server.control import Progress, Verb
from thresher.daemon.server.conversation_verbs import conversing_verbs
from thresher.daemon.server.evaluation_verbs import measuring_chat_verbs, measuring_verbs
from thresher.daemon.server.presence import Presence
from thresher.knowledge.tools import plain_name
from thresher.upstream import ServerConfig, Upstreams, checked_server, identity_for
from thresher.verbs import KEYS, KINDS, TOOLS, Kind, Request, checked
from thresher.verbs import Verb as DeclaredVerb

_ANY_LENGTH = 64 * 1024 * 1024
"""The most characters of a patch: commands run on this machine, and write it to a file."""
_SPEED_TEXTS = [f"list the open issues of project {number}" for number in range(10)]


@dataclass(frozen=True, slots=True)
class Facts:
    """What `status` shows of the daemon itself.

    Attributes:
        data_dir: The data folder.
        url: The MCP address over HTTP; empty without the HTTP door.
        access: A sentence that says whom HTTP serves without a key.
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
        presence: The attached clients.
        facts: What `status` shows of the daemon itself.
        caller: The tenant and user they work for; None: the owner of the data folder.
        project: The folder that the client works in; empty if there is none.
    """
    request = Request(
        app.services,
        replace(caller or app.services.caller, project=project),
        client="thresher command",
        longest=_ANY_LENGTH,
        reader="person",
        is_owner=caller is None,
        is_rehearsal=app.rehearsal,
    )
    verbs = _Verbs(app, presence, facts, request)
    own = (
        verbs.find_tools,
        verbs.evaluate_tools,
        verbs.train_tools,
        verbs.improve_tools,
        verbs.status,
        verbs.measure_encoder,
        verbs.add_key,
    )
    mine: dict[str, Verb] = {**declared_verbs(request)}  # first: what only commands do replaces some of them
    mine |= {verb.__name__: verb for verb in own}
    mine |= conversing_verbs(app, request.caller)
    mine |= {**measuring_verbs(app, request.caller), **measuring_chat_verbs(app, request.caller)}
    return {**mine, **command_verbs(app, request)}


_VIEWS: Mapping[str, Callable[[Any], Any]] = {
    "process_prompt": lambda prompt: {**prompt_data(prompt), "text": prompt.text},
    "get_context": lambda pack: {
        **{**pack.data, "text": pack.text, "budget": pack.budget},
        "why": [asdict(share) for share in pack.shares],
    },
}
"""How answers that are more than their record are shown to commands."""


def declared_verbs(request: Request, kinds: Sequence[Kind] = KINDS) -> Mapping[str, Verb]:
    """Return the declared verbs by name; what one returns under a key is in an object.

    Args:
        request: What they work with; `progress` is set for each call.
        kinds: Their declarations.
    """

    def served(verb: DeclaredVerb) -> Verb:
        view = _VIEWS.get(verb.name, plain)

        async def run(arguments: Mapping[str, Any], tell: Progress) -> Any:
            answer = view(await verb.run(replace(request, progress=tell), checked(verb, arguments)))
            return {verb.key: answer} if verb.key else answer

        return run

    return {verb.name: served(verb) for kind in kinds for verb in kind}


_SERVER = TypeAdapter(ServerConfig)
_DRAFTS = count(1)


async def list_draft(upstreams: Upstreams, caller: Caller, draft: Mapping[str, Any]) -> Sequence[Tool]:
    """List the tools of a server that is being written; nothing is stored, and its session ends.

    Args:
        upstreams: Opens the session.
        caller: Whose session it is.
        draft: Name, transport, and how to start or reach the server.

    Raises:
        InvalidInput: The draft is not well defined, or one of its tools is not.
        UpstreamError: It cannot be started or reached.
        NotFound: It lists no tools.
    """
    try:
        config = checked_server(_SERVER.validate_python(draft))
    except ValidationError as error:
        raise InvalidInput(f"The server is not well defined: {problems_of(error)}.") from None
    # No server of the catalogue has such a name, so that the session of one with the draft's name goes on.
    owner, name = caller.user or "", f"{config.name}:draft{next(_DRAFTS)}"
    meant = replace(config, name=name, tenant=caller.tenant.id, owner=owner)
    meant = replace(meant, identity=identity_for(meant, owner=caller.user, user=caller.user))
    try:
        listing = await upstreams.list_tools(meant)
    finally:
        await upstreams.disconnect(meant.tenant, name, owner=owner, identity=meant.identity)
    if listing.problems:
        raise InvalidInput(f"Server '{config.name}': {' '.join(listing.problems)}", hint="Correct its definitions.")
    if not listing.tools:
        raise NotFound(f"Server '{config.name}' lists no tools.")
    return [replace(tool, server=config.name) for tool in listing.tools]


class _Verbs:
    """One method a verb: (arguments, progress) -> result."""

    def __init__(self, app: App, presence: Presence, facts: Facts, request: Request) -> None:
        self._app = app
        self._presence = presence
        self._facts = facts
        self._request = request
        self._services = app.services
        self._tools = app.services.tools
        self._caller = request.caller

    async def find_tools(self, arguments: Mapping[str, Any], _tell: Progress) -> Any:
        verb = TOOLS["find_tools"]
        found = await verb.run(self._request, checked(verb, arguments))
        tools = [
            {"name": tool.name, "key": tool.tool.key, "score": tool.score, "line": tool.line, "tokens": tool.tokens}
            | {"form": tool.form, "gist": tool.gist, "write": tool.write, "also": tool.also, "why": tool.why}
            for tool in found.tools
        ]
        failed = [] if found.tools else await self._failed(arguments.get("servers"))
        return plain(replace(found, tools=())) | {"tools": plain(tools), "failed_servers": failed}

    async def _failed(self, chosen: Sequence[str] | None) -> list[str]:
        """Return the servers that have no tools because they could not be listed."""
        servers = await self._tools.list_servers(self._caller)
        failed = (server for server in servers if server.enabled and not server.tools and server.state == "failed")
        return [server.name for server in failed if not chosen or server.name in chosen]

    async def evaluate_tools(self, arguments: Mapping[str, Any], tell: Progress) -> Any:
        pool = evaluation.read_pool(Path(arguments["pool"]))
        questions = evaluation.read_questions(Path(arguments["queries"]))

        def follow(stage: str, done: int, total: int) -> None:
            tell({"stage": stage, "done": done, "total": total})

        return asdict(await evaluation.evaluate_tools(self._services.database, self._tools, pool, questions, follow))

    async def train_tools(self, arguments: Mapping[str, Any], tell: Progress) -> Any:
        """Train as the declared verb does, on the questions of a file, too."""
        verb = TOOLS["train_tools"]
        given = {name: value for name, value in arguments.items() if name != "file"}
        if path := arguments.get("file"):
            questions = await asyncio.to_thread(evaluation.read_questions, Path(path))
            asked = [one for one in questions if one.relevant]
            given["examples"] = [{"query": one.text, "relevant": sorted(one.relevant)} for one in asked]
        return plain(await verb.run(replace(self._request, progress=tell), checked(verb, given)))

    async def improve_tools(self, arguments: Mapping[str, Any], tell: Progress) -> Any:
        """Measure a server of the catalogue or a draft of one beside all others, or one of a file beside its others."""
        if path := arguments.get("definitions"):
            pool: Sequence[Tool] = evaluation.read_pool(Path(path))
        else:
            await self._tools.ready(self._caller)
            pool = [one.tool for one in await self._tools.all_tools(self._caller)]
        if draft := arguments.get("draft"):
            listed = await list_draft(self._services.upstreams, self._caller, draft)
            pool = [*listed, *(tool for tool in pool if plain_name(tool.server) != listed[0].server)]

        def follow(stage: str, done: int, total: int) -> None:
            tell({"stage": stage, "done": done, "total": total})

        server = arguments.get("server")
        return asdict(await evaluation.improve_tools(self._services.database, self._tools, pool, server, follow))

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
        """Create a key; the answer also says whether its tenant is new, and whom HTTP serves without a key."""
        verb = KEYS["add_key"]
        known = await self._services.database.tenants()
        text, info = await verb.run(self._request, checked(verb, arguments))
        return {"key": text, "new_tenant": info.tenant not in known, "access": self._facts.access} | plain(info)

    async def measure_encoder(self, _arguments: Mapping[str, Any], _tell: Progress) -> Any:
        """Measure the encoder on short texts that are in no cache."""
        salt = time.monotonic_ns()
        spent: list[float] = []
        for text in _SPEED_TEXTS:
            started = time.perf_counter()
            await self._services.encoder.embed_queries([f"{text} {salt}"])
            spent.append((time.perf_counter() - started) * 1000)
        return {"model": self._services.encoder.model.id, "p50_ms": sorted(spent)[len(spent) // 2]}
