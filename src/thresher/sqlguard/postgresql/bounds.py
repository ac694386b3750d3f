"""Upper bounds for numbers that a statement computes from constants.

Invariant: whatever is not understood, or is not a number at some step, counts as unbounded.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable
from typing import Final

from thresher.sqlguard.postgresql.grammar import Body, nodes_of, split

GROWING: Final = frozenset({"*", "/", "^", "<<"})
"""Operators that make large numbers from small ones."""

_NUMERIC: Final = frozenset({"int2", "int4", "int8", "float4", "float8", "numeric"})
_KEEPING: Final = frozenset({"abs", "ceil", "ceiling", "floor", "round", "trunc", "sign"})
_NUMBER: Final = re.compile(r"[+-]?(\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(e[+-]?\d+)?", re.IGNORECASE)
_BASED: Final = re.compile(r"[+-]?0[xob][0-9a-f_]+", re.IGNORECASE)


def is_growing_call(name: str) -> bool:
    """Return whether a function makes large numbers from small ones: powers, products by name, hashes."""
    return name.startswith("hash") or name.endswith(("pow", "power", "exp", "mul", "shl", "factorial"))


def bound(node: Body) -> float | None:
    """Return the largest absolute value that a node could have.

    Returns:
        The bound; infinity if it is unknown, None if it depends on rows.
    """
    if has_rows(node):
        kind, body = split(node)
        return _least(body) if kind == "MinMaxExpr" else None
    kind, body = split(node)
    reader = _BOUNDS.get(kind)
    try:
        found = reader(body) if reader else math.inf
    except OverflowError:
        return math.inf
    return math.inf if math.isnan(found) else found


def value(node: Body) -> float | None:
    """Return the approximate number that constants and plain arithmetic make; None for anything else."""
    kind, body = split(node)
    if kind == "A_Const":
        return _constant(body)
    if kind == "TypeCast":
        return value(body.get("arg", {})) if _is_numeric(body) else None
    if kind != "A_Expr":
        return None
    left, right = value(body["lexpr"]) if "lexpr" in body else 0.0, value(body.get("rexpr", {}))
    operation = _ABOUT.get(_operator(body))
    if left is None or right is None or operation is None:
        return None
    try:
        found = operation(left, right)
    except (ArithmeticError, TypeError):
        return None
    return None if math.isnan(found) else found


def has_rows(node: Body) -> bool:
    """Return whether a node depends on rows, with a column or query anywhere inside."""
    waiting = [node]
    while waiting:
        part = waiting.pop()
        if "ColumnRef" in part or "SubLink" in part:
            return True
        for below in part.values():
            waiting.extend(nodes_of(below))
    return False


def _constant(constant: Body) -> float | None:
    if "ival" in constant:
        return float(constant["ival"].get("ival", 0))
    if "bsval" in constant:
        digits: str = constant["bsval"]["bsval"]
        return float(int(digits[1:] or "0", 2 if digits[0] == "b" else 16))
    text: str = constant["fval"]["fval"] if "fval" in constant else constant.get("sval", {}).get("sval", "")
    return _written(text.strip())


def _written(text: str) -> float | None:
    """Return the number in a text, in any of PostgreSQL's forms."""
    if _BASED.fullmatch(text):
        return float(int(text, 0))
    if _NUMBER.fullmatch(text):
        return float(text.replace("_", ""))
    return math.inf if text.lower().lstrip("+-").startswith("0x") else None


def _operator(body: Body) -> str:
    return body["name"][-1]["String"].get("sval", "")


def _is_numeric(cast: Body) -> bool:
    """Return whether a cast keeps a number apart from its fraction; `numeric(1, -9)` does not."""
    return _type(cast) in _NUMERIC and "typmods" not in cast["typeName"]


def _type(cast: Body) -> str:
    return cast["typeName"]["names"][-1]["String"].get("sval", "")


_ABOUT: Final[dict[str, Callable[[float, float], float]]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": lambda left, right: left / right,
    "^": lambda left, right: float(left**right),
    "<<": lambda left, right: left * 2.0**right,
}
_FROM_ABOVE: Final[dict[str, Callable[[float, float], float]]] = {
    "+": operator.add,
    "-": operator.add,
    "*": operator.mul,
    "%": lambda _left, right: right,
}
_BY_A_LITERAL: Final[dict[str, Callable[[float, float], float]]] = {
    "/": lambda left, right: left / min(abs(right), 1.0) if right else math.inf,
    "^": lambda left, right: max(left, 1.0) ** right if right >= 0 else math.inf,
    "<<": lambda left, right: left * 2.0**right if right >= 0 else math.inf,
}
"""Operators whose result grows as the right side shrinks or is negative; their right side must be a literal."""


def _operation(body: Body) -> float:
    """Bound an operation. Differences count as sums, since the difference of large numbers depends on rounding."""
    name = _operator(body)
    left = (bound(body["lexpr"]) if "lexpr" in body else 0.0) or 0.0
    if name in _FROM_ABOVE:
        return _FROM_ABOVE[name](left, bound(body["rexpr"]) or 0.0)
    literal = _literal(body["rexpr"]) if "rexpr" in body else None
    return _BY_A_LITERAL[name](left, literal) if name in _BY_A_LITERAL and literal is not None else math.inf


def _literal(node: Body) -> float | None:
    """Return the number of a literal, whatever its sign or type."""
    kind, body = split(node)
    if kind == "A_Expr" and _operator(body) == "-" and "lexpr" not in body:
        found = _literal(body["rexpr"])
        return None if found is None else -found
    return _constant(body) if kind == "A_Const" else None


def _call(body: Body) -> float:
    arguments = body.get("args", ())
    if body["funcname"][-1]["String"].get("sval", "") in _KEEPING and len(arguments) == 1:
        found = bound(arguments[0])
        return math.inf if found is None else found + 1
    return math.inf


def _cast(body: Body) -> float:
    found = bound(body.get("arg", {})) if _is_numeric(body) else None
    if found is None or math.isinf(found):
        return math.inf
    return float(math.ceil(found)) if _type(body).startswith("int") else found


def _least(body: Body) -> float | None:
    """Bound LEAST by any bounded argument."""
    known = [found for found in map(bound, body.get("args", ())) if found is not None]
    return min(known, default=None) if body.get("op") == "IS_LEAST" else None


_BOUNDS: Final[dict[str, Callable[[Body], float]]] = {
    "A_Const": lambda constant: abs(_constant(constant) or 0.0),
    "A_Expr": _operation,
    "FuncCall": _call,
    "TypeCast": _cast,
}
