"""Sizes that a statement asks for by numbers: `repeat('x', 1000000000)` costs memory before a row is read.

Invariant: a number behind arithmetic counts as the largest that the arithmetic could make of it.
"""

from __future__ import annotations

import math
import re
from bisect import bisect
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from thresher.sqlguard.records import Limits
from thresher.sqlguard.tokens import Token
from thresher.sqlguard.verdicts import Refused

Calls: TypeAlias = Sequence[tuple[int, int]]

_HINT: Final = "Ask for less: an answer is cut long before that size."
_POWERS: Final = frozenset({"pow", "power", "exp", "factorial", "^", "**", "<<", "~"})
_FACTORS: Final = frozenset({"*", "/", "//", "multiply", "divide"})
VALUE: Final = 10_000
"""The longest value that a call may make for each row of a relation."""

GATHERED: Final = 200
"""The longest value that a statement with a gathering aggregate may make: a million rows of it are 200 MB."""
_GATHERING: Final = frozenset(
    {"group_concat", "wm_concat", "list", "collect", "histogram", "json_group_array", "json_group_object",
     "jsonb_group_array", "jsonb_group_object", "variant_group_array"}
)  # fmt: skip

FORMATS: Final = frozenset({"printf", "format", "sformat"})
"""Functions whose first argument says how wide their answer is."""

_REPLACING: Final = frozenset({"replace", "regexp_replace"})
_PLAIN: Final = re.compile(r"\^?(?:\\b)?([\w ]*)(?:\\b)?\$?")
_BRACES: Final = re.compile(r"\{[^{}]*\}")
_INNER: Final = re.compile(r"\{[^{}]*\{")
_WIDTH: Final = re.compile(r"%[-+ 0#,!]*(\*|\d+)?(?:\.(\*|\d+))?")


def is_gathering(name: str) -> bool:
    """Whether a function, lower case, is an aggregate that keeps the values of all rows in one: `string_agg`."""
    return name.endswith("agg") or name in _GATHERING


def gathered(name: str) -> str:
    """Why a value is too large for a statement that gathers values of many rows into one."""
    return f"{name} makes values of more than {GATHERED} characters, and the statement gathers those of many rows."


def plain_pattern(pattern: str) -> str:
    """The text that a pattern finds where it is nothing but a text, between bounds of words maybe; else empty."""
    found = _PLAIN.fullmatch(pattern)
    return found[1] if found else ""


def replaced(length: float, text: str, replacement: float) -> float:
    """Characters of a text in which another is replaced wherever it stands.

    Args:
        length: Characters of the text.
        text: What is replaced; empty: unknown, a character at least.
        replacement: Characters of what takes its place.
    """
    return length * max(1.0, replacement / max(1, len(text)))


def growth(steps: Sequence[tuple[str, str]]) -> float:
    """How many times as long a text becomes in which texts are replaced, one after the other.

    A character that no replacement before it has brought in is replaced in the first text only: what was replaced
    already does not grow again. `&` and `<` as `&amp;` and `&lt;` make a text five times as long, not twenty times.

    Args:
        steps: What is replaced, and what takes its place.
    """
    factor = 1.0
    for index, (text, replacement) in enumerate(steps):
        grown = replaced(1.0, text, len(replacement))
        fresh = len(text) == 1 and not any(text in earlier for _, earlier in steps[:index])
        factor = max(factor, grown) if fresh else factor * grown
    return factor


def check_sizes(
    tokens: Sequence[Token], calls: Calls, multiplying: Calls, limits: Limits, *, gathering: bool = False
) -> None:
    """Refuses calls that make more than the limit, alone, together, or one out of another.

    Args:
        tokens: The statement.
        calls: Opening and closing parenthesis of each call that makes as much as its numbers say, in order.
        multiplying: The same of calls whose result may be as long as the product of their arguments.
        limits: What counts as too much.
        gathering: Whether an aggregate keeps the values of many rows in one.

    Raises:
        Refused: Too large.
    """
    for call in calls:
        _check_format(tokens, call)
    own = _own(tokens, calls)
    chains = _chains(calls, own)
    closing, openings = dict(multiplying), [opening for opening, _ in calls]
    products = [
        _growth(tokens, outer, closing) * math.prod(own[bisect(openings, outer[0]) : bisect(openings, outer[1])])
        for outer in _outermost(multiplying)
    ]
    if sum(chains) > limits.literal_count or max(products, default=0.0) > limits.literal_count:
        reason = f"More than {limits.literal_count:,} characters or rows are made of nothing."
        raise Refused("cost", reason, hint=_HINT, offset=tokens[min((*calls, *multiplying))[0] - 1].start)
    if gathering and sum(chains) > GATHERED:
        largest = tokens[calls[chains.index(max(chains))][0] - 1]
        raise Refused("cost", gathered(largest.text.lower()), hint=_HINT, offset=largest.start)


