"""Cuts a message into the texts whose scores decide which intents it asks for.

The right cut is not known here: "flights to Boston and Denver" is one task, "a relation and a value list" are two, and
only the router can tell. So every place that may join two tasks is kept as a joint, with the log odds of its words, and
every run of parts between joints becomes a span; `segmentation` weighs the ways to cut.

Invariant: pure; a message without a joint, a refusal or a turn to lean on costs one text, and no message costs more
than `MAX_TEXTS` besides its queries.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from thresher.knowledge.intents.router.cues import MAX_REFUSALS, Joint, earlier_turn, joints_of, leans, split_negation
from thresher.search import prose

MAX_JOINTS: Final = 4
"""Joints kept; of more, those that most probably join tasks. Four give fifteen spans and sixteen ways to cut."""
MAX_QUERIES: Final = 20
"""Queries read; each costs one text."""
MAX_SPANS: Final = (MAX_JOINTS + 1) * (MAX_JOINTS + 2) // 2
MAX_TEXTS: Final = 1 + MAX_SPANS + MAX_REFUSALS + MAX_SPANS
"""Most texts: the message, its spans, what it refuses, and the spans of the turn that it leans on."""
_LONGEST: Final = 2_000
"""Characters of a span that are read: its first three quarters and its last quarter."""
_HEAD, _TAIL = 3_000, 1_000
"""Characters at both ends of a long request that are searched for joints."""
_EDGES: Final = " \t\n,;:."


@dataclass(frozen=True, slots=True)
class RequestSpan:
    """A run of neighbouring parts of a request.

    Attributes:
        first: Index of its first part.
        stop: Index behind its last part.
        text: Index of its text in `Pieces.texts`.
    """

    first: int
    stop: int
    text: int


@dataclass(frozen=True, slots=True)
class RequestSpans:
    """What is asked for, with the places where it may be cut.

    Attributes:
        spans: Every run of parts; the first one is all of it. Empty if nothing is asked.
        joints: The places where it may be cut, in order.
    """

    spans: tuple[RequestSpan, ...] = ()
    joints: tuple[Joint, ...] = ()

    @property
    def parts(self) -> int:
        """Number of parts between the joints."""
        return len(self.joints) + 1 if self.spans else 0


@dataclass(frozen=True, slots=True)
class Pieces:
    """What is embedded and scored of one message.

    Attributes:
        texts: Distinct texts; the whole message first. Empty for a blank message without queries.
        request: What the message asks for, without what it refuses.
        queries: Indices of the texts that the caller gave as queries.
        refused: Indices of the texts that the message says it does not mean.
        earlier: The turn before that the message may lean on.
        leaning: How surely it leans on that turn, by its words: 0 not at all, 1 certainly.
    """

    texts: tuple[str, ...]
    request: RequestSpans
    queries: tuple[int, ...] = ()
    refused: tuple[int, ...] = ()
    earlier: RequestSpans = RequestSpans()
    leaning: float = 0.0


def pieces_of(message: str, *, queries: Sequence[str] = (), history: Sequence[str] = ()) -> Pieces:
    """Return the texts to score for a message.

    Args:
        message: The person's words.
        queries: What the calling model wants to do, one task each; the message itself is then not cut.
        history: The person's turns before, the oldest first.
    """
    whole = prose(message)
    texts: dict[str, int] = {whole: 0} if whole else {}
    asked, refusals = split_negation(whole)
    given = tuple(dict.fromkeys(_index(query, texts) for query in queries[:MAX_QUERIES] if query.strip()))
    request = _request(asked, texts, cut=not given)
    refused = tuple(dict.fromkeys(_index(text, texts) for text in refusals))
    leaning = leans(whole) if history and not given else 0.0
    turn = earlier_turn(history) if leaning else ""
    earlier = _request(split_negation(prose(turn))[0], texts, cut=True) if turn else RequestSpans()
    return Pieces(tuple(texts), request, given, refused, earlier, leaning if turn else 0.0)


def _request(asked: str, texts: dict[str, int], *, cut: bool) -> RequestSpans:
    """Return every run of parts; the longest first, so that the whole comes first."""
    if not asked:
        return RequestSpans()
    likeliest = sorted(_joints(asked), key=lambda joint: -joint.odds)[:MAX_JOINTS] if cut else []
    joints = tuple(sorted(likeliest, key=lambda joint: joint.start))
    starts = [0, *(joint.stop for joint in joints)]
    ends = [*(joint.start for joint in joints), len(asked)]
    count = len(starts)
    runs = [(first, first + size) for size in range(count, 0, -1) for first in range(count - size + 1)]
    spans = tuple(
        RequestSpan(
            first, stop, _index(asked if stop - first == count else _text(asked[starts[first] : ends[stop - 1]]), texts)
        )
        for first, stop in runs
    )
    return RequestSpans(spans, joints)


def _joints(asked: str) -> tuple[Joint, ...]:
    """Return the joints of a request; of a long one those near its ends, where people say what they want."""
    if len(asked) <= _HEAD + _TAIL:
        return joints_of(asked)
    behind = len(asked) - _TAIL
    tail = (Joint(joint.start + behind, joint.stop + behind, joint.signs) for joint in joints_of(asked[behind:]))
    return (*joints_of(asked[:_HEAD]), *tail)


def _text(part: str) -> str:
    text = part.strip(_EDGES)
    if len(text) <= _LONGEST:
        return text
    return f"{text[: _LONGEST * 3 // 4]} {text[-_LONGEST // 4 :]}"


def _index(text: str, texts: dict[str, int]) -> int:
    """Return the index of a text among the distinct ones; a new text is added."""
    return texts.setdefault(text.strip(), len(texts))
