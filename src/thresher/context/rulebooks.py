"""The rules of packs, in the order of the match, with variables filled if a pack wants it.

Invariant: a pack's rules are given in their short form, with the way to the full one, or in full, or left out with a
note. No text is cut.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from functools import lru_cache

from thresher.context.cursors import rules_cursor
from thresher.context.records import Note, Rulebook
from thresher.context.variables import FilledText, Situation, Variables, filled, names_in
from thresher.core import Caller, Rule
from thresher.embedding import count_tokens
from thresher.knowledge.intents import Pack, outline, short_form


class Rulebooks:
    """Returns rules.

    Args:
        variables: Fill the texts.
    """

    def __init__(self, variables: Variables) -> None:
        self._variables = variables

    async def of(
        self,
        caller: Caller,
        packs: Sequence[Pack],
        files: tuple[str, ...],
        *,
        most: int | None = None,
        in_full: bool = False,
        outlined: bool = False,
    ) -> Rulebook:
        """Return the rules of these packs, in this order.

        Args:
            caller: The user and tenant.
            packs: The packs.
            files: The files that the client named.
            most: The maximum number of tokens of all rules together; beyond it, those of later packs are left out.
                The first
                ones are always given.
            in_full: Whether packs with a short form give the full one at once.
            outlined: Whether long rules without a short form also give their outline, since a budget may not hold them.
        """
        situation = Situation(caller, files)
        pairs = await asyncio.gather(
            *(self._filled(situation, pack, "" if in_full else _short(pack, outlined=outlined)) for pack in packs)
        )
        texts = [text for text, _ in pairs]
        rules = [_rule(pack, *pair) for pack, pair in zip(packs, pairs, strict=True) if pair[0].text.strip()]
        kept: list[Rule] = []
        room = math.inf if most is None else most
        for rule in rules:
            if not kept or rule.tokens <= room:
                kept.append(rule)
                room -= rule.tokens
        without_value = tuple(dict.fromkeys(name for text in texts for name in text.without_value))
        unknown = {pack.name: text.unknown for pack, text in zip(packs, texts, strict=True) if text.unknown}
        notes = [
            Note(f"over the limit, left out: rules of {rule.intent} ({rule.tokens} tokens); get_context gives them")
            for rule in rules
            if rule not in kept
        ]
        notes += [
            Note(f"{pack.name} fits, and is not given: no line is left without {', '.join(text.without_value)}")
            for pack, text in zip(packs, texts, strict=True)
            if text.without_value and not text.text.strip()
        ]
        notes += [
            Note(f"unknown variables in the rules of {name}: {', '.join(names)}") for name, names in unknown.items()
        ]
        return Rulebook(tuple(kept), without_value, unknown, tuple(notes))

    async def _filled(self, situation: Situation, pack: Pack, short: str) -> tuple[FilledText, FilledText]:
        """The rules and their short form; each variable is requested once."""
        rules = pack.rules
        if not pack.fills_variables or not (names := {*names_in(rules), *names_in(short)}):
            return FilledText(rules), FilledText(short)
        values = await self._variables.values(situation, names, pack=pack.digest)
        return filled(rules, values), filled(short, values)


def _short(pack: Pack, *, outlined: bool) -> str:
    """The pack's short form: its author's, else one made from its sections, else an outline; empty if there is none."""
    return pack.short or _short_of_rules(pack.rules) or (_outline_of_rules(pack.rules) if outlined else "")


_short_of_rules = lru_cache(maxsize=512)(short_form)
_outline_of_rules = lru_cache(maxsize=512)(outline)


def _rule(pack: Pack, text: FilledText, short: FilledText) -> Rule:
    whole = Rule(pack.name, text.text, pack.origin, _tokens(text.text))
    if not short.text.strip() or (tokens := _tokens(short.text)) >= whole.tokens:
        return whole
    return Rule(pack.name, short.text, pack.origin, tokens, whole, rules_cursor(pack.name, pack.digest))


@lru_cache(maxsize=1_024)
def _tokens(text: str) -> int:
    """Cached while a pack and its values stay the same."""
    return count_tokens(text)
