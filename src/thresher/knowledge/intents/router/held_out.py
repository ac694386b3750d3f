"""Cross-validation of lines: what a router that has not seen a line makes of it, and what an edit changes in that.

Invariant: pure. A line is judged whole, as the thresholds are fitted, and never by a fit that has seen it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from thresher.embedding import Matrix
from thresher.knowledge.intents.models import EditEffect, IntentEffect, LineFlip, Tally
from thresher.knowledge.intents.router.fitted import Fitted, score
from thresher.knowledge.intents.router.fitting import FOLDS, Turns, cross_validate
from thresher.knowledge.intents.router.head import Head
from thresher.knowledge.intents.router.records import Bools, Floats, Training, Vectors


@dataclass(frozen=True, slots=True)
class HeldOutScores:
    """The scores of texts that were held out.

    Attributes:
        training: The texts.
        lines: float32 (lines, intents), calibrated probability that a line asks for an intent; NaN for a line that was
            never held out: the only one of its intent, one of very many, or one of a skill, which is scored by its
            whole text.
        misses: float32 (negatives, intents), the same of near misses.
        thresholds: The fitted ones of the whole set, by intent.
        heads: Of each fold.
    """

    training: Training
    lines: Floats
    misses: Floats
    thresholds: Mapping[str, float]
    heads: tuple[Head, ...]

    def matched(self, by_hand: Mapping[str, float]) -> dict[tuple[str, str, bool], tuple[str, ...]]:
        """Return the intents that each held-out text would match, by intent, text and whether it is a near miss.

        Args:
            by_hand: Thresholds that people set; they replace the fitted ones.
        """
        names = self.training.intents
        limits = np.array([by_hand.get(name, self.thresholds[name]) for name in names], np.float32)
        kinds = (
            (self.lines, self.training.lines, self.training.labels, False),
            (self.misses, self.training.negatives, self.training.negative_labels, True),
        )
        return {
            (names[label], text, is_miss): tuple(names[place] for place in np.flatnonzero(row >= limits))
            for scores, texts, labels, is_miss in kinds
            for row, text, label in zip(scores, texts, labels.tolist(), strict=True)
            if not np.isnan(row).any()
        }


def held_out_scores(
    training: Training, vectors: Vectors, turns: Turns, before: HeldOutScores | None = None
) -> HeldOutScores:
    """Judge each text by a fit that has not seen it.

    Args:
        training: At least one intent with a line.
        vectors: Embeddings of its texts.
        turns: Which fold holds out each text.
        before: Those of an earlier state in the same folds, from which the fits begin.
    """
    same = before is not None and before.training.intents == training.intents
    folds = cross_validate(training, vectors, turns, before.heads if before is not None and same else ())
    lines = np.full((len(training.lines), len(training.intents)), np.nan, np.float32)
    misses = np.full((len(training.negatives), len(training.intents)), np.nan, np.float32)
    for fold in folds:
        lines[fold.lines] = _scores(fold.fitted, vectors.lines, training.lines, fold.lines)
        misses[fold.misses] = _scores(fold.fitted, vectors.negatives, training.negatives, fold.misses)
    own = len(training.intents) - len(training.skills)
    lines[training.labels >= own] = np.nan
    misses[training.negative_labels >= own] = np.nan
    thresholds = folds[0].fitted.thresholds if folds else dict.fromkeys(training.intents, 1.0)
    return HeldOutScores(training, lines, misses, thresholds, tuple(fold.fitted.head for fold in folds))


def _scores(fitted: Fitted, vectors: Matrix, texts: Sequence[str], chosen: Bools) -> Floats:
    return score(fitted, vectors[chosen], [text for text, taken in zip(texts, chosen, strict=True) if taken]).score


def turns_of(training: Training, before: Training | None = None) -> Turns:
    """Deal the lines and the near misses of each intent out to folds.

    Args:
        training: The texts.
        before: An earlier state: a text that was in it keeps its fold, so that only what changed makes a difference.
    """
    known = {} if before is None else _dealt(before, {})
    turns = _dealt(training, known)
    lines = [turns[key] for key in _keys(training) if not key[2]]
    misses = [turns[key] for key in _keys(training) if key[2]]
    return Turns(np.array(lines, np.int32), np.array(misses, np.int32))


def _dealt(training: Training, known: Mapping[tuple[str, str, bool], int]) -> dict[tuple[str, str, bool], int]:
    """Return the fold of each text; the new ones of an intent go on behind as many as were known."""
    counts: dict[tuple[str, bool], int] = {}
    for intent, _, is_miss in known:
        counts[intent, is_miss] = counts.get((intent, is_miss), 0) + 1
    turns: dict[tuple[str, str, bool], int] = {}
    for key in _keys(training):
        if key in known:
            turns[key] = known[key]
            continue
        group = key[0], key[2]
        turns[key] = counts.get(group, 0) % FOLDS
        counts[group] = counts.get(group, 0) + 1
    return turns


def _keys(training: Training) -> list[tuple[str, str, bool]]:
    names = training.intents
    lines = zip(training.lines, training.labels.tolist(), strict=True)
    misses = zip(training.negatives, training.negative_labels.tolist(), strict=True)
    return [
        *((names[label], text, False) for text, label in lines),
        *((names[label], text, True) for text, label in misses),
    ]


def effect_of(before: HeldOutScores | None, after: HeldOutScores | None, by_hand: Mapping[str, float]) -> EditEffect:
    """Compare the decisions about held-out lines before and after an edit.

    Args:
        before: None if no intent had lines.
        after: None if none has any longer.
        by_hand: Thresholds that people set.
    """
    was = {} if before is None else before.matched(by_hand)
    now = {} if after is None else after.matched(by_hand)
    tallies = [_tallies(state, found) for state, found in ((before, was), (after, now))]
    thresholds = [{} if state is None else {**state.thresholds, **by_hand} for state in (before, after)]
    names = sorted({name for tally in tallies for name in tally})
    intents = tuple(
        IntentEffect(
            name,
            tallies[0].get(name),
            tallies[1].get(name),
            thresholds[0].get(name) if name in tallies[0] else None,
            thresholds[1].get(name) if name in tallies[1] else None,
        )
        for name in names
    )
    flips = [
        LineFlip(*key, was.get(key), now.get(key), _better(key, was.get(key), now.get(key)))
        for key in {**was, **now}
        if was.get(key) != now.get(key)
    ]
    order = {False: 0, True: 1, None: 2}
    return EditEffect(intents, tuple(sorted(flips, key=lambda flip: (order[flip.better], flip.intent))))


def _tallies(state: HeldOutScores | None, found: Mapping[tuple[str, str, bool], tuple[str, ...]]) -> dict[str, Tally]:
    if state is None:
        return {}
    own = state.training.intents[: len(state.training.intents) - len(state.training.skills)]
    tallies = dict.fromkeys(own, Tally())
    for (intent, _, near_miss), matched in found.items():
        tally = tallies[intent]
        if near_miss:
            tallies[intent] = replace(tally, judged=tally.judged + 1, taken=tally.taken + (intent in matched))
            continue
        right = intent in matched
        tallies[intent] = replace(
            tally, judged=tally.judged + 1, right=tally.right + right, missed=tally.missed + (not right)
        )
        for other in matched:
            if other != intent and other in tallies:
                tallies[other] = replace(tallies[other], taken=tallies[other].taken + 1)
    return tallies


def _better(key: tuple[str, str, bool], was: tuple[str, ...] | None, now: tuple[str, ...] | None) -> bool | None:
    if was is None or now is None:
        return None
    intent, _, near_miss = key
    right = [intent not in found if near_miss else found == (intent,) for found in (was, now)]
    return None if right[0] == right[1] else right[1]
