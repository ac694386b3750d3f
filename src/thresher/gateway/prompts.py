"""Our own prompts over MCP: one for each pack, with its rules and the request that needs them, and the agent's.

Invariant: a session that gets a pack's prompt has its rules, and no tool of the pack requires them again. A prompt of a
server keeps its name. The agent's prompts are parts of its own turns: they can be read by name, and are not listed.
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
    """Return the packs under the names of their prompts.

    Args:
        packs: The packs that the caller sees.
        taken: Names of other prompts; `-rules` is appended to the name of a pack that is among them.
    """
    return {f"{pack.name}-rules" if pack.name in taken else pack.name: pack for pack in packs.active}


def agent_prompts(prompts: Mapping[str, AgentPrompt], taken: Collection[str]) -> dict[str, AgentPrompt]:
    """Return the agent's prompts under their names.

    Args:
        prompts: By the agent's own names.
        taken: Names of prompts of servers; `-prompt` is appended to one of ours that is among them.
    """
    return {f"{name}-prompt" if name in taken else name: prompt for name, prompt in prompts.items()}


def listed_packs(prompts: Mapping[str, Pack]) -> list[Prompt]:
    """Return the prompts of packs as clients see them."""
    return [
        Prompt(name=name, title=f"Rules of {pack.name}", description=pack.description, arguments=[_REQUEST])
        for name, pack in prompts.items()
    ]


async def filled_agent(
    services: Services, caller: Caller, prompt: AgentPrompt, arguments: Mapping[str, str] | None
) -> GetPromptResult:
    """Return one of the agent's prompts as it is in force, variables filled.

    Args:
        services: They have the tenants' own texts.
        caller: The tenant whose text is returned.
        prompt: The prompt.
        arguments: Values of its variables.

    Raises:
        InvalidInput: A variable is missing or unknown.
    """
    text = await services.prompts.fill(caller, prompt.name, **(arguments or {}))
    return _result(text, prompt.description)


async def filled_pack(
    services: Services, caller: Caller, pack: Pack, arguments: Mapping[str, str] | None
) -> GetPromptResult:
    """Return the prompt of a pack, variables filled.

    Args:
        services: They have the packs' rules.
        caller: The tenant and user whose values fill the variables.
        pack: The pack.
        arguments: At most `request`.

    Raises:
        InvalidInput: There is another argument.
    """
    others = dict(arguments or {})
    request = others.pop(_REQUEST.name, "")
    if others:
        raise InvalidInput(f"The prompt '{pack.name}' has no argument '{min(others)}'.", hint="It takes request.")
    text = rulebook_text(await services.context.rules_of(caller, [pack], in_full=True))
    services.intents.mark_given(caller, [pack.name])
    return _result(f"{text}\n\n{request.strip()}" if request.strip() else text, pack.description)


def _result(text: str, description: str) -> GetPromptResult:
    message = PromptMessage(role="user", content=TextContent(type="text", text=text))
    return GetPromptResult(description=description, messages=[message])
