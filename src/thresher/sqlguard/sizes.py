"""Sizes that a statement demands by numbers: `repeat('x', 1000000000)` costs memory before a row is read.

Invariant: a number in arithmetic counts as the largest that the arithmetic could make of it.
"""

from __future__ import annotations

import math
import re
from bisect import bisect
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from thresher.sqlguard.records import StatementLimits
from thresher.sqlguard.tokens import Token
from thresher.sqlguard.verdicts import Refusal

Calls: TypeAlias = Sequence[tuple[int, int]]

_HINT: Final = "Ask for less: answers are cut long before that size."
_POWERS: Final = frozenset({"pow", "power", "exp", "factorial", "^", "**", "<<", "~"})
_FACTORS: Final = frozenset({"*", "/", "//", "multiply", "divide"})
VALUE: Final = 10_000
"""Longest value that a call may generate for each row of a relation."""

GATHERED: Final = 200
"""Longest value in a statement whose aggregate collects values: a million rows of it take 200 MB."""
_GATHERING: Final = frozenset(
    {"group_concat", "wm_concat", "list", "collect", "histogram", "json_group_array", "json_group_object",
     "jsonb_group_array", "jsonb_group_object", "variant_group_array"}
)  # fmt: skip

FORMATS: Final = frozenset({"printf", "format", "sformat"})
"""Functions whose first argument sets the width of their result."""

_REPLACING: Final = frozenset({"replace", "regexp_replace"})
_PLAIN: Final = re.compile(r"\^?(?:\\b)?([\w ]*)(?:\\b)?\$?")
_BRACES: Final = re.compile(r"\{[^{}]*\}")
_INNER: Final = re.compile(r"\{[^{}]*\{")
_WIDTH: Final = re.compile(r"%[-+ 0#,!]*(\*|\d+)?(?:\.(\*|\d+))?")


def is_gathering(name: str) -> bool:
    """Return whether a function is an aggregate that collects the values of all rows into one, like `string_agg`."""
    return name.endswith("agg") or name in _GATHERING


def gathered(name: str) -> str:
    """Return why a value is too large for a statement that collects the values of many rows into one."""
    return f"{name} generates values of more than {GATHERED} characters, and the statement collects those of many rows."


def plain_pattern(pattern: str) -> str:
    """Return the text that a pattern matches literally, possibly between word boundaries; else empty."""
    found = _PLAIN.fullmatch(pattern)
    return found[1] if found else ""


def replaced(length: float, text: str, replacement: float) -> float:
    """Return the length of a text in which another is replaced everywhere.

    Args:
        length: Characters of the text.
        text: The text to replace; empty if unknown, when it counts as one character.
        replacement: Characters of the replacement.
    """
    return length * max(1.0, replacement / max(1, len(text)))


def growth(steps: Sequence[tuple[str, str]]) -> float:
    """Return the factor by which a text grows through successive replacements.

    A character that no earlier replacement introduced is replaced only in the original text: what was replaced before
    does not grow again. `&` and `<` as `&amp;` and `&lt;` make a text five times as long, not twenty times.

    Args:
        steps: Text and replacement of each step.
    """
    factor = 1.0
    for index, (text, replacement) in enumerate(steps):
        grown = replaced(1.0, text, len(replacement))
        fresh = len(text) == 1 and not any(text in earlier for _, earlier in steps[:index])
        factor = max(factor, grown) if fresh else factor * grown
    return factor


