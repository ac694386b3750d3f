"""Serves `resources/read`, `prompts/get` and `completion/complete`: our own, or over the session with a server.

Invariant: what a client reads under an exposed address or name comes from exactly the server that this address or name
leads to, and its own addresses in the answer lead back there.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from mcp.server.context import ServerRequestContext
from mcp.shared.uri_template import InvalidUriTemplate, UriTemplate
from mcp_types import (
    CompleteRequestParams,
    CompleteResult,
    Completion,
    GetPromptRequestParams,
    GetPromptResult,
    InputRequiredResult,
    PromptReference,
    ReadResourceRequestParams,
    ReadResourceResult,
)

from thresher.agent import AgentPrompt
from thresher.core import Caller, NotFound
from thresher.gateway.callers import current_caller
from thresher.gateway.errors import explained
from thresher.gateway.prompts import agent_prompts, filled_agent, filled_pack, pack_prompts
from thresher.gateway.questions import Asking
from thresher.gateway.skills import TEMPLATE, Skills
from thresher.knowledge.intents import Pack
from thresher.knowledge.tools import SCHEME, Components, Offered
from thresher.services import Services
from thresher.upstream import Peer, ServerConfig

Context: TypeAlias = ServerRequestContext[Any, Any]


class NoResource(NotFound):
    """No server offers an address; the error's data names it, for clients that read several at once."""

    def __init__(self, uri: str) -> None:
        super().__init__(f"There is no resource '{uri}'.", hint="resources/list and resources/templates/list tell.")
        self.rpc_data = {"uri": uri}


class Reading:
    """Serves reads, prompts and completions.

    Args:
        services: The sessions.
        components: What servers offer besides tools.
        asking: Runs what may be answered with a question.
        skills: The files of packs.
    """

    def __init__(self, services: Services, components: Components, asking: Asking, skills: Skills) -> None:
        self._services = services
        self._components = components
        self._asking = asking
        self._skills = skills

    async def read(
        self, context: Context, params: ReadResourceRequestParams
    ) -> ReadResourceResult | InputRequiredResult:
        """Serve `resources/read`."""
        return await explained(self._read(context, params))

    async def prompt(self, context: Context, params: GetPromptRequestParams) -> GetPromptResult | InputRequiredResult:
        """Serve `prompts/get`."""
        return await explained(self._prompt(context, params))

    async def complete(self, _: Context, params: CompleteRequestParams) -> CompleteResult:
        """Serve `completion/complete`."""
        return await explained(self._complete(params))

    async def locate(self, caller: Caller, uri: str) -> tuple[ServerConfig, str]:
        """The server behind an exposed address, and its own address.

        Raises:
            NotFound: No server offers it.
        """
        offered = await self._offered(caller)
        home = offered.home(uri) or _by_template(offered, uri)
        if home is None:
            raise NoResource(uri)
        return self._components.config(caller, offered, home[0]), home[1]

    async def _read(
        self, context: Context, params: ReadResourceRequestParams
    ) -> ReadResourceResult | InputRequiredResult:
        caller = current_caller(self._services)
        if not await self._is_listed(caller, params.uri) and (ours := await self._skills.read(caller, params.uri)):
            return ours
        config, own = await self.locate(caller, params.uri)

        async def work(peer: Peer) -> ReadResourceResult | InputRequiredResult:
            result = await self._services.upstreams.read_resource(config, own, peer=peer)
            return _addressed(result, config)

        return await self._asking.run(context, params, config, work)

    async def _prompt(self, context: Context, params: GetPromptRequestParams) -> GetPromptResult | InputRequiredResult:
        caller = current_caller(self._services)
        offered = await self._offered(caller)
        match await self._own(caller, offered, params.name):
            case Pack() as pack:
                return await filled_pack(self._services, caller, pack, params.arguments)
            case AgentPrompt() as prompt:
                return await filled_agent(self._services, caller, prompt, params.arguments)
            case None:
                pass
        found = offered.prompt(params.name)
        config = self._components.config(caller, offered, found.server)

        async def work(peer: Peer) -> GetPromptResult | InputRequiredResult:
            return await self._services.upstreams.get_prompt(config, found.key, params.arguments, peer=peer)

        return await self._asking.run(context, params, config, work)

    async def _complete(self, params: CompleteRequestParams) -> CompleteResult:
        caller = current_caller(self._services)
        if isinstance(params.ref, PromptReference):
            offered = await self._offered(caller)
            if await self._own(caller, offered, params.ref.name) is not None:
                return CompleteResult(completion=Completion(values=[]))
            found = offered.prompt(params.ref.name)
            config = self._components.config(caller, offered, found.server)
            ref = params.ref.model_copy(update={"name": found.key})
        else:
            if params.ref.uri == TEMPLATE.uri_template:
                return CompleteResult(completion=Completion(values=[]))
            config, own = await self.locate(caller, params.ref.uri)
            ref = params.ref.model_copy(update={"uri": own})
        plain = CompleteRequestParams(ref=ref, argument=params.argument, context=params.context)
        return await self._services.upstreams.complete(config, plain)

    async def follows(self, caller: Caller, uri: str) -> bool:
        """Whether an address leads to a file of a pack, whose changes we see ourselves."""
        return not await self._is_listed(caller, uri) and await self._skills.digest(caller, uri) is not None

    async def _is_listed(self, caller: Caller, uri: str) -> bool:
        """Whether a server's own list names an address; a pack's file of the same one stands behind it."""
        return uri in (await self._offered(caller)).resources

    async def _own(self, caller: Caller, offered: Offered, name: str) -> Pack | AgentPrompt | None:
        """The pack or the agent's prompt behind a name; None if it is a server's, or unknown."""
        if name in offered.prompts:
            return None
        agent = agent_prompts(self._services.prompts.shipped, offered.prompts)
        if (prompt := agent.get(name)) is not None:
            return prompt
        return pack_prompts(await self._services.intents.packs(caller), {*offered.prompts, *agent}).get(name)

    async def _offered(self, caller: Caller) -> Offered:
        return await self._components.offered(caller, await self._services.tools.version(caller))


def _by_template(offered: Offered, uri: str) -> tuple[int, str] | None:
    """The server without a prefix whose template makes this address; where there is but one such server, that one."""
    bare = offered.bare()
    ids = {row.id for row in bare}
    for template in offered.templates.values():
        if template.server in ids and _makes(template.key, uri):
            return template.server, uri
    return (bare[0].id, uri) if len(bare) == 1 and not uri.startswith(SCHEME) else None


def _makes(template: str, uri: str) -> bool:
    """Whether a template makes this address; one that the library cannot take apart makes none."""
    try:
        return UriTemplate.parse(template).match(uri) is not None
    except InvalidUriTemplate:
        return False


def _addressed(
    result: ReadResourceResult | InputRequiredResult, config: ServerConfig
) -> ReadResourceResult | InputRequiredResult:
    if not config.prefix or isinstance(result, InputRequiredResult):
        return result
    prefix = f"{SCHEME}{config.name}/"
    contents = [part.model_copy(update={"uri": prefix + part.uri}) for part in result.contents]
    return result.model_copy(update={"contents": contents})
