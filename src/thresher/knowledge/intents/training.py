"""From packs to what the router is fitted on.

Invariant: pure; the digest changes exactly when something changes that a fit rests on, and the order in which packs
were found is no such thing.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass

import numpy as np

from thresher.knowledge.intents.models import Pack, Packs
from thresher.knowledge.intents.router.lexicon import Lexicon, lexicon_of
from thresher.knowledge.intents.router.records import Training


@dataclass(frozen=True, slots=True)
class Lesson:
    """A training set under its name.

    Attributes:
        training: Lines, negatives and keywords.
        digest: SHA-256 over all of them.
        lexicon: Their words, which decide while nothing is fitted.
    """

    training: Training
    digest: bytes
    lexicon: Lexicon


def lesson_of(packs: Packs) -> Lesson:
    """The training set of all active packs that have lines; others apply by file, always, or when they are named."""
    taught = sorted((pack for pack in packs.active if lines_of(pack)), key=lambda pack: pack.name)
    lines = [(index, line) for index, pack in enumerate(taught) for line in lines_of(pack)]
    negatives = [(index, line) for index, pack in enumerate(taught) for line in negatives_of(pack)]
    training = Training(
        intents=tuple(pack.name for pack in taught),
        lines=tuple(line for _, line in lines),
        labels=np.array([index for index, _ in lines], np.int32),
        negatives=tuple(line for _, line in negatives),
        negative_labels=np.array([index for index, _ in negatives], np.int32),
        keywords=tuple(pack.keywords for pack in taught),
    )
    return Lesson(training, _digest(training), lexicon_of(training))


def lines_of(pack: Pack) -> tuple[str, ...]:
    """The lines that teach a pack's intent; a foreign skill's questions are among them, a pack's are held out."""
    asked = tuple(query.query for query in pack.evals if query.should_trigger) if pack.form == "skill" else ()
    return tuple(dict.fromkeys((*pack.examples, *asked)))


def negatives_of(pack: Pack) -> tuple[str, ...]:
    """The lines that teach what a pack's intent is not."""
    asked = tuple(query.query for query in pack.evals if not query.should_trigger) if pack.form == "skill" else ()
    return tuple(dict.fromkeys((*pack.not_examples, *asked)))


def _digest(training: Training) -> bytes:
    parts = [
        training.intents,
        training.lines,
        training.labels.tolist(),
        training.negatives,
        training.negative_labels.tolist(),
        training.keywords,
    ]
    return hashlib.sha256(json.dumps(parts, ensure_ascii=True).encode()).digest()