def _check_format(tokens: Sequence[Token], call: tuple[int, int]) -> None:
    """Refuses a format that is put together, whose widths nobody can read.

    Raises:
        Refused: `cost`.
    """
    name, first = tokens[call[0] - 1], tokens[call[0] + 1 : call[0] + 3]
    literal = first[0].kind == "string" and first[-1].said in {",", ")"}
    if name.text.lower() in FORMATS and not literal:
        raise Refused("cost", "A format is not written out.", hint="Write it as one string.", offset=name.start)


def _outermost(calls: Calls) -> Iterator[tuple[int, int]]:
    """The calls, which are in order, that are in no other of them."""
    end = -1
    for call in calls:
        if call[0] > end:
            end = call[1]
            yield call


def _growth(tokens: Sequence[Token], outer: tuple[int, int], closing: Mapping[int, int]) -> float:
    """Characters that calls in each other which replace texts make of the texts that are written out."""
    open_calls: list[tuple[int, list[str]]] = []
    depths: list[int] = []
    steps: list[tuple[str, str]] = []
    length = 1.0
    for index in range(outer[0], outer[1] + 1):
        token = tokens[index]
        if index in closing:
            open_calls.append((index, [""]))
            depths.append(0)
        elif token.kind == "string":
            open_calls[-1][1][-1] += token.text
        elif token.said == "," and not depths[-1]:
            open_calls[-1][1].append("")
        elif index == closing[open_calls[-1][0]]:
            (opening, texts), _ = open_calls.pop(), depths.pop()
            name = tokens[opening - 1].text.lower()
            start, pattern, replacement = [*texts, "", "", ""][:3]
            if name in _REPLACING:
                steps.append((pattern if name == "replace" else plain_pattern(pattern), replacement))
                length *= max(1, len(start))
        else:
            depths[-1] += {"(": 1, ")": -1}.get(token.said, 0)
    return length * growth(steps)


@dataclass(slots=True)
class _Open:
    """A call whose end was not reached: its place, parentheses open in it, and its arguments, divided at its commas."""

    place: int
    depth: int = 0
    parts: list[list[Token]] = field(default_factory=lambda: [[]])

    def take(self, token: Token) -> None:
        """Add a token of the call's own."""
        if token.kind == "symbol":
            self.depth += {"(": 1, ")": -1}.get(token.text, 0)
            if token.text == "," and not self.depth:
                self.parts.append([])
                return
        self.parts[-1].append(token)


def _own(tokens: Sequence[Token], calls: Calls) -> list[float]:
    """Of each call the largest number among its own arguments, without those of such calls inside it; at least 1."""
    own = [1.0] * len(calls)
    places = {opening: place for place, (opening, _) in enumerate(calls)}
    around: list[_Open] = []
    for index in range(calls[0][0] if calls else len(tokens), len(tokens)):
        if around and index == calls[around[-1].place][1]:
            ended = around.pop()
            own[ended.place] = max(map(_bound, ended.parts)) or 1.0
        if around:
            around[-1].take(tokens[index])
        if index in places:
            around.append(_Open(places[index]))
    return own


def _chains(calls: Calls, own: Sequence[float]) -> list[float]:
    """What each call makes together with the calls that it is in."""
    chains: list[float] = []
    around: list[int] = []
    for place, (opening, _) in enumerate(calls):
        while around and calls[around[-1]][1] < opening:
            around.pop()
        chains.append(own[place] * (chains[around[-1]] if around else 1.0))
        around.append(place)
    return chains


def _bound(part: Sequence[Token]) -> float:
    """The largest number that an argument could be by its own digits."""
    values = [_number(token.text) for token in part if token.kind == "number"]
    values += [width for token in part if token.kind == "string" for width in widths(token.text)]
    return bound(values, {token.text.lower() for token in part if token.kind in {"symbol", "word"}})


def bound(values: Sequence[float], operators: Collection[str]) -> float:
    """The largest number that arithmetic could make of these.

    Args:
        values: The numbers in it.
        operators: The operators and functions in it, lower case.
    """
    if not _POWERS.isdisjoint(operators):
        return math.inf
    sizes = [abs(value) for value in values]
    if not _FACTORS.isdisjoint(operators):
        return math.prod(1 + max(size, 1 / size if size else math.inf) for size in sizes)
    return sum(sizes)


def _number(text: str) -> float:
    """The value of a number as it is written."""
    if text[:2].lower() == "0x":
        return float(int(text, 16))
    if text[:1].lower() in {"x", "b"}:
        digits = text[2:-1] or "0"
        return float(int(digits, 16 if text[0] in "xX" else 2))
    return float(text)


def widths(text: str) -> list[float]:
    """The numbers that a text stands for: its own, or the widths of a format (`%1000d`, `%*d`, `{:>1000}`)."""
    if text.strip().isdecimal():
        return [float(text)]
    if _INNER.search(text):
        return [math.inf]
    braces = [float(width) for part in _BRACES.findall(text) for width in re.findall(r"\d+", part)]
    found = [width for match in _WIDTH.findall(text) for width in match if width]
    return braces + [math.inf if width == "*" else float(width) for width in found]
