"""The rules of packs as text for a model, as prompts and held-up calls give them.

Invariant: variables are filled, and what is the pack's is told from what is ours, as `process_prompt` does it.
"""

from __future__ import annotations

from collections.abc import Sequence

from thresher.context import rulebook_text
from thresher.core import Caller
from thresher.knowledge.intents import Pack
from thresher.services import Services


async def rules_text(
    services: Services, caller: Caller, packs: Sequence[Pack], request: str = "", *, in_full: bool = False
) -> str:
    """The rules of these packs.

    Args:
        services: Fill the variables.
        caller: Who asks.
        packs: The packs.
        request: What the rules are wanted for; stands at the end, if there is anything.
        in_full: Whether packs with a short form give the whole at once.
    """
    text = rulebook_text(await services.context.rules_of(caller, packs, in_full=in_full))
    return f"{text}\n\n{request.strip()}" if request.strip() else text
