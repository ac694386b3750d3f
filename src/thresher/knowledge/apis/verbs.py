"""What people do to things, in their words: which of five actions a verb means.

Invariant: data and look-ups; a word that is no verb of the lists means nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from thresher.search import terms

READ, CREATE, UPDATE, DELETE, RUN = range(5)
NAMES: Final = ("read", "create", "update", "delete", "run")
ACTIONS: Final = len(NAMES)
_WORDS: Final[Mapping[int, str]] = {
    READ: """get list show read fetch retrieve find search query view describe display see look lookup check browse
        watch inspect count download which what who where when whose return explore preview stream analyse analyze
        examine tell does did overview export estimate enumerate dump compare""",
    CREATE: """create add new make post submit register open provision insert launch file send publish upload import
        invite build generate attach write grant define introduce reply schedule book onboard give connect store keep
        clone copy duplicate push""",
    UPDATE: """update change edit modify rename set replace alter adjust patch move assign reassign enable turn switch
        pause resume suspend restart scale resize expand increase decrease raise lower extend mark close reopen
        transition toggle mute unmute silence cordon drain taint grow loosen tighten correct configure reorder promote
        bump relabel reset rotate swap transfer convert hold disable rollout partially""",
    DELETE: """delete remove drop destroy erase purge discard kill terminate revoke unlink detach uninstall unregister
        wipe rid evict unassign unsubscribe trash deregister decommission withdraw clear""",
    RUN: """trigger run execute validate test cancel abort stop rerun retry verify approve restore archive merge sync
        refresh start""",
}
_QUESTION: Final = re.compile(
    r"^\W*(?:(?:and|but|so|then|please)\s+)*(?:which|what|who|whom|whose|where|when|"
    r"how (?:much|many|long|often|fast|big)|why|is|are|was|were|does|did|has|have|do (?:we|you|they)|"
    r"tell me (?:what|which|who|where|when|why|whether|if|how)|"
    r"show me|am i|may i)\b"
)
_FIRST_WORDS: Final = 2
_PHRASES: Final = tuple(
    (re.compile(pattern), verb)
    for pattern, verb in (
        (r"\b(?:take|throw|kick|move|get|leave)s?\s+(?:(?:[\w'-]+\s+){0,3}?)(?:out|off|away)\b", "remove"),
        (r"\bget rid of\b", "remove"),
        (r"\b(?:look|looking) (?:at|into|up)\b", "read"),
        (r"\b(?:set|setting) up\b|\bput (?:[\w'-]+\s+){0,4}?(?:in place|together)\b", "create"),
        (r"\b(?:turn|switch)(?:ed|ing)? (?:[\w'-]+\s+){0,3}?(?:on|off)\b|\b(?:go|goes) (?:on|back)\b", "update"),
        (r"\bkeep (?:[\w'-]+\s+){1,4}?from\b|\bstop (?:[\w'-]+\s+){1,4}?from\b", "create"),
        (r"\b(?:more|new|fresh|another)\b(?=\s+\w)", "create"),
        (r"\bso that\b.*|\bwithout \w+ing\b.*|\bbefore (?:i|we|you)\b[^,]*,", " "),
        (r"\bopen (?=issues?|tickets?|bugs?|ports?|cases?|source)", " "),
        (r"\b(?:log|test|report|build|schedule|monitor|store)s? (?=of|for|in|on|from|is|are)", " "),
        (r"(?<=the )(?:log|test|report|build|schedule|monitor|store|query|search)s?\b", " "),
    )
)  # fmt: skip
"""Verbs of two parts with the plain verb that they mean; clauses that say why, and nouns that look like verbs."""
_METHODS: Final = {"POST": CREATE, "PUT": UPDATE, "PATCH": UPDATE, "DELETE": DELETE}
_WORD: Final = re.compile(r"[a-z]+(?:'[a-z]+)?")
_READS: Final = re.compile(r"search|query|aggregate|list$", re.I)
_REMOVES: Final = re.compile(r"delete|remove", re.I)


@lru_cache(maxsize=1)
def _verbs() -> Mapping[str, int]:
    return {term: action for action, words in _WORDS.items() for word in words.split() for term in _term(word)}


@lru_cache(maxsize=8192)
def _term(word: str) -> tuple[str, ...]:
    return tuple(terms(word)) or (word,)


def action_of(word: str) -> int | None:
    """The action that a word means; None for a word that is no verb."""
    return _verbs().get(_term(word)[0])


def wanted_actions(text: str) -> tuple[float, ...]:
    """How much a text asks for each action, adding up to 1; all 0 where it names none.

    A question for what is ("which", "who", "is there") asks to read. Else the first verb counts most, most of all at
    the beginning of the text; verbs of two parts ("take out") come before single words.
    """
    folded = text.lower()
    if _QUESTION.match(folded):
        return tuple(float(action == READ) for action in range(ACTIONS))
    weights = [0.0] * ACTIONS
    found = 0
    for place, word in enumerate(_WORD.findall(_joined(folded))):
        if (action := action_of(word)) is None:
            continue
        found += 1
        weights[action] = max(weights[action], 1.0 / found + (0.5 if place < _FIRST_WORDS else 0.0))
    if not found and text.rstrip().endswith("?"):
        weights[READ] = 1.0
    total = sum(weights) or 1.0
    return tuple(weight / total for weight in weights)


def _joined(text: str) -> str:
    """The text with verbs of two parts as the plain verbs that they mean, and without nouns that look like verbs."""
    for pattern, verb in _PHRASES:
        text = pattern.sub(f" {verb} ", text)
    return text


def actions_of(method: str, path: str, title: str) -> tuple[float, ...]:
    """How well an operation does each action, 0 to 1: by its method, and by the verb that its title begins with."""
    weights = [0.0] * ACTIONS
    usual = _METHODS.get(method, READ)
    first = next(iter(_WORD.findall(title.lower())), "")
    said = action_of(first) if first else None
    if method == "POST" and _REMOVES.search(path):
        said = DELETE
    elif method == "POST" and _READS.search(path):
        said = READ
    weights[usual] = 1.0 if said in (None, usual) else 0.4
    if said is not None:
        weights[said] = 1.0
    return tuple(weights)
