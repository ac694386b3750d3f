"""Sizes that a statement demands by numbers: `repeat('x', 1000000000)` costs memory during planning already.

Invariant: what is computed from constants has an upper bound; what depends on rows is accepted if the rest of the
statement neither contains nor makes a number above the limit.
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
from thresher.sqlguard.verdicts import Refusal

TEXTS: Final = frozenset({"repeat", "lpad", "rpad", "array_fill", "format"})
"""Functions whose result is as long as a number says."""
ROWS: Final = frozenset({"generate_series"})
"""Functions that return as many rows as numbers say."""
A_ROW: Final = 100
"""Share of the limit that a value may take if there may be one in each row."""
MULTIPLYING: Final = frozenset({"replace", "regexp_replace", "array_to_string"})
"""Functions whose result may be as long as the product of their arguments."""
_NO_TEXT: Final = frozenset({"ColumnRef", "TypeName", "String"})
_WIDTH: Final = re.compile(r"%(?:\d+\$)?-?(\*|\d+)")
_DIMENSIONS: Final = re.compile(r"\{[\s\d,]*\}")
_HINT: Final = "Ask for less: answers are cut long before that size."


@dataclass(slots=True)
class StatementSizes:
    """The parts of a statement that determine how much it generates.

    Attributes:
        calls: Name, body and place (in bytes) of calls that generate as much as a number says.
        products: The same for calls whose result may be as long as the product of their arguments.
        numbers: Nodes that are or make numbers, with their places.
        has_rows: Whether it reads from anything, so that values are generated for each row.
        gathers: Whether an aggregate, or `ARRAY(SELECT ...)`, collects the values of all rows into one.
    """

    calls: list[tuple[str, Body, int]] = field(default_factory=list[tuple[str, Body, int]])
    products: list[tuple[str, Body, int]] = field(default_factory=list[tuple[str, Body, int]])
    numbers: list[tuple[str, Body, int]] = field(default_factory=list[tuple[str, Body, int]])
    has_rows: bool = False
    gathers: bool = False

    def check(self, most: int, characters: Callable[[int], int]) -> None:
        """Refuse a statement that generates more than the limit.

        Args:
            most: Characters, elements or rows.
            characters: Converts places in bytes to places in characters.

        Raises:
            Refusal: It could generate more.
        """
        total = {True: 0.0, False: 0.0}
        is_open = False
        for name, body, at in self.calls:
            is_series = name in ROWS
            made = _rows(body) if is_series else _generated(name, body)
            is_open = is_open or made is None
            total[is_series] += made or 0
            limit = most if is_series or not self.has_rows else most // A_ROW
            if not total[is_series] <= limit:
                reason = (
                    f"{name} would generate more than {limit:,} {'rows' if is_series else 'characters or elements'}."
                )
                raise Refusal("cost", reason, hint=_HINT, offset=characters(at))
        for name, body, at in self.products:
            if not _length({"FuncCall": body}) <= most:
                reason = f"{name} would generate more than {most:,} characters."
                raise Refusal("cost", reason, hint=_HINT, offset=characters(at))
        if is_open:
            self._check_numbers(most, characters)
        if self.gathers and self.has_rows:
            self._check_gathered(most, characters)

    def _check_gathered(self, most: int, characters: Callable[[int], int]) -> None:
        """Refuse values that are small alone but too large for an aggregate over many rows.

        The number of rows of a table is unknown; a series gives it by its bounds, otherwise it is the largest number in
        the statement.
        """
        largest = max((bound({kind: body}) or 0.0 for kind, body, _ in self.numbers), default=0.0)
        literal = max((_length({kind: body}) for kind, body, _ in self.numbers), default=0.0)
        value = literal if literal > GATHERED else 0.0
        made = 0.0
        for name, body, at in self.calls:
            if name in ROWS:
                continue
            size = _generated(name, body)
            made += size or 0.0
            value = max(value, made, largest if size is None else 0.0)
            if made > GATHERED or value > most // A_ROW:
                raise Refusal("cost", gathered(name), hint=_HINT, offset=characters(at))
        series = [_rows(body) for name, body, _ in self.calls if name in ROWS]
        rows = math.prod(max(1.0, count) for count in series)
        if value and not all(series):
            rows *= max(1.0, largest)
        if rows * max(1.0, value) > most:
            at = next((at for name, _, at in self.calls if name in ROWS), 0)
            reason = f"Generated rows hold more than {most:,} characters when collected into one value."
            raise Refusal("cost", reason, hint=_HINT, offset=characters(at))

    def _check_numbers(self, most: int, characters: Callable[[int], int]) -> None:
        for kind, body, at in self.numbers:
            if not (bound({kind: body}) or 0) <= most:
                reason = f"A number above {most:,} could become the size of a value."
                raise Refusal("cost", reason, hint=_HINT, offset=characters(body.get("location", at)))


def _generated(name: str, body: Body) -> float | None:
    """Return the characters or elements that a call generates; None if they depend on rows."""
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
    """Return the number of rows of a numeric series; 0 if its bounds are not constants."""
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
    """Return the length of a text as far as constants and calls determine it; 1 for anything else."""
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
    """Return the length of a call's result."""
    name = body["funcname"][-1]["String"].get("sval", "")
    if name in TEXTS:
        return _generated(name, body) or 1.0
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
    """Return the length that nested calls of `replace` produce; literal texts are considered together."""
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
    """Return the arguments of a call without their names."""
    return [part.get("NamedArgExpr", {}).get("arg", part) for part in body.get("args", ())]


def _elements(arguments: Sequence[Body]) -> list[Body]:
    """Return the elements of an array literal, `ARRAY[...]` or text; else nodes without a bound."""
    for argument in arguments:
        inner = argument.get("TypeCast", {}).get("arg", argument)
        if "A_ArrayExpr" in inner:
            return inner["A_ArrayExpr"].get("elements", [])
        text = text_of(inner)
        if _DIMENSIONS.fullmatch(text):
            return [{"A_Const": {"sval": {"sval": word}}} for word in re.findall(r"\d+", text)]
    return [{"Unknown": argument} for argument in arguments]
