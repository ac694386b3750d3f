"""Summaries that tell operations apart.

Invariant: of the operations that get one, no two get the same, and none gets one that another has already.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence

from thresher.core import shortened
from thresher.openapi.patching.names import sentence, thing_of, with_article, words_of
from thresher.openapi.patching.sentences import SUMMARY, deed_of, summary_of
from thresher.openapi.records import Operation


def telling_summaries(operations: Sequence[Operation], wanted: Collection[str]) -> Mapping[str, str]:
    """A summary for each wanted operation, the shortest that no other has.

    Args:
        operations: All of the description.
        wanted: Keys of those that get one.
    """
    taken = Counter(_folded(each.summary) for each in operations if each.key not in wanted)
    waiting = {each.key: list(_candidates(each)) for each in operations if each.key in wanted}
    while True:
        chosen = {key: candidates[0] for key, candidates in waiting.items()}
        counts = Counter(map(_folded, chosen.values())) + taken
        doubled = [key for key, text in chosen.items() if counts[_folded(text)] > 1 and len(waiting[key]) > 1]
        if not doubled:
            return {key: text for key, text in chosen.items() if counts[_folded(text)] == 1}
        for key in doubled:
            waiting[key].pop(0)


def _candidates(operation: Operation) -> Iterator[str]:
    """Summaries, the shorter ones first, the last one with the path; none is the description again."""
    said = _folded(operation.description)
    for text in _wordings(operation):
        if _folded(text) != said:
            yield shortened(text, SUMMARY)
    yield f"{shortened(next(_wordings(operation)), SUMMARY)} ({operation.path})"


def _wordings(operation: Operation) -> Iterator[str]:
    names = {operation.operation_id.casefold(), operation.path.casefold(), operation.key.casefold()}
    base = "" if operation.summary.strip().casefold() in names else " ".join(operation.summary.split()).rstrip(".")
    deed = sentence(deed_of(operation)).rstrip(".")
    yield base or summary_of(operation)
    base = base or deed
    thing, picked = thing_of(operation.path)
    owner = with_article(thing) if picked else thing.partition(" of ")[2]
    if owner and owner.partition(" ")[2].casefold() not in base.casefold():
        yield f"{base} of {owner}"
    known = _folded(base).split()
    more = " ".join(word for word in thing.split() if word.casefold() not in known and word not in {"a", "an", "of"})
    if more:
        yield f"{base} ({more})"
    yield deed


def _folded(text: str) -> str:
    return " ".join(words_of(text)).casefold()
