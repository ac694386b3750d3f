"""The rules of packs as text for a model, as prompts and held-up calls give them."""

from __future__ import annotations

from collections.abc import Sequence

from thresher.core import Caller
from thresher.knowledge.intents import Pack
from thresher.services import Services


async def rules_text(services: Services, caller: Caller, packs: Sequence[Pack], request: str = "") -> str:
    """The rules of these packs.

    Args:
        services: Fill the variables.
        caller: Who asks.
        packs: The packs.
        request: What the rules are wanted for; stands at the end, if there is anything.
    """
    del services, caller
    parts = [f"# Rules of the pack '{pack.name}'\n\n{pack.rules.strip()}" for pack in packs]
    return "\n\n".join([*parts, *([f"# Request\n\n{request}"] if request.strip() else [])])
