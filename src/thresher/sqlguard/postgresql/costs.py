"""Sizes that a statement asks for by numbers: `repeat('x', 1000000000)` costs memory while it is still being planned.

Invariant: what is computed from constants is bounded from above; what depends on rows is bounded by the rest of the
statement having no number above the limit.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from thresher.sqlguard.postgresql.grammar import Body, nodes_of, split, text_of
from thresher.sqlguard.refusals import Refused

TEXTS: Final = frozenset({"repeat", "lpad", "rpad", "array_fill", "format"})
"""Functions whose result is as long as a number says."""
ROWS: Final = frozenset({"generate_series"})
"""Functions that give as many rows as numbers say."""
GROWING: Final = frozenset({"*", "^", "<<"})
"""Operators that make large numbers of small ones."""

_MULTIPLYING: Final = frozenset({"replace", "regexp_replace"})
_KEEPING: Final = frozenset({"abs", "ceil", "ceiling", "floor", "round", "trunc", "sign", "mod", "sqrt"})
_LENGTHS: Final = frozenset({"length", "char_length", "character_length", "octet_length"})
_WIDTH: Final = re.compile(r"%(?:\d+\$)?-?(\*|\d+)")
_NUMBER: Final = re.compile(r"\s*[+-]?\d[\d_.]*(?:e[+-]?\d+)?\s*", re.IGNORECASE)
_HINT: Final = "Ask for less; long values are cut anyway."


@dataclass(slots=True)
class Sizes:
    """What of a statement says how much it makes.

    Attributes:
        calls: Name, body and place (bytes) of the calls that make as much as a number says.
        numbers: Nodes that are or make numbers, with their places.
    """

    calls: list[tuple[str, Body, int]] = field(default_factory=list[tuple[str, Body, int]])
    numbers: list[tuple[str, Body, int]] = field(default_factory=list[tuple[str, Body, int]])

    def check(self, most: int, characters: Callable[[int], int]) -> None:
        """Refuses a statement that makes more than the limit.

        Args:
            most: Characters, elements or rows.
            characters: Places in bytes to places in characters.

        Raises:
            Refused: It could make more.
        """
        total, is_open = 0.0, False
        for name, body, at in self.calls:
            made = _rows(body) if name in ROWS else _made(name, body)
            is_open = is_open or made is None
            total += made or 0
            if total > most:
                reason = f"{name} would make more than {most:,} characters or rows."
                raise Refused("cost", reason, hint=_HINT, offset=characters(at))
        if is_open:
            self._check_numbers(most, characters)

    def _check_numbers(self, most: int, characters: Callable[[int], int]) -> None:
        for kind, body, at in self.numbers:
            if (_bound({kind: body}) or 0) > most:
                reason = f"A number above {most:,} could become the size of a value."
                raise Refused("cost", reason, hint=_HINT, offset=characters(body.get("location", at)))


def number_of(constant: Body) -> float:
    """The number that a constant is or says, without its sign; 0 where it is none."""
    if "ival" in constant:
        return abs(constant["ival"].get("ival", 0))
    if "bsval" in constant:
        return float(int(constant["bsval"]["bsval"][1:] or "0", 2 if constant["bsval"]["bsval"][0] == "b" else 16))
    text = constant["fval"]["fval"] if "fval" in constant else constant.get("sval", {}).get("sval", "")
    try:
        return abs(float(int(text, 0))) if text[:2].lower() in ("0x", "0o", "0b") else _decimal(text)
    except ValueError:
        return 0.0


def _decimal(text: str) -> float:
    return abs(float(text.replace("_", ""))) if _NUMBER.fullmatch(text) else 0.0


def _made(name: str, body: Body) -> float | None:
    """Characters or elements that a call makes; None: it depends on rows."""
    arguments = _arguments(body)
    if name == "format":
        return _format_width(arguments)
    if name == "array_fill":
        sizes = [_bound(part) for part in _elements(arguments[1:2])]
        return None if None in sizes or not sizes else math.prod(size or 0 for size in sizes)
    if len(arguments) < 2:
        return 0.0
    count = _bound(arguments[1])
    if count is None or name != "repeat":
        return count
    return count * max(1.0, _length(arguments[0]))


def _rows(body: Body) -> float:
    """Rows that a series of numbers has; 0 where its ends are no constants."""
    start, stop, step = ([_value(part) for part in _arguments(body)] + [1.0, 1.0, 1.0])[:3]
    if start is None or stop is None or not step:
        return 0.0
    return max(0.0, (stop - start) / step)


def _value(node: Body) -> float | None:
    """The number that constants and plain arithmetic make; None: anything else, or no number."""
    kind, body = split(node)
    if kind == "TypeCast":
        return _value(body.get("arg", {}))
    if kind == "A_Const":
        return _signed(body)
    if kind != "A_Expr":
        return None
    left, right = _value(body["lexpr"]) if "lexpr" in body else 0.0, _value(body.get("rexpr", {}))
    operation = _SIGNED.get(body["name"][-1]["String"].get("sval", ""))
    if left is None or right is None or operation is None:
        return None
    try:
        return operation(left, right)
    except (ArithmeticError, TypeError):
        return None


def _signed(constant: Body) -> float | None:
    text = constant.get("sval", {}).get("sval") or constant.get("fval", {}).get("fval", "")
    if text and not _NUMBER.fullmatch(text):
        return None
    is_negative = text.strip().startswith("-") or constant.get("ival", {}).get("ival", 0) < 0
    return -number_of(constant) if is_negative else number_of(constant)


_SIGNED: Final[dict[str, Callable[[float, float], float]]] = {
    "+": lambda left, right: left + right,
    "-": lambda left, right: left - right,
    "*": lambda left, right: left * right,
    "/": lambda left, right: left / right,
    "^": lambda left, right: float(left**right),
    "<<": lambda left, right: left * 2.0**right,
}


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
        name = body["funcname"][-1]["String"].get("sval", "")
        if name in TEXTS:
            return _made(name, body) or 1.0
        sizes = [_length(part) for part in _arguments(body)]
        return math.prod(sizes) if name in _MULTIPLYING else max(sizes, default=1.0)
    sides = [side for name in ("lexpr", "rexpr", "arg") for side in nodes_of(body.get(name))]
    return sum(map(_length, sides)) if kind in ("A_Expr", "TypeCast") else 1.0


def _bound(node: Body) -> float | None:
    """The largest number, without its sign, that a node could be; None: it depends on rows."""
    kind, body = split(node)
    reader = _BOUNDS.get(kind)
    return reader(body) if reader else (None if _has_rows(node) else math.inf)


def _operation(body: Body) -> float | None:
    name = body["name"][-1]["String"].get("sval", "")
    left, right = (_bound(body[side]) if side in body else 0.0 for side in ("lexpr", "rexpr"))
    if left is None or right is None:
        return None
    try:
        return _ARITHMETIC.get(name, _unknown)(left, right)
    except OverflowError:
        return math.inf


def _unknown(left: float, right: float) -> float:
    return math.inf if left or right else 0.0


_ARITHMETIC: Final[dict[str, Callable[[float, float], float]]] = {
    "+": lambda left, right: left + right,
    "-": lambda left, right: left + right,
    "*": lambda left, right: left * right,
    "/": lambda left, right: left / right if 0 < right < 1 else left,
    "%": lambda _left, right: right,
    "^": lambda left, right: max(left, 1.0) ** right,
    "<<": lambda left, right: left * 2.0**right,
    ">>": lambda left, _right: left,
}


def _call(body: Body) -> float | None:
    name = body["funcname"][-1]["String"].get("sval", "")
    arguments = _arguments(body)
    if name in _KEEPING and arguments:
        return _bound(arguments[0])
    if name in _LENGTHS and arguments:
        return None if _has_rows(arguments[0]) else _length(arguments[0])
    return None if _has_rows({"FuncCall": body}) else math.inf


def _least_or_greatest(body: Body) -> float | None:
    bounds = [_bound(part) for part in body.get("args", ())]
    known = [bound for bound in bounds if bound is not None]
    if body.get("op") == "IS_LEAST":
        return min(known, default=None)
    return max(known) if len(known) == len(bounds) else None


def _constant(body: Body) -> float:
    return number_of(body)


def _cast(body: Body) -> float | None:
    return _bound(body.get("arg", {}))


_BOUNDS: Final[dict[str, Callable[[Body], float | None]]] = {
    "A_Const": _constant,
    "A_Expr": _operation,
    "FuncCall": _call,
    "MinMaxExpr": _least_or_greatest,
    "TypeCast": _cast,
}


def _arguments(body: Body) -> list[Body]:
    """The arguments of a call, without their names."""
    return [part.get("NamedArgExpr", {}).get("arg", part) for part in body.get("args", ())]


def _elements(arguments: Sequence[Body]) -> list[Body]:
    """The elements of an array that is written out, as `ARRAY[...]` or as text; else the arguments themselves."""
    for argument in arguments:
        inner = argument.get("TypeCast", {}).get("arg", argument)
        if "A_ArrayExpr" in inner:
            return inner["A_ArrayExpr"].get("elements", [])
        words: list[str] = re.findall(r"\d+", text_of(inner))
        if words:
            return [{"A_Const": {"sval": {"sval": word}}} for word in words]
    return list(arguments)


def _has_rows(node: Body) -> bool:
    """Whether a node depends on rows: a column or a query is anywhere inside."""
    waiting = [node]
    while waiting:
        part = waiting.pop()
        if "ColumnRef" in part or "SubLink" in part:
            return True
        for value in part.values():
            waiting.extend(nodes_of(value))
    return False
