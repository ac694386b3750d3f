"""What a definition does outside of its own task: to other servers' calls, to what lies elsewhere, to what people see.

Invariant: each rule joins two signs at least, of which one points out of the tool; the terms of each language are those
of `phrases` and `reach`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, TypeAlias

from thresher.scanner.lexicon import ADDRESS, words
from thresher.scanner.signs import Said

Terms: TypeAlias = dict[str, re.Pattern[str]]
_ADDRESS: Final = words(ADDRESS)


def overreach(text: str, of: Terms, *, parameter: bool, placed: bool, needed: bool) -> Iterator[Said]:
    """What one sentence reaches for.

    Args:
        text: The sentence.
        of: The terms of its language.
        parameter: Whether it describes a parameter.
        placed: Whether there is a place to put something: it describes a parameter, or it names one.
        needed: Whether the tool needs secrets for its task.
    """

    def has(*names: str) -> bool:
        return all(of[name].search(text) for name in names)

    if of["abroad"].search(text):
        if has("alter", "matter"):
            yield "override", "danger", "It changes what another tool is called with."
        elif has("content", "give") and (has("take") or _ADDRESS.search(text)):
            yield "exfiltration", "danger", "It has another tool gather something and pass it on."
        elif has("unasked") or (has("legacy") and (has("itself") or has("ours"))):
            yield "override", "danger", "It has another tool used, or left, as it likes."
    if placed and _is_gathered(text, of, parameter=parameter, needed=needed):
        yield "exfiltration", "danger", "It asks for what the tool was not given."
    if has("present", "despite"):
        yield "instruction", "danger", "It has results presented as something that they are not."
    if has("shown", "narrow") and (has("personal") or has("known") or has("despite")):
        yield "instruction", "danger", "It tells the model to keep something from people."


def _is_gathered(text: str, of: Terms, *, parameter: bool, needed: bool) -> bool:
    """Whether something from elsewhere is to be put into a parameter."""

    def has(*names: str) -> bool:
        return all(of[name].search(text) for name in names)

    given = parameter or has("give")
    if given and ((has("personal", "known")) or has("key", "stored")):
        return True
    if not needed and has("give", "key", "owner", "pressure"):
        return True
    tools = of["abroad"].search(text) or of["others"].search(text)
    return has("give") and ((has("rest", "store")) or (tools is not None and has("results")))
