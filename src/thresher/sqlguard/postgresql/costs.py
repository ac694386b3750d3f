"""Sizes that a statement asks for by numbers: `repeat('x', 1000000000)` costs memory while it is still being planned.

Invariant: what is computed from constants is bounded from above; what depends on rows is let through where the rest of
the statement has, and makes, no number above the limit.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from thresher.sqlguard.postgresql.bounds import bound, value
from thresher.sqlguard.postgresql.grammar import Body, nodes_of, split, text_of
from thresher.sqlguard.sizes import GATHERED, gathered, growth, plain_pattern, replaced
from thresher.sqlguard.verdicts import Refused

TEXTS: Final = frozenset({"repeat", "lpad", "rpad", "array_fill", "format"})
"""Functions whose result is as long as a number says."""
ROWS: Final = frozenset({"generate_series"})
"""Functions that give as many rows as numbers say."""
A_ROW: Final = 100
"""The part of the limit that a value may take where there may be one in each row."""
MULTIPLYING: Final = frozenset({"replace", "regexp_replace", "array_to_string"})
"""Functions whose result may be as long as the product of their arguments."""
_NO_TEXT: Final = frozenset({"ColumnRef", "TypeName", "String"})
_WIDTH: Final = re.compile(r"%(?:\d+\$)?-?(\*|\d+)")
_DIMENSIONS: Final = re.compile(r"\{[\s\d,]*\}")
_HINT: Final = "Ask for less: an answer is cut long before that size."


@dataclass(slots=True)
class Sizes:
    """What of a statement says how much it makes.

    Attributes:
        calls: Name, body and place (bytes) of the calls that make as much as a number says.
        products: The same of calls whose result may be as long as the product of their arguments.
        numbers: Nodes that are or make numbers, with their places.
        has_rows: Whether it reads from anything: what it makes it then makes for each row.
        gathers: Whether an aggregate, or `ARRAY(SELECT ...)`, keeps the values of all rows in one.
    """

    calls: list[tuple[str, Body, int]] = field(default_factory=list[tuple[str, Body, int]])
    products: list[tuple[str, Body, int]] = field(default_factory=list[tuple[str, Body, int]])
    numbers: list[tuple[str, Body, int]] = field(default_factory=list[tuple[str, Body, int]])
    has_rows: bool = False
    gathers: bool = False

    def check(self, most: int, characters: Callable[[int], int]) -> None:
        """Refuses a statement that makes more than the limit.

        Args:
            most: Characters, elements or rows.
            characters: Places in bytes to places in characters.

        Raises:
            Refused: It could make more.
        """
        total = {True: 0.0, False: 0.0}
        is_open = False
        for name, body, at in self.calls:
            is_series = name in ROWS
            made = _rows(body) if is_series else _made(name, body)
            is_open = is_open or made is None
            total[is_series] += made or 0
            limit = most if is_series or not self.has_rows else most // A_ROW
            if not total[is_series] <= limit:
                reason = f"{name} would make more than {limit:,} {'rows' if is_series else 'characters or elements'}."
                raise Refused("cost", reason, hint=_HINT, offset=characters(at))
        for name, body, at in self.products:
            if not _length({"FuncCall": body}) <= most:
                reason = f"{name} would make more than {most:,} characters."
                raise Refused("cost", reason, hint=_HINT, offset=characters(at))
        if is_open:
            self._check_numbers(most, characters)
        if self.gathers and self.has_rows:
            self._check_gathered(most, characters)

    def _check_gathered(self, most: int, characters: Callable[[int], int]) -> None:
        """Refuses values that are small alone, and too large for an aggregate that keeps those of many rows.

        How many rows a table has is unknown; a series says it by its ends, else by the largest number in the statement.
        """
        largest = max((bound({kind: body}) or 0.0 for kind, body, _ in self.numbers), default=0.0)
        literal = max((_length({kind: body}) for kind, body, _ in self.numbers), default=0.0)
        value = literal if literal > GATHERED else 0.0
        made = 0.0
        for name, body, at in self.calls:
            if name in ROWS:
                continue
            size = _made(name, body)
            made += size or 0.0
            value = max(value, made, largest if size is None else 0.0)
            if made > GATHERED or value > most // A_ROW:
                raise Refused("cost", gathered(name), hint=_HINT, offset=characters(at))
        series = [_rows(body) for name, body, _ in self.calls if name in ROWS]
        rows = math.prod(max(1.0, count) for count in series)
        if value and not all(series):
            rows *= max(1.0, largest)
        if rows * max(1.0, value) > most:
            at = next((at for name, _, at in self.calls if name in ROWS), 0)
            reason = f"Rows that are made of nothing hold more than {most:,} characters, gathered into one value."
            raise Refused("cost", reason, hint=_HINT, offset=characters(at))

    def _check_numbers(self, most: int, characters: Callable[[int], int]) -> None:
        for kind, body, at in self.numbers:
            if not (bound({kind: body}) or 0) <= most:
                reason = f"A number above {most:,} could become the size of a value."
                raise Refused("cost", reason, hint=_HINT, offset=characters(body.get("location", at)))


def _made(name: str, body: Body) -> float | None:
    """Characters or elements that a call makes; None: it depends on rows."""
    arguments = _arguments(body)
    if name == "format":
        return _format_width(arguments)
    if name == "array_fill":
        sizes = [bound(part) for part in _elements(arguments[1:2])]
        return None if None in sizes else math.prod(size or 0 for size in sizes)
    if len(arguments) < 2:
        return 0.0
    count = bound(arguments[1])
    if count is None or name != "repeat":
        return count
    return count * max(1.0, _length(arguments[0]))


def _rows(body: Body) -> float:
    """Rows that a series of numbers has; 0 where its ends are no constants."""
    start, stop, step = ([value(part) for part in _arguments(body)] + [1.0, 1.0, 1.0])[:3]
    if start is None or stop is None or not step:
        return 0.0
    return max(0.0, (stop - start) / step)


def _format_width(arguments: Sequence[Body]) -> float:
    text = arguments[0].get("A_Const", {}).get("sval", {}).get("sval") if arguments else ""
    if text is None:
        return math.inf
    return float(sum(math.inf if width == "*" else int(width) for width in _WIDTH.findall(text)))


def _length(node: Body) -> float:
    """Characters of a text, as far as constants and calls say; 1 of anything else."""
    kind, body = split(node)
    if kind == "A_Const":
        return float(len(body.get("sval", {}).get("sval", "1")))
    if kind == "FuncCall":
        return _called(body)
    if kind in _NO_TEXT:
        return 1.0
    fields = body if kind[:1].isupper() else node
    inner = [part for name, below in fields.items() if name != "typeName" for part in nodes_of(below)]
    return sum(map(_length, inner)) or 1.0


def _called(body: Body) -> float:
    """Characters that a call gives."""
    name = body["funcname"][-1]["String"].get("sval", "")
    if name in TEXTS:
        return _made(name, body) or 1.0
    arguments = _arguments(body)
    if name not in MULTIPLYING or len(arguments) < 2:
        return sum(map(_length, arguments)) or 1.0
    if name == "array_to_string":
        return _length(arguments[0]) * (1.0 + _length(arguments[1]))
    if name == "regexp_replace":
        text = plain_pattern(text_of(arguments[1]))
        return replaced(_length(arguments[0]), text, max(map(_length, arguments[2:]), default=1.0))
    return _replaced(body)


def _replaced(body: Body) -> float:
    """Characters that calls of `replace` in each other give; texts that are written out are seen together."""
    steps: list[tuple[str, str]] = []
    factor = 1.0
    node: Body = {"FuncCall": body}
    while (call := node.get("FuncCall", {})) and call["funcname"][-1]["String"].get("sval", "") == "replace":
        arguments = _arguments(call)
        if len(arguments) < 3:
            break
        if text_of(arguments[1]) and "A_Const" in arguments[2]:
            steps.append((text_of(arguments[1]), text_of(arguments[2])))
        else:
            factor *= growth(steps[::-1]) * replaced(1.0, text_of(arguments[1]), _length(arguments[2]))
            steps.clear()
        node = arguments[0]
    return (1.0 if node.get("FuncCall") is body else _length(node)) * factor * growth(steps[::-1])


def _arguments(body: Body) -> list[Body]:
    """The arguments of a call, without their names."""
    return [part.get("NamedArgExpr", {}).get("arg", part) for part in body.get("args", ())]


def _elements(arguments: Sequence[Body]) -> list[Body]:
    """The elements of an array that is written out, as `ARRAY[...]` or as text; else nodes without a bound."""
    for argument in arguments:
        inner = argument.get("TypeCast", {}).get("arg", argument)
        if "A_ArrayExpr" in inner:
            return inner["A_ArrayExpr"].get("elements", [])
        text = text_of(inner)
        if _DIMENSIONS.fullmatch(text):
            return [{"A_Const": {"sval": {"sval": word}}} for word in re.findall(r"\d+", text)]
    return [{"Unknown": argument} for argument in arguments]
