"""Packs as MCP prompts: one a pack, which gives its rules, and the request that they are wanted for.

Invariant: whoever is given a prompt has been given the rules, and no tool of the pack asks for them again.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from mcp_types import GetPromptResult, Prompt, PromptArgument, PromptMessage, TextContent

from thresher.core import Caller, InvalidInput
from thresher.gateway.rules import rules_text
from thresher.knowledge.intents import Pack, Packs
from thresher.services import Services

_REQUEST = PromptArgument(name="request", description="What the rules are wanted for", required=False)


def pack_prompts(packs: Packs, taken: Collection[str]) -> dict[str, Pack]:
    """The packs under the names of their prompts.

    Args:
        packs: What the caller sees.
        taken: Names of prompts of servers; a pack whose name is among them has `-rules` behind it.
    """
    return {f"{pack.name}-rules" if pack.name in taken else pack.name: pack for pack in packs.active}


def listed_prompts(prompts: Mapping[str, Pack]) -> list[Prompt]:
    """The prompts as clients see them."""
    return [
        Prompt(name=name, title=f"Rules of {pack.name}", description=pack.description, arguments=[_REQUEST])
        for name, pack in prompts.items()
    ]


async def filled_prompt(
    services: Services, caller: Caller, pack: Pack, arguments: Mapping[str, str] | None
) -> GetPromptResult:
    """One prompt, variables filled.

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
    text = await rules_text(services, caller, [pack], request)
    services.intents.mark_given(caller, [pack.name])
    message = PromptMessage(role="user", content=TextContent(type="text", text=text))
    return GetPromptResult(description=pack.description, messages=[message])