def check_sizes(
    tokens: Sequence[Token], calls: Calls, multiplying: Calls, limits: StatementLimits, *, gathering: bool = False
) -> None:
    """Refuse calls that generate more than the limit, alone, together or nested.

    Args:
        tokens: The statement.
        calls: Opening and closing parenthesis of each call that generates as much as its numbers say, in order.
        multiplying: The same for calls whose result may be as long as the product of their arguments.
        limits: The limits.
        gathering: Whether an aggregate collects the values of many rows into one.

    Raises:
        Refusal: A size exceeds the limit.
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
        reason = f"The statement would generate more than {limits.literal_count:,} characters or rows."
        raise Refusal("cost", reason, hint=_HINT, offset=tokens[min((*calls, *multiplying))[0] - 1].start)
    if gathering and sum(chains) > GATHERED:
        largest = tokens[calls[chains.index(max(chains))][0] - 1]
        raise Refusal("cost", gathered(largest.text.lower()), hint=_HINT, offset=largest.start)


def _check_format(tokens: Sequence[Token], call: tuple[int, int]) -> None:
    """Refuse a format that is computed, whose widths cannot be read.

    Raises:
        Refusal: `cost`.
    """
    name, first = tokens[call[0] - 1], tokens[call[0] + 1 : call[0] + 3]
    literal = first[0].kind == "string" and first[-1].keyword in {",", ")"}
    if name.text.lower() in FORMATS and not literal:
        raise Refusal("cost", "A format is not a literal.", hint="Write it as one string literal.", offset=name.start)


def _outermost(calls: Calls) -> Iterator[tuple[int, int]]:
    """Return the calls that are not nested in another one; the calls are in order."""
    end = -1
    for call in calls:
        if call[0] > end:
            end = call[1]
            yield call


def _growth(tokens: Sequence[Token], outer: tuple[int, int], closing: Mapping[int, int]) -> float:
    """Return the length that nested replacing calls make of literal texts."""
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
        elif token.keyword == "," and not depths[-1]:
            open_calls[-1][1].append("")
        elif index == closing[open_calls[-1][0]]:
            (opening, texts), _ = open_calls.pop(), depths.pop()
            name = tokens[opening - 1].text.lower()
            start, pattern, replacement = [*texts, "", "", ""][:3]
            if name in _REPLACING:
                steps.append((pattern if name == "replace" else plain_pattern(pattern), replacement))
                length *= max(1, len(start))
        else:
            depths[-1] += {"(": 1, ")": -1}.get(token.keyword, 0)
    return length * growth(steps)


@dataclass(slots=True)
class _OpenCall:
    """An unfinished call: its place, its open parentheses, and its arguments, split at its commas."""

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
    """Return the largest number among each call's own arguments, nested calls excluded; at least 1."""
    own = [1.0] * len(calls)
    places = {opening: place for place, (opening, _) in enumerate(calls)}
    around: list[_OpenCall] = []
    for index in range(calls[0][0] if calls else len(tokens), len(tokens)):
        if around and index == calls[around[-1].place][1]:
            ended = around.pop()
            own[ended.place] = max(map(_bound, ended.parts)) or 1.0
        if around:
            around[-1].take(tokens[index])
        if index in places:
            around.append(_OpenCall(places[index]))
    return own


def _chains(calls: Calls, own: Sequence[float]) -> list[float]:
    """Return what each call generates together with the calls around it."""
    chains: list[float] = []
    around: list[int] = []
    for place, (opening, _) in enumerate(calls):
        while around and calls[around[-1]][1] < opening:
            around.pop()
        chains.append(own[place] * (chains[around[-1]] if around else 1.0))
        around.append(place)
    return chains


def _bound(part: Sequence[Token]) -> float:
    """Return the largest number that an argument's digits allow."""
    values = [_number(token.text) for token in part if token.kind == "number"]
    values += [width for token in part if token.kind == "string" for width in widths(token.text)]
    return bound(values, {token.text.lower() for token in part if token.kind in {"symbol", "word"}})


def bound(values: Sequence[float], operators: Collection[str]) -> float:
    """Return the largest number that arithmetic could make of these.

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
    """Return the value of a number literal."""
    if text[:2].lower() == "0x":
        return float(int(text, 16))
    if text[:1].lower() in {"x", "b"}:
        digits = text[2:-1] or "0"
        return float(int(digits, 16 if text[0] in "xX" else 2))
    return float(text)


def widths(text: str) -> list[float]:
    """Return the numbers in a text: the text itself, or the widths of a format (`%1000d`, `%*d`, `{:>1000}`)."""
    if text.strip().isdecimal():
        return [float(text)]
    if _INNER.search(text):
        return [math.inf]
    braces = [float(width) for part in _BRACES.findall(text) for width in re.findall(r"\d+", part)]
    found = [width for match in _WIDTH.findall(text) for width in match if width]
    return braces + [math.inf if width == "*" else float(width) for width in found]
