"""Writes the weights that tell small talk from requests: logistic regression, `knowledge/documents/small_talk.py`.

Run by `make vectors` after a change of `small_talk_lines.txt` or of the features. What teaches that a message is small
talk: the lines; the small talk of the router's everyday messages; CLINC150's intents of that kind (CC BY 3.0, outside
of this repository: `THRESHER_BENCH_DATA`); and the short statements of `training/no_tool.jsonl`. What teaches that it
is none: the lines that begin with `- `, all other messages of `training/` and of the data beside it, CLINC150's other
intents.
"""

from __future__ import annotations

import json
import math
import random
import re
from collections.abc import Collection, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Final
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from benchmarks import data
from thresher.knowledge.documents import small_talk
from thresher.knowledge.intents.router import records

ROOT: Final = Path(__file__).parents[1]
LINES: Final = Path(__file__).with_name("small_talk_lines.txt")
CHAT: Final = frozenset(
    """are_you_a_bot cancel do_you_have_pets goodbye greeting how_old_are_you maybe meaning_of_life no repeat tell_joke
    thank_you user_name what_are_your_hobbies what_can_i_ask_you what_is_your_name where_are_you_from
    who_do_you_work_for who_made_you yes""".split()  # noqa: SIM905 - a text is easier to read
)
NEITHER: Final = frozenset(
    """change_accent change_ai_name change_speed change_user_name change_volume flip_coin fun_fact roll_dice
    whisper_mode""".split()  # noqa: SIM905 - as above
)
ASKING: Final = "- "
"""Begins a line that is worded like small talk and asks for something."""
OTHERS: Final = 6_000
"""Messages of CLINC150's other intents."""
PAIRS: Final = 4_000
"""Pairs of words that stand beside each other in passages, as searches."""
PART: Final = 0.3
"""The weight of all small talk beside that of all other messages."""
RIDGE: Final = 1e-4
_CLINC, _LINE, _STATEMENT, _HARD = 0.7, 3.0, 1.0, 8.0
_ROUNDS: Final = 8
_RATE, _CONSTANT_RATE = 0.15, 0.05
_ASKS: Final = re.compile(
    r"(?:what|who|when|where|why|which|how|whose|is|are|do|does|did|can|could|should|would|will|name|explain|write"
    r"|translate|summari|give|make|list|suggest|recommend|come up|define|describe|compare|draft|help|tell|convert|put"
    r"|rewrite|proofread|turn|find)\b",
    re.IGNORECASE,
)
_SHORT: Final = 15
_WORD: Final = re.compile(r"[^\W\d_]+")


def _rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (ROOT / "training" / name).read_text(encoding="utf-8").splitlines() if line]


def taught() -> tuple[list[tuple[str, float]], list[tuple[str, float]]]:
    """Small talk, and messages that are none, with the weight of each."""
    clinc = json.loads((data.folder().parent / "intents/clinc150/data_full.json").read_text(encoding="utf-8"))
    labelled = [(text, intent) for part in ("train", "val", "test") for text, intent in clinc[part]]
    idle = [row["message"] for row in _rows("no_tool.jsonl")]
    said = {text for text in idle if not text.endswith("?") and not _ASKS.match(text) and len(text.split()) <= _SHORT}
    lines = [line for line in LINES.read_text(encoding="utf-8").splitlines() if line.strip() and line[:2] != ASKING]
    chat = [(text, _CLINC) for text, intent in labelled if intent in CHAT]
    chat += [(text, _LINE) for text in (*lines, *_everyday())]
    chat += [(text, _STATEMENT) for text in idle if text in said]
    others = [text for text, intent in labelled if intent not in CHAT | NEITHER]
    none = random.Random(0).sample(others, OTHERS)  # noqa: S311 - no secret
    none += [text for text in idle if text not in said]
    none += [text for name in ("catalogue", "invented") for text in _messages(name)]
    none += [text for row in _rows("requests.jsonl") for text in (row["request"], *row["parts"])]
    none += [text for row in _rows("passages.jsonl") for text in row["questions"]]
    none += [text for row in _rows("intents.jsonl") for text in row["lines"]]
    none += _keywords({word for text, _ in chat for word in _WORD.findall(text.lower())})
    hard = [line[2:] for line in LINES.read_text(encoding="utf-8").splitlines() if line[:2] == ASKING]
    return chat, [*((text, 1.0) for text in none), *((text, _HARD) for text in hard)]


def _keywords(chatted: Collection[str]) -> list[str]:
    """Searches of a word or two that occur in no small talk, and headings, from the passages."""
    rows = _rows("passages.jsonl")
    texts = [_WORD.findall(row["text"].lower()) for row in rows]
    words = {word for text in texts for word in text if len(word) > 3}
    pairs = {f"{left} {right}" for text in texts for left, right in pairwise(text) if {left, right} <= words}
    chosen = random.Random(0)  # noqa: S311 - no secret
    single = sorted(words.difference(chatted))
    return [*single, *chosen.sample(sorted(pairs), PAIRS), *(row["heading"] for row in rows)]


def _everyday() -> list[str]:
    """The small talk of the router's everyday messages, which stands first."""
    text = Path(records.__file__).with_name("everyday.txt").read_text(encoding="utf-8")
    return text.partition("# small talk\n")[2].partition("\n\n")[0].splitlines()


def _messages(name: str) -> list[str]:
    path = data.folder().parent / "messages" / f"{name}.jsonl"
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]
    return [text for row in rows for text in row["messages"]]


def _places(text: str) -> NDArray[np.int64]:
    return np.array(sorted({crc32(one.encode()) % small_talk.SIZE for one in small_talk.features(text)}), np.int64)


def fitted(chat: Sequence[tuple[str, float]], none: Sequence[tuple[str, float]]) -> NDArray[np.float64]:
    """Weights and constant, float (SIZE + 1,), by adaptive gradient descent, message by message."""
    texts = [text for text, _ in (*chat, *none)]
    places = [_places(text) for text in texts]
    share = PART * sum(weight for _, weight in none) / sum(weight for _, weight in chat)
    weights = np.array([*(weight * share for _, weight in chat), *(weight for _, weight in none)])
    found, seen = np.zeros(small_talk.SIZE + 1), np.full(small_talk.SIZE + 1, 1e-6)
    order, chosen = np.arange(len(texts)), np.random.default_rng(0)
    for _ in range(_ROUNDS):
        chosen.shuffle(order)
        for at in order.tolist():
            own, scale = places[at], 1 / math.sqrt(max(1, len(places[at])))
            odds = float(found[own].sum()) * scale + float(found[-1])
            error = weights[at] * (1 / (1 + math.exp(-min(max(odds, -30.0), 30.0))) - (at < len(chat)))
            slope = error * scale + RIDGE * found[own]
            seen[own] += slope**2
            seen[-1] += error**2
            found[own] -= _RATE * slope / np.sqrt(seen[own])
            found[-1] -= _CONSTANT_RATE * error / math.sqrt(seen[-1])
    return found


def main() -> None:
    """Write the weights as signed bytes."""
    rounded = np.clip(np.round(fitted(*taught()) / small_talk.STEP), -127, 127).astype(np.int8)
    small_talk.WEIGHTS.write_bytes(rounded.tobytes())


if __name__ == "__main__":
    main()
