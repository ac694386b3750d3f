"""What a query wants done: the actions its verbs mean, and a linear head over meaning, verbs and words.

A small encoder captures what a query is about better than what it asks for, so the head reads the words beside the
vector: each word, each pair of neighbours, the first, the last and a question mark, hashed to a fixed range. It is
fitted on `requests.txt` by `scripts/ship_api_words.py`.

Invariant: pure; the same text and vector give the same goal everywhere; a word outside the verb lists means nothing.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from thresher.search import Floats, terms

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
"""Phrasal verbs with their plain verbs; clauses of purpose, and nouns that look like verbs."""
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
    """Return the action that a word means; None if the word is not a verb."""
    return _verbs().get(_term(word)[0])


def requested_actions(text: str) -> tuple[float, ...]:
    """Return how much a text asks for each action, adding up to 1; all 0 if it names none.

    A question about what exists ("which", "who", "is there") asks to read. Otherwise the first verb counts most, and
    more at the start of the text; phrasal verbs ("take out") take precedence over single words.
    """
    folded = text.lower()
    if _QUESTION.match(folded):
        return tuple(float(action == READ) for action in range(ACTIONS))
    weights = [0.0] * ACTIONS
    found = 0
    for pattern, verb in _PHRASES:
        folded = pattern.sub(f" {verb} ", folded)
    for place, word in enumerate(_WORD.findall(folded)):
        if (action := action_of(word)) is None:
            continue
        found += 1
        weights[action] = max(weights[action], 1.0 / found + (0.5 if place < _FIRST_WORDS else 0.0))
    if not found and text.rstrip().endswith("?"):
        weights[READ] = 1.0
    total = sum(weights) or 1.0
    return tuple(weight / total for weight in weights)


def actions_of(method: str, path: str, title: str) -> tuple[float, ...]:
    """Return how well an operation performs each action, 0 to 1, by its method and the first verb of its title."""
    weights = [0.0] * ACTIONS
    usual = _METHODS.get(method, READ)
    first = next(iter(_WORD.findall(title.lower())), "")
    verb = action_of(first) if first else None
    if method == "POST" and _REMOVES.search(path):
        verb = DELETE
    elif method == "POST" and _READS.search(path):
        verb = READ
    weights[usual] = 1.0 if verb in (None, usual) else 0.4
    if verb is not None:
        weights[verb] = 1.0
    return tuple(weights)


HASH_SIZE: Final = 4096
"""Size of the range that words and pairs of words are hashed to."""
OUTPUTS: Final = ACTIONS + 1
"""One for each action, and one for whether a single thing is read."""
_MEANING: Final = 5.0
_VERB_WEIGHT: Final = 2.0
_HASH_WEIGHT: Final = 0.5
"""Scales of the input's parts, chosen so that one weight decay suits all."""
_SUREST: Final = 3.9
"""Bound of the log odds, a probability of .98."""
_TOKEN: Final = re.compile(r"[a-z0-9']+")


@dataclass(frozen=True, slots=True)
class Goal:
    """What a query wants done.

    Attributes:
        actions: Probability of each action; they add up to 1, or are all 0 if nothing is known.
        one: Log odds that a read asks for one thing rather than for a list.
    """

    actions: tuple[float, ...]
    one: float = 0.0


def hashed_words(text: str) -> NDArray[np.int64]:
    """Return the hashes of a text's words: sorted and distinct, 0 to HASH_SIZE - 1."""
    words = _TOKEN.findall(text.lower())
    keys = [f"u:{word}" for word in words]
    keys += [f"b:{one} {other}" for one, other in pairwise(words)]
    keys += [f"f:{words[0]}", f"l:{words[-1]}"] if words else []
    keys += ["?"] if text.rstrip().endswith("?") else []
    return np.array(sorted({zlib.crc32(sign.encode()) % HASH_SIZE for sign in keys}), np.int64)


def inputs(vector: Floats, text: str) -> Floats:
    """Return the input of the head: float32 (dimension + ACTIONS + HASH_SIZE + 1,), the last a constant."""
    hashed = np.zeros(HASH_SIZE, np.float32)
    hashed[hashed_words(text)] = _HASH_WEIGHT
    verbs = _VERB_WEIGHT * np.array(requested_actions(text), np.float32)
    return np.concatenate([_MEANING * vector, verbs, hashed, np.ones(1, np.float32)]).astype(np.float32)


def goal_of(vector: Floats, text: str, head: Floats) -> Goal:
    """Return what a query wants done.

    Args:
        vector: float32 (dimension,), of the text.
        text: The cleaned query.
        head: float32 (dimension + ACTIONS + HASH_SIZE + 1, OUTPUTS).
    """
    dimension = len(vector)
    values = _MEANING * (vector @ head[:dimension]) + head[-1]
    values += _VERB_WEIGHT * (np.array(requested_actions(text), np.float32) @ head[dimension : dimension + ACTIONS])
    values += _HASH_WEIGHT * head[dimension + ACTIONS + hashed_words(text)].sum(axis=0)
    powers = np.exp(values[:ACTIONS] - values[:ACTIONS].max())
    one = float(np.clip(values[ACTIONS], -_SUREST, _SUREST))
    return Goal(tuple(float(power) for power in powers / powers.sum()), one)
