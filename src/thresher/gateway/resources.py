"""Serves `resources/read`, `prompts/get` and `completion/complete`: our own, or over the session with a server.

Invariant: what a client reads under an exposed address or name comes from exactly the server of this address or name,
and that server's addresses in the answer are exposed ones, too.
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
from thresher.core import Caller, NotFound, acting_or
from thresher.gateway.errors import explained
from thresher.gateway.prompts import agent_prompts, filled_agent, filled_pack, pack_prompts
from thresher.gateway.questions import QuestionRelay
from thresher.gateway.skills import TEMPLATE, Skills
from thresher.knowledge.intents import Pack
from thresher.knowledge.tools import SCHEME, Components, Offered
from thresher.services import Services
from thresher.upstream import Peer, ServerConfig

Context: TypeAlias = ServerRequestContext[Any, Any]


class NoResource(NotFound):
    """No server offers an address; the error's data names it, for clients that read several at once."""

    def __init__(self, uri: str) -> None:
        super().__init__(f"There is no resource '{uri}'.", hint="See resources/list and resources/templates/list.")
        self.rpc_data = {"uri": uri}


class Resources:
    """Serves resources, prompts and completions.

    Args:
        services: The sessions.
        components: What servers offer in addition to tools.
        relay: Runs requests that may be answered with a question.
        skills: The files of packs.
    """

    def __init__(self, services: Services, components: Components, relay: QuestionRelay, skills: Skills) -> None:
        self._services = services
        self._components = components
        self._relay = relay
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
        """Return the server behind an exposed address, and the server's own address.

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
        caller = acting_or(self._services.caller)
        if not await self._is_listed(caller, params.uri) and (ours := await self._skills.read(caller, params.uri)):
            return ours
        config, own = await self.locate(caller, params.uri)

        async def work(peer: Peer) -> ReadResourceResult | InputRequiredResult:
            result = await self._services.upstreams.read_resource(config, own, peer=peer)
            return _exposed(result, config)

        return await self._relay.run(context, params, config, work)

    async def _prompt(self, context: Context, params: GetPromptRequestParams) -> GetPromptResult | InputRequiredResult:
        caller = acting_or(self._services.caller)
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

        return await self._relay.run(context, params, config, work)

    async def _complete(self, params: CompleteRequestParams) -> CompleteResult:
        caller = acting_or(self._services.caller)
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

    async def is_pack_file(self, caller: Caller, uri: str) -> bool:
        """Return whether an address is that of a file of a pack, whose changes we see ourselves."""
        return not await self._is_listed(caller, uri) and await self._skills.digest(caller, uri) is not None

    async def _is_listed(self, caller: Caller, uri: str) -> bool:
        """Return whether a server's own list names an address; it takes precedence over a pack's file."""
        return uri in (await self._offered(caller)).resources

    async def _own(self, caller: Caller, offered: Offered, name: str) -> Pack | AgentPrompt | None:
        """Return the pack or the agent's prompt of a name; None if it is a server's, or unknown."""
        if name in offered.prompts:
            return None
        agent = agent_prompts(self._services.prompts.shipped, offered.prompts)
        if (prompt := agent.get(name)) is not None:
            return prompt
        return pack_prompts(await self._services.intents.packs(caller), {*offered.prompts, *agent}).get(name)

    async def _offered(self, caller: Caller) -> Offered:
        return await self._components.offered(caller, await self._services.tools.version(caller))


def _by_template(offered: Offered, uri: str) -> tuple[int, str] | None:
    """Return the server without a prefix whose template matches this address, or the only server without a prefix."""
    bare = offered.bare()
    ids = {row.id for row in bare}
    for template in offered.templates.values():
        if template.server in ids and _matches(template.key, uri):
            return template.server, uri
    return (bare[0].id, uri) if len(bare) == 1 and not uri.startswith(SCHEME) else None


def _matches(template: str, uri: str) -> bool:
    """Return whether a template matches this address; one that the library cannot parse matches none."""
    try:
        return UriTemplate.parse(template).match(uri) is not None
    except InvalidUriTemplate:
        return False


def _exposed(
    result: ReadResourceResult | InputRequiredResult, config: ServerConfig
) -> ReadResourceResult | InputRequiredResult:
    if not config.prefix or isinstance(result, InputRequiredResult):
        return result
    prefix = f"{SCHEME}{config.name}/"
    contents = [part.model_copy(update={"uri": prefix + part.uri}) for part in result.contents]
    return result.model_copy(update={"contents": contents})
