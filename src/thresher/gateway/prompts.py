"""Our own prompts over MCP: one for each pack, with its rules and the request that needs them, and the agent's.

Invariant: a session that gets a pack's prompt has its rules, and no tool of the pack asks for them again. A prompt of a
server keeps its name. The agent's prompts are parts of its own turns: they can be got by name, and are not listed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from mcp_types import GetPromptResult, Prompt, PromptArgument, PromptMessage, TextContent

from thresher.agent import AgentPrompt
from thresher.context import rulebook_text
from thresher.core import Caller, InvalidInput
from thresher.knowledge.intents import Pack, Packs
from thresher.services import Services

_REQUEST = PromptArgument(name="request", description="What the rules are wanted for", required=False)


def pack_prompts(packs: Packs, taken: Collection[str]) -> dict[str, Pack]:
    """The packs under the names of their prompts.

    Args:
        packs: What the caller sees.
        taken: Names of other prompts; a pack whose name is among them has `-rules` behind it.
    """
    return {f"{pack.name}-rules" if pack.name in taken else pack.name: pack for pack in packs.active}


def agent_prompts(prompts: Mapping[str, AgentPrompt], taken: Collection[str]) -> dict[str, AgentPrompt]:
    """The agent's prompts under their names.

    Args:
        prompts: By the agent's own names.
        taken: Names of prompts of servers; one of ours that is among them has `-prompt` behind it.
    """
    return {f"{name}-prompt" if name in taken else name: prompt for name, prompt in prompts.items()}


def listed_packs(prompts: Mapping[str, Pack]) -> list[Prompt]:
    """The prompts of packs as clients see them."""
    return [
        Prompt(name=name, title=f"Rules of {pack.name}", description=pack.description, arguments=[_REQUEST])
        for name, pack in prompts.items()
    ]


async def filled_agent(
    services: Services, caller: Caller, prompt: AgentPrompt, arguments: Mapping[str, str] | None
) -> GetPromptResult:
    """One of the agent's prompts as it is in force, variables filled.

    Args:
        services: The tenants' own words.
        caller: Who asks.
        prompt: Which.
        arguments: Its variables.

    Raises:
        InvalidInput: One is missing, or there is another.
    """
    text = await services.prompts.fill(caller, prompt.name, **(arguments or {}))
    return _said(text, prompt.description)


async def filled_pack(
    services: Services, caller: Caller, pack: Pack, arguments: Mapping[str, str] | None
) -> GetPromptResult:
    """One prompt of a pack, variables filled.

    Args:
        services: The packs.
        caller: Who asks.
        pack: Whose rules.
        arguments: At most `request`.

    Raises:
        InvalidInput: There is another argument.
    """
    given = dict(arguments or {})
    request = given.pop(_REQUEST.name, "")
    if given:
        raise InvalidInput(f"The prompt '{pack.name}' has no argument '{min(given)}'.", hint="It takes request.")
    text = rulebook_text(await services.context.rules_of(caller, [pack], in_full=True))
    services.intents.mark_given(caller, [pack.name])
    return _said(f"{text}\n\n{request.strip()}" if request.strip() else text, pack.description)


def _said(text: str, description: str) -> GetPromptResult:
    message = PromptMessage(role="user", content=TextContent(type="text", text=text))
    return GetPromptResult(description=description, messages=[message])
