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
_BEFORE: Final = 8
_AFTER: Final = 20
"""Characters around a denial in which what it denies stands: Japanese puts it before, the others behind."""


def overreach(text: str, of: Terms, *, parameter: bool, placed: bool, needed: bool) -> Iterator[Said]:
    """What one sentence reaches for.

    Args:
        text: The sentence.
        of: The terms of its language.
        parameter: Whether it describes a parameter.
        placed: Whether there is a place to put something: it describes a parameter, or it names one.
        needed: Whether the tool needs secrets for its task.
    """
    if of["abroad"].search(text):
        yield from _abroad(text, of, placed=placed)
    if _has(text, of, "discard", "ours") and (of["others"].search(text) or of["abroad"].search(text)):
        yield "override", "danger", "It has what other tools say left out."
    if placed and _is_gathered(text, of, parameter=parameter, needed=needed):
        yield "exfiltration", "danger", "It asks for what the tool was not given."
    yield from _behind_backs(text, of)


def _has(text: str, of: Terms, *names: str) -> bool:
    """Whether a sentence holds a term of each kind."""
    return all(of[name].search(text) for name in names)


def _abroad(text: str, of: Terms, *, placed: bool) -> Iterator[Said]:
    """What is done to the calls of another server."""
    if _has(text, of, "alter", "matter"):
        yield "override", "danger", "It changes what another tool is called with."
    elif _has(text, of, "content", "give") and (placed or of["take"].search(text) or _ADDRESS.search(text)):
        yield "exfiltration", "danger", "It has another tool gather something and pass it on."
    elif of["unasked"].search(text) or (
        of["legacy"].search(text) and (of["itself"].search(text) or of["ours"].search(text))
    ):
        yield "override", "danger", "It has another tool used, or left, as it likes."


def _is_gathered(text: str, of: Terms, *, parameter: bool, needed: bool) -> bool:
    """Whether something from elsewhere is to be put into a parameter."""
    gives = of["give"].search(text) is not None
    if parameter or gives:
        if _has(text, of, "personal", "known") or _has(text, of, "key", "stored"):
            return True
        if not needed and _has(text, of, "key", "store"):
            return True
    if gives and not needed and _has(text, of, "key", "owner", "pressure"):
        return True
    if gives and not parameter and not of["whenever"].search(text) and _has(text, of, "personal", "people", "speak"):
        return True
    if not parameter and _has(text, of, "store", "take", "owner", "digest"):
        return True
    tools = of["abroad"].search(text) or of["others"].search(text)
    if tools and of["results"].search(text) and not of["matter"].search(text):
        return gives or of["pressure"].search(text) is not None
    return gives and _has(text, of, "rest", "store")


def _behind_backs(text: str, of: Terms) -> Iterator[Said]:
    """What people are not asked, not told, or told otherwise than it is."""
    moves = of["give"].search(text) or of["alter"].search(text)
    if moves and of["unasked"].search(text) and _ADDRESS.search(text):
        yield "exfiltration", "danger", "It has something sent away without asking people."
    if _has(text, of, "alter", "matter", "people") and _is_unsaid(text, of):
        yield "instruction", "danger", "It has something changed that people are not to learn of."
    says = of["speak"].search(text) or of["present"].search(text) or of["give"].search(text)
    if _has(text, of, "present", "despite") or (says and _has(text, of, "skew", "people")):
        yield "instruction", "danger", "It has results presented as something that they are not."
    if _has(text, of, "shown", "narrow") and any(of[one].search(text) for one in ("personal", "known", "despite")):
        yield "instruction", "danger", "It tells the model to keep something from people."


def _is_unsaid(text: str, of: Terms) -> bool:
    """Whether a verb of saying stands close to a denial."""
    return any(
        of["speak"].search(text[max(0, denial.start() - _BEFORE) : denial.end() + _AFTER])
        for denial in of["deny"].finditer(text)
    )
