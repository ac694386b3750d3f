"""Messages about relations and value lists: what the built-in packs make of them, and what these two do to the others.

60 held-back messages (30 for each of the two packs) and 40 of other topics, forms, calculations and menus of the same
workspaces among them, on which lines were chosen; as many fresh ones (`fresh_*`), written when the lines stood and
asked once; then the held-out questions of every pack, with and without the two. All are decided as the
product decides: cut into pieces, scored by a router that is fitted on the lines that ship, with thresholds of its own.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from benchmarks import machine
from benchmarks.intents import out_of_scope, remembering
from benchmarks.multi_intent import Encode
from thresher.core import Settings
from thresher.embedding import open_encoder
from thresher.knowledge.intents import BACKGROUND, Pack, Packs, pieces_of, read_pack
from thresher.knowledge.intents.decider import by_router
from thresher.knowledge.intents.router.fitted import Fitted
from thresher.knowledge.intents.router.fitting import fit
from thresher.knowledge.intents.router.records import Vectors
from thresher.knowledge.intents.training import TrainingSet, training_set_of
from thresher.packs import BUILT_IN

QUESTIONS = Path(__file__).with_name("questions") / "solutions"
PACKS = ("relations", "valuelists")


class Router:
    """The packs that ship, some left out, and the router that is fitted on them."""

    def __init__(self, packs: Sequence[Pack], training_set: TrainingSet, fitted: Fitted, encode: Encode) -> None:
        self.packs = {pack.name: pack for pack in packs}
        self._lesson = training_set
        self._fitted = fitted
        self._encode = encode

    @classmethod
    async def without(cls, names: Collection[str], encode: Encode) -> Router:
        """Fit one on the built-in packs that are not among these."""
        folders = sorted(path.parent for path in BUILT_IN.glob("*/SKILL.md") if path.parent.name not in names)
        packs = tuple(read_pack(folder, "built-in")[0] for folder in folders)
        training_set = training_set_of(Packs(active=packs))
        lines, negatives = training_set.training.lines, training_set.training.negatives
        vectors = Vectors(await encode(lines), await encode(negatives), await encode(BACKGROUND))
        return cls(packs, training_set, fit(training_set.training, vectors), encode)

    async def matched(self, message: str) -> tuple[str, ...]:
        """The packs whose rules the message gets, best first."""
        pieces = pieces_of(message)
        vectors = await self._encode(pieces.texts)
        decision = by_router(self._fitted, self._lesson, pieces, vectors, self.packs, {}, ())
        return tuple(score.intent for score in decision.matched)


async def held_back(router: Router, name: str) -> dict[str, Any]:
    """Shares of the messages of a file that were held back.

    Returns:
        `right`: the pack that is meant comes first; `alone`: it, and no other; `among`: its rules are given; and how
        often which packs were given for which.
    """
    counts = Counter[str]()
    right = Counter[str]()
    for row in _rows(name):
        matched, meant = await router.matched(row["message"]), row["intent"]
        counts[f"{meant} -> {' + '.join(matched) or 'nothing'}"] += 1
        right.update({"right": matched[:1] == (meant,), "alone": matched == (meant,), "among": meant in matched})
    shares = {name: _percent(right[name], counts.total()) for name in ("right", "alone", "among")}
    return {"messages": counts.total(), **shares, "decisions": dict(counts)}


async def unrelated(router: Router, name: str) -> dict[str, Any]:
    """How many messages of other topics one of the two packs takes."""
    taken = Counter[str]()
    rows = _rows(name)
    for row in rows:
        taken.update({*await router.matched(row["message"])} & {*PACKS})
    return {"messages": len(rows), "accepted": taken.total(), "by_pack": dict(taken)}


async def others(router: Router, strangers: Sequence[str]) -> dict[str, Any]:
    """Held-out questions of each pack: those for it, its near misses, and messages from elsewhere."""
    found: dict[str, Any] = {}
    elsewhere = Counter[str]()
    for text in strangers:
        elsewhere.update(await router.matched(text))
    for name, pack in router.packs.items():
        asked = {query.query: await router.matched(query.query) for query in pack.evals}
        meant = [asked[query.query] for query in pack.evals if query.should_trigger]
        near = [asked[query.query] for query in pack.evals if not query.should_trigger]
        found[name] = {
            "matched": _percent(sum(name in one for one in meant), len(meant)),
            "alone": _percent(sum(one == (name,) for one in meant), len(meant)),
            "near_misses_matched": _percent(sum(name in one for one in near), len(near)),
            "elsewhere_matched": _percent(elsewhere[name], len(strangers)),
        }
    return found


async def run() -> dict[str, Any]:
    """Measure and save."""
    encoder = open_encoder(Settings())

    async def prefixed(texts: Sequence[str]) -> Any:
        return await encoder.embed_queries(texts, prefixed=True)

    encode = remembering(prefixed)
    try:
        strangers = out_of_scope("oos_test")
        whole, before = await Router.without((), encode), await Router.without(PACKS, encode)
        figures = {
            "held_back": await held_back(whole, "held_back"),
            "unrelated": await unrelated(whole, "unrelated"),
            "fresh_held_back": await held_back(whole, "fresh_held_back"),
            "fresh_unrelated": await unrelated(whole, "fresh_unrelated"),
            "third_held_back": await held_back(whole, "third_held_back"),
            "third_unrelated": await unrelated(whole, "third_unrelated"),
            "packs": await others(whole, strangers),
            "packs_without_the_two": await others(before, strangers),
        }
    finally:
        await encoder.close()
    print(json.dumps(figures, indent=1), machine.save("solution_intents", figures), flush=True)
    return figures


def _rows(name: str) -> list[dict[str, Any]]:
    text = (QUESTIONS / f"{name}.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines() if line.strip()]


def _percent(part: int, whole: int) -> float:
    return round(100 * part / max(whole, 1), 1)
