"""Cuts a message into the texts whose scores decide which intents it asks for.

Nothing here knows which cut is right: "flights to Boston and Denver" is one task, "a relation and a value list" are
two, and only the router can tell. So every place that may join two tasks is kept as a joint, with the log-odds that
its words alone give it, and every run of parts between joints becomes a span; `deciding` weighs the ways to cut.

Invariant: pure; a message without a joint, a negation or a turn to lean on costs one text, and no message costs more
than `MAX_TEXTS` beside its queries.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from thresher.knowledge.intents.router.history import earlier_turn, leans
from thresher.knowledge.intents.router.joints import Joint, joints_of
from thresher.knowledge.intents.router.negation import split_negation
from thresher.search import prose

MAX_JOINTS: Final = 4
"""Joints kept; of more, those that join tasks most probably. Four give fifteen spans and sixteen ways to cut."""
MAX_QUERIES: Final = 20
"""Queries read; each costs one text."""
MAX_TEXTS: Final = (MAX_JOINTS + 1) * (MAX_JOINTS + 2) // 2 + 4
"""Texts at most: the spans, the message with its negations, and the turn that it leans on."""
_LONGEST: Final = 2_000
"""Characters of a span that are read: its first three quarters and its last quarter."""


@dataclass(frozen=True, slots=True)
class Span:
    """A run of neighbouring parts of a message.

    Attributes:
        first: Index of its first part.
        stop: Index behind its last part.
        text: Index of its text in `Pieces.texts`.
    """

    first: int
    stop: int
    text: int


@dataclass(frozen=True, slots=True)
class Pieces:
    """What is embedded and scored of one message.

    Attributes:
        texts: Distinct texts; the whole message first. Empty for a blank message without queries.
        spans: Every run of parts of what the message asks for; the first one is all of it.
        odds: For each joint, in order, the log-odds that two tasks meet there, by its words alone.
        queries: Indices of the texts that the caller gave as queries.
        negated: Indices of the texts that the message says it does not mean.
        earlier: Index of the turn before that the message may lean on; -1 where there is none.
        leaning: How surely the message leans on that turn by its words: 0 not at all, 1 certainly.
    """

    texts: tuple[str, ...]
    spans: tuple[Span, ...]
    odds: tuple[float, ...]
    queries: tuple[int, ...] = ()
    negated: tuple[int, ...] = ()
    earlier: int = -1
    leaning: float = 0.0

    @property
    def parts(self) -> int:
        """How many parts the joints leave."""
        return len(self.odds) + 1


def pieces_of(message: str, *, queries: Sequence[str] = (), history: Sequence[str] = ()) -> Pieces:
    """The texts to score for a message.

    Args:
        message: What the person wrote.
        queries: What the calling model wants to do, one task each; the message is then not cut.
        history: The person's turns before, the oldest first.
    """
    whole = prose(message)
    texts: dict[str, int] = {}
    if whole:
        _index(whole, texts)
    asked, negated = split_negation(whole)
    given = tuple(dict.fromkeys(_index(query, texts) for query in queries[:MAX_QUERIES] if query.strip()))
    joints = () if given else _kept(joints_of(asked))
    spans = _spans(asked, joints, texts)
    refused = tuple(dict.fromkeys(_index(text, texts) for text in negated))
    leaning = leans(whole) if whole and not given else 0.0
    turn = earlier_turn(history) if leaning else ""
    earlier = _index(prose(turn), texts) if turn else -1
    return Pieces(tuple(texts), spans, tuple(joint.odds for joint in joints), given, refused, earlier, leaning)


def _kept(joints: Sequence[Joint]) -> tuple[Joint, ...]:
    """The joints that most probably join tasks, in the message's order."""
    best = sorted(joints, key=lambda joint: -joint.odds)[:MAX_JOINTS]
    return tuple(sorted(best, key=lambda joint: joint.start))


def _spans(asked: str, joints: Sequence[Joint], texts: dict[str, int]) -> tuple[Span, ...]:
    """Every run of parts; the longest first, so that the whole message stands in front."""
    if not asked:
        return ()
    starts = [0, *(joint.stop for joint in joints)]
    ends = [*(joint.start for joint in joints), len(asked)]
    count = len(starts)
    runs = [(first, first + size) for size in range(count, 0, -1) for first in range(count - size + 1)]
    return tuple(
        Span(first, stop, _index(_text(asked, starts[first], ends[stop - 1], whole=stop - first == count), texts))
        for first, stop in runs
    )


def _text(asked: str, start: int, end: int, *, whole: bool) -> str:
    if whole:
        return asked
    text = asked[start:end].strip(_EDGES)
    if len(text) <= _LONGEST:
        return text
    return f"{text[: _LONGEST * 3 // 4]} {text[-_LONGEST // 4 :]}"


_EDGES: Final = " \t\n,;:."


def _index(text: str, texts: dict[str, int]) -> int:
    """Where a text stands among the distinct ones; it is added where it is new."""
    return texts.setdefault(text.strip(), len(texts))
