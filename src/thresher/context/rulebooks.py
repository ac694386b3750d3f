"""Puts the rules of packs together: in the order of the match, variables filled where a pack asks for it.

Invariant: rules are given whole or not at all; what was left out, and which variables had no value, is said.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import lru_cache

from thresher.context.records import Note, Rulebook
from thresher.context.variables import Filled, Situation, Variables, filled, names_in
from thresher.core import Caller, Rule
from thresher.embedding import count_tokens
from thresher.knowledge.intents import Pack


class Rulebooks:
    """Gives rules.

    Args:
        variables: Fill the texts.
    """

    def __init__(self, variables: Variables) -> None:
        self._variables = variables

    async def of(
        self, caller: Caller, packs: Sequence[Pack], files: tuple[str, ...], *, most: int | None = None
    ) -> Rulebook:
        """The rules of these packs, in this order.

        Args:
            caller: Who asks.
            packs: The packs.
            files: The files that the client told.
            most: Tokens of all rules together; of more, those of the later packs are left out. The first ones are
                given whatever they cost.
        """
        situation = Situation(caller, files)
        texts = await asyncio.gather(*(self._filled(situation, pack) for pack in packs))
        rules = [
            Rule(pack.name, text.text, pack.origin, _tokens(text.text)) for pack, text in zip(packs, texts, strict=True)
        ]
        kept = _within(rules, most)
        without_value = tuple(dict.fromkeys(name for text in texts for name in text.without_value))
        unknown = {pack.name: text.unknown for pack, text in zip(packs, texts, strict=True) if text.unknown}
        notes = [
            Note(f"over the limit, left out: rules of {rule.intent} ({rule.tokens} tokens); get_context gives them")
            for rule in rules
            if rule not in kept
        ]
        if without_value:
            notes.append(Note(f"without value (UNKNOWN): {', '.join(without_value)}"))
        notes += [
            Note(f"unknown variables in the rules of {name}: {', '.join(names)}") for name, names in unknown.items()
        ]
        return Rulebook(tuple(kept), without_value, unknown, tuple(notes))

    async def _filled(self, situation: Situation, pack: Pack) -> Filled:
        if not pack.fills_variables or not (names := names_in(pack.rules)):
            return Filled(pack.rules)
        return filled(pack.rules, await self._variables.values(situation, names, pack=pack.digest))


def _within(rules: Sequence[Rule], most: int | None) -> list[Rule]:
    kept: list[Rule] = []
    spent = 0
    for rule in rules:
        if kept and most is not None and spent + rule.tokens > most:
            continue
        kept.append(rule)
        spent += rule.tokens
    return kept


@lru_cache(maxsize=256)
def _tokens(text: str) -> int:
    """Counted once while a pack and its values stay as they are."""
    return count_tokens(text)
