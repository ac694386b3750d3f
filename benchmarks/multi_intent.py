"""Several intents in one message: MixATIS, by a router that has seen single questions alone.

MixATIS (Qin and others, 2020) joins one to three questions of ATIS. The router is fitted on the lines of ATIS that hold
one intent. Beside it, on the same router: the whole message with its best intent, and a cut at every joint. And the
price: single questions of CLINC150 that hold a joint and must stay whole.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from benchmarks import data, machine
from thresher.core import Settings
from thresher.embedding import Matrix, open_encoder
from thresher.knowledge.intents.router.decision import decide
from thresher.knowledge.intents.router.fitted import Fitted, score
from thresher.knowledge.intents.router.fitting import fit
from thresher.knowledge.intents.router.pieces import Pieces, pieces_of
from thresher.knowledge.intents.router.records import EVERYDAY, TextScores, Training, Vectors

Encode: TypeAlias = Callable[[Sequence[str]], Awaitable[Matrix]]
"""Texts to vectors with the query prefix."""
Chosen: TypeAlias = frozenset[str]


@dataclass(frozen=True, slots=True)
class Line:
    """A message with the intents that it asks for."""

    text: str
    intents: Chosen


@dataclass(frozen=True, slots=True)
class Judged:
    """A message with what the router says of its texts."""

    line: Line
    pieces: Pieces
    scores: TextScores


def folder() -> Path:
    """The folder of the intent sets."""
    return data.folder().parent / "intents"


def mixatis(part: str) -> list[Line]:
    """One part (`atis_train`, `dev`, `test`): a word and its slot a line, then the intents, then a blank line."""
    lines: list[Line] = []
    words: list[str] = []
    for row in (folder() / "mixatis" / f"{part}.txt").read_text(encoding="utf-8").splitlines():
        fields = row.split()
        if len(fields) > 1:
            words.append(fields[0])
        elif fields:
            lines.append(Line(" ".join(words), frozenset(fields[0].split("#"))))
            words = []
    return lines


def single(name: str, part: str) -> list[Line]:
    """One part of a set with one intent a line."""
    place = folder() / name / part
    texts = (place / "seq.in").read_text(encoding="utf-8").splitlines()
    labels = (place / "label").read_text(encoding="utf-8").splitlines()
    return [Line(text.strip(), frozenset([label.strip()])) for text, label in zip(texts, labels, strict=True)]


async def fitted_on(lines: Sequence[Line], encode: Encode) -> Fitted:
    """A router fitted on lines of one intent each; the others are left out."""
    pairs = sorted({(line.text, *line.intents) for line in lines if len(line.intents) == 1})
    names = tuple(sorted({name for _, name in pairs}))
    training = Training(
        names,
        tuple(text for text, _ in pairs),
        np.array([names.index(name) for _, name in pairs], np.int32),
        (),
        np.empty(0, np.int32),
        tuple(() for _ in names),
    )
    vectors = await encode(training.lines)
    none = np.empty((0, vectors.shape[1]), np.float32)
    return fit(training, Vectors(vectors, none, await encode(EVERYDAY)))


async def judged(fitted: Fitted, lines: Sequence[Line], encode: Encode) -> list[Judged]:
    """The scores of all pieces of all lines."""
    pieces = [pieces_of(line.text) for line in lines]
    texts = list(dict.fromkeys(text for one in pieces for text in one.texts))
    vectors = dict(zip(texts, await encode(texts), strict=True))
    return [
        Judged(line, one, score(fitted, np.stack([vectors[text] for text in one.texts]), one.texts))
        for line, one in zip(lines, pieces, strict=True)
    ]


def decided(fitted: Fitted, one: Judged) -> Chosen:
    """What Thresher decides."""
    decision = decide(fitted.intents, fitted.thresholds, one.pieces, one.scores)
    return frozenset(row.intent for row in decision.matched)


def uncut(fitted: Fitted, one: Judged) -> Chosen:
    """The best intent of the whole message."""
    return frozenset([fitted.intents[int(one.scores.probability[0].argmax())]])


def cut_everywhere(fitted: Fitted, one: Judged) -> Chosen:
    """The best intent of every part."""
    parts = [span.text for span in one.pieces.request.spans if span.stop - span.first == 1]
    return frozenset(fitted.intents[int(one.scores.probability[text].argmax())] for text in parts)


def uncut_or_nothing(fitted: Fitted, one: Judged) -> Chosen:
    """The best intent of the whole message, if it reaches its threshold: what a router without a cut decides."""
    (best,) = uncut(fitted, one)
    reached = one.scores.score[0, fitted.intents.index(best)] >= fitted.thresholds[best]
    return frozenset([best]) if reached else frozenset()


RULES: Mapping[str, Callable[[Fitted, Judged], Chosen]] = {
    "thresher": decided,
    "whole_message": uncut,
    "whole_message_with_threshold": uncut_or_nothing,
    "cut_at_every_joint": cut_everywhere,
}


def figures(lines: Sequence[Line], answers: Sequence[Chosen]) -> dict[str, Any]:
    """Exact match of the set, per cent, also by the number of intents; F1 over all intents, per cent."""
    exact = np.array([line.intents == answer for line, answer in zip(lines, answers, strict=True)])
    counts = np.array([len(line.intents) for line in lines])
    shared = sum(len(line.intents & answer) for line, answer in zip(lines, answers, strict=True))
    total = sum(len(line.intents) + len(answer) for line, answer in zip(lines, answers, strict=True))
    return {
        "exact_match": _percent(exact.mean()),
        "exact_match_by_intents": {str(count): _percent(exact[counts == count].mean()) for count in np.unique(counts)},
        "multi_f1": _percent(2 * shared / total),
    }


async def measure(encode: Encode, part: str = "test") -> dict[str, Any]:
    """The row of MixATIS.

    In the test part 108 of 828 messages hold `atis_day_name`, of which the training lines have none: nobody who learns
    from them alone can get more than 87.0 per cent exactly right.

    Args:
        encode: The encoder, with the query prefix.
        part: `test`, or `dev` while something is being tuned.
    """
    fitted = await fitted_on(mixatis("atis_train"), encode)
    lines = mixatis(part)
    all_judged = await judged(fitted, lines, encode)
    rows = {name: figures(lines, [rule(fitted, one) for one in all_judged]) for name, rule in RULES.items()}
    texts = [len(one.pieces.texts) for one in all_judged]
    known = [one for one in all_judged if one.line.intents <= set(fitted.intents)]
    exact = figures([one.line for one in known], [decided(fitted, one) for one in known])["exact_match"]
    return {
        "messages": len(lines),
        "texts_a_message": round(float(np.mean(texts)), 2),
        "messages_with_an_untrained_intent": len(lines) - len(known),
        "exact_match_of_the_others": exact,
        **rows,
    }


async def measure_whole(encode: Encode, part: str = "test") -> dict[str, Any]:
    """Single questions of CLINC150 that hold a joint: how many the cut spoils."""
    fitted = await fitted_on(single("clinc150", "train"), encode)
    lines = [line for line in single("clinc150", part) if len(pieces_of(line.text).texts) > 1]
    all_judged = await judged(fitted, lines, encode)
    cut = [len(decided(fitted, one)) > 1 for one in all_judged]
    answers = {name: [rule(fitted, one) for one in all_judged] for name, rule in RULES.items()}
    exact = {name: figures(lines, given)["exact_match"] for name, given in answers.items()}
    return {"messages": len(lines), "given_several_intents": _percent(float(np.mean(cut))), "exact_match": exact}


async def run(part: str = "test") -> None:
    """Measure both and save the figures."""
    encoder = open_encoder(Settings())

    async def encode(texts: Sequence[str]) -> Matrix:
        return await encoder.embed_queries(texts, prefixed=True)

    try:
        result = {"part": part, "mixatis": await measure(encode, part), "kept_whole": await measure_whole(encode, part)}
    finally:
        await encoder.close()
    print(machine.save("multi_intent", result))


def _percent(share: float) -> float:
    return round(100 * float(share), 1)


if __name__ == "__main__":
    asyncio.run(run())
