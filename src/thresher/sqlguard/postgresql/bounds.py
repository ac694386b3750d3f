"""How large a number can be that a statement computes from constants.

Invariant: from above: what is not understood, or not a number at any step, counts as without bound.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable
from typing import Final

from thresher.sqlguard.postgresql.grammar import Body, nodes_of, split

GROWING: Final = frozenset({"*", "/", "^", "<<"})
"""Operators that make large numbers of small ones."""

_NUMERIC: Final = frozenset({"int2", "int4", "int8", "float4", "float8", "numeric"})
_KEEPING: Final = frozenset({"abs", "ceil", "ceiling", "floor", "round", "trunc", "sign"})
_NUMBER: Final = re.compile(r"[+-]?(\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(e[+-]?\d+)?", re.IGNORECASE)
_BASED: Final = re.compile(r"[+-]?0[xob][0-9a-f_]+", re.IGNORECASE)


def is_growing_call(name: str) -> bool:
    """Whether a function makes large numbers of small ones: powers, products by name, hashes."""
    return name.startswith("hash") or name.endswith(("pow", "power", "exp", "mul", "shl", "factorial"))


def bound(node: Body) -> float | None:
    """The largest number, without its sign, that a node could be.

    Returns:
        Infinity: there is no telling; None: it depends on rows.
    """
    if has_rows(node):
        kind, body = split(node)
        return _least(body) if kind == "MinMaxExpr" else None
    exact = value(node)
    if exact is not None:
        return abs(exact)
    kind, body = split(node)
    reader = _BOUNDS.get(kind)
    found = reader(body) if reader else math.inf
    return math.inf if math.isnan(found) else found


def value(node: Body) -> float | None:
    """The number that constants and plain arithmetic make; None: anything else, or no number."""
    kind, body = split(node)
    if kind == "A_Const":
        return _constant(body)
    if kind == "TypeCast":
        return value(body.get("arg", {})) if _type(body) in _NUMERIC else None
    if kind != "A_Expr":
        return None
    left, right = value(body["lexpr"]) if "lexpr" in body else 0.0, value(body.get("rexpr", {}))
    operation = _EXACT.get(_operator(body))
    if left is None or right is None or operation is None:
        return None
    try:
        found = operation(left, right)
    except (ArithmeticError, TypeError):
        return None
    return None if math.isnan(found) else found


def has_rows(node: Body) -> bool:
    """Whether a node depends on rows: a column or a query is anywhere inside."""
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
    """The number that a text says, in one of PostgreSQL's forms."""
    if _BASED.fullmatch(text):
        return float(int(text, 0))
    if _NUMBER.fullmatch(text):
        return float(text.replace("_", ""))
    return math.inf if text.lower().lstrip("+-").startswith("0x") else None


def _operator(body: Body) -> str:
    return body["name"][-1]["String"].get("sval", "")


def _type(body: Body) -> str:
    return body["typeName"]["names"][-1]["String"].get("sval", "")


_EXACT: Final[dict[str, Callable[[float, float], float]]] = {
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


def _operation(body: Body) -> float:
    left, right = (bound(body[side]) if side in body else 0.0 for side in ("lexpr", "rexpr"))
    operation = _FROM_ABOVE.get(_operator(body))
    return operation(left or 0.0, right or 0.0) if operation else math.inf


def _call(body: Body) -> float:
    arguments = body.get("args", ())
    if body["funcname"][-1]["String"].get("sval", "") in _KEEPING and len(arguments) == 1:
        found = bound(arguments[0])
        return math.inf if found is None else found + 1
    return math.inf


def _cast(body: Body) -> float:
    found = bound(body.get("arg", {})) if _type(body) in _NUMERIC else None
    return math.inf if found is None else found


def _least(body: Body) -> float | None:
    """LEAST is bounded by any of its arguments that is."""
    known = [found for found in map(bound, body.get("args", ())) if found is not None]
    return min(known, default=None) if body.get("op") == "IS_LEAST" else None


_BOUNDS: Final[dict[str, Callable[[Body], float]]] = {
    "A_Const": lambda _text: 0.0,
    "A_Expr": _operation,
    "FuncCall": _call,
    "TypeCast": _cast,
}
