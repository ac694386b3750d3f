"""Writes what is delivered of a JSON value: its shape, then elements under their pointers, in order.

Invariant: pure; the text is valid JSON and never has more tokens than the budget.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

import numpy as np

from thresher.embedding import count_tokens
from thresher.results.extremes import asks_extreme, extremes
from thresher.results.json_parts import (
    JsonParts,
    Pointer,
    Some,
    Window,
    pointer_text,
    split_json,
    write_json,
)
from thresher.results.matching import Matches, match
from thresher.results.parts import Parts, filled
from thresher.results.shapes import constants, shape_of
from thresher.search import Floats, Units

_SHAPE: Final = 0.16
_MOST_SHAPE: Final = 600
"""The share of the budget that the shape may take, and its most tokens."""
_MEMBER: Final = 5
_LEVELS: Final = 4
_WIDE: Final = 200
_SAMPLE: Final = 256
REST: Final = "…"
"""The member of a delivered object that says how many others it has."""


@dataclass(frozen=True, slots=True)
class JsonAnswer:
    """What is delivered.

    Attributes:
        text: Valid JSON.
        tokens: Its tokens.
        parts: How many parts are delivered.
        of: How many there are.
        passages: Pointers and values.
        structured: The same as an object.
    """

    text: str
    tokens: int
    parts: int
    of: int
    passages: Sequence[tuple[str, Any]]
    structured: dict[str, Any]


def json_answer(value: Any, size: int, budget: int, focus: str, whole: int, more: str, place: str = "") -> JsonAnswer:
    """Choose parts, and write them.

    Args:
        value: The value.
        size: Characters of the whole.
        budget: Most tokens.
        focus: The question.
        whole: About how many tokens the whole has.
        more: How to get the rest.
        place: The pointer of the value, where it is a piece of a whole.
    """
    cut = split_json(value, budget, size)
    parts = cut.parts
    shape = shape_of(value, min(int(_SHAPE * budget), _MOST_SHAPE), focus)
    scores = _scores(match(parts, focus), _extreme_parts(value, cut, focus))

    def written(kept: Sequence[int]) -> tuple[dict[str, Any], list[tuple[str, Any]]]:
        there = [(f"{place}{name}", one) for name, one in _members(cut, sorted(kept))]
        once = {f"{place}{name}": same for name, same in _said_once(cut, kept).items()}
        said = f"{len(kept):,} of {len(parts):,} parts of about {whole:,} tokens{more and '; '}{more}"
        same = {"in_all": once} if once else {}
        return {"shape": shape, **same, "parts": _without(there, once), "left_out": said}, there

    empty = count_tokens(write_json(written(())[0])) + _MEMBER
    units = _units(cut)

    def write(kept: Sequence[int]) -> tuple[str, int]:
        text = write_json(written(kept)[0])
        return text, count_tokens(text)

    kept, text, tokens = filled(units, scores, budget, empty, write)
    content, there = written(kept)
    while tokens > budget and len(content["shape"]) > 10:
        content["shape"] = f"{content['shape'][: len(content['shape']) // 2]}…"
        text = write_json(content)
        tokens = count_tokens(text)
    if tokens > budget:
        content = {"left_out": content["left_out"]}
        text = write_json(content)
    if count_tokens(text) > budget:
        content = {"left_out": more}
        text = write_json(content)
    return JsonAnswer(text, count_tokens(text), len(kept), len(parts), there, content)


def _scores(matches: Matches, first: Sequence[int]) -> Floats:
    """The order in which parts are taken: what a superlative means, the words of the question, then the beginning."""
    size = len(matches.scores)
    top = float(matches.scores.max(initial=0.0)) or 1.0
    scores = matches.scores + np.linspace(1e-3, 0, size, dtype=np.float32) * np.float32(top)
    scores[list(first)] += np.float32(top)
    return scores.astype(np.float32)


def _extreme_parts(value: Any, cut: JsonParts, question: str) -> list[int]:
    """The parts of those elements of the longest list that a superlative of the question means."""
    if not asks_extreme(question):
        return []
    pointer, rows = _longest(value)
    found = {(*pointer, row) for row in extremes(rows, question)}
    if not found:
        return []
    depth = len(pointer) + 1
    first: list[int] = []
    for run in cut.runs:
        if run.is_list and run.pointer == pointer:
            first += [run.first + int(place[-1]) for place in found]
        elif run.pointer[:depth] in found:
            first += range(run.first, run.first + len(run.values))
    return first


def _longest(value: Any) -> tuple[Pointer, Sequence[Any]]:
    """The longest list of objects near the root, and its pointer; an object of objects counts as one."""
    best: tuple[Pointer, Sequence[Any]] = ((), ())
    level: list[tuple[Pointer, Any]] = [((), value)]
    for _ in range(_LEVELS):
        below: list[tuple[Pointer, Any]] = []
        for pointer, one in level:
            if isinstance(one, list) and len(cast("list[Any]", one)) > len(best[1]):
                best = (pointer, cast("list[Any]", one))
            elif isinstance(one, dict):
                below += [((*pointer, key), member) for key, member in cast("dict[str, Any]", one).items()]
        level = below[:_WIDE]
    return best


def _units(cut: JsonParts) -> Units:
    parts = cut.parts
    ratio = _ratio(parts)
    named_lengths = np.fromiter(map(len, parts.names), np.int64, len(parts.names))
    costs = np.ceil((parts.ends - parts.starts + named_lengths[parts.labels]) * ratio * 1.1).astype(np.int64) + _MEMBER
    known: dict[Pointer, int] = {}
    labels = np.zeros(len(parts), np.int64)
    named = [0]
    for run in cut.runs:
        if (element := run.element) is not None:
            if element.pointer not in known:
                known[element.pointer] = len(named)
                named.append(round(sum(len(str(one)) + 8 for one in element.identity.values()) * ratio) + _MEMBER)
            labels[run.first : run.first + len(run.values)] = known[element.pointer]
    size = len(parts)
    return Units(costs, np.zeros(size, np.int64), labels, np.array(named, np.int64), np.arange(size))


def _ratio(parts: Parts) -> float:
    """About how many tokens an octet has."""
    sample = (
        parts.blob[: 64 * _SAMPLE : 1]
        if len(parts.blob) < 64 * _SAMPLE
        else b"".join(
            parts.blob[place : place + _SAMPLE] for place in range(0, len(parts.blob) - _SAMPLE, len(parts.blob) // 16)
        )
    )
    return count_tokens(sample.decode("utf-8", "replace")) / max(len(sample), 1)


def _members(cut: JsonParts, chosen: Sequence[int]) -> list[tuple[str, Any]]:
    """The delivered values by pointer, what identifies their elements included."""
    there: dict[str, Any] = {}
    windows: dict[str, list[Window]] = {}
    for part in chosen:
        element = cut.run_of(part).element
        if element is not None:
            there.setdefault(pointer_text(element.pointer), {**element.identity, REST: "more"})
        pointer, value = cut.value_of(part)
        name = pointer_text(pointer)
        if isinstance(value, Some):
            members: dict[str, Any] = {**there.get(name, {}), **value.members}
            members.pop(REST, None)
            others = value.others + len(value.members) - len(members)
            there[name] = members | ({REST: f"{others:,} more"} if others > 0 else {})
        elif isinstance(value, Window):
            windows.setdefault(name, []).append(value)
            there[name] = ""
        else:
            there[name] = value
    for name, pieces in windows.items():
        there[name] = _pieces(pieces)
    return list(there.items())


def _said_once(cut: JsonParts, chosen: Sequence[int]) -> dict[str, dict[str, Any]]:
    """By the pointer of a list, the members that all its elements have alike, if several of them are delivered."""
    lists = Counter(run.first for part in chosen if (run := cut.run_of(part)).is_list)
    often = [cut.run_of(first) for first, count in lists.items() if count > 1]
    found = {pointer_text(run.pointer): constants(run.values) for run in often}
    return {name: same for name, same in found.items() if same}


def _without(there: Sequence[tuple[str, Any]], once: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The delivered values without what is said once for all of their list."""
    left: dict[str, Any] = {}
    for name, value in there:
        same = once.get(name.rpartition("/")[0])
        if same and isinstance(value, dict):
            members = cast("dict[str, Any]", value)
            left[name] = {key: one for key, one in members.items() if key not in same}
        else:
            left[name] = value
    return left


def _pieces(windows: Sequence[Window]) -> str:
    """Pieces of one text in order, with its length."""
    text = ""
    last = 0
    for window in windows:
        text += ("…" if window.first > last else "") + window.text[window.first : window.last]
        last = window.last
    whole = windows[0].text
    return f"{text}{'…' if last < len(whole) else ''} [{len(whole):,} characters]"
