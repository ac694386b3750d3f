"""Sizes that the values of a DuckDB statement can reach: `replace(replace('xx', 'x', 'yy'), 'y', 'zz')`.

Invariant: the estimate is an upper bound as far as constants determine it. A table's column counts as a short text, a
subquery's column as the largest expression with its name. The engine does not count strings against its memory limit,
so the statement has to be bounded.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, TypeAlias, cast

from thresher.sqlguard.sizes import FORMATS, bound, growth, plain_pattern, replaced, widths

Node: TypeAlias = Mapping[str, Any]
Variables: TypeAlias = Mapping[str, float]

SIZED: Final = frozenset({"repeat", "lpad", "rpad", "range", "generate_series", "printf", "format",
                          "list_resize", "bitstring"})  # fmt: skip
"""Functions whose result is as long as a number or format says; aliases are resolved before."""

_PRODUCTS: Final = frozenset({"list_select", "levenshtein", "damerau_levenshtein"})
_JOINED: Final = frozenset({"array_to_string", "array_to_string_comma_default", "list_aggregate", "string_agg"})
_SQUARED: Final = frozenset({"json_pretty", "json_tree"})
_FACTORS: Final = {
    **dict.fromkeys(("hex", "to_base64", "regexp_escape", "to_json", "json_quote", "json_array", "json_object"), 2),
    **dict.fromkeys(("array_to_json", "row_to_json"), 2),
    **{"url_encode": 3, "bin": 8},
}
"""Characters produced per character; a quotation mark that is quoted again doubles each time."""
_ALTERNATIVES: Final = frozenset({"if", "ifnull", "coalesce", "greatest", "least", "nullif"})
_NUMERIC: Final = frozenset({"-", "*", "/", "//", "%", "**", "^", "&", "|", "<<", ">>", "~", "@"})
_NUMBERS: Final = frozenset({"INTEGER", "NUMERIC", "FLOAT", "DOUBLE"})
_EXPLODED: Final = ("key", "value", "json", "atom", "path", "fullkey")
"""Columns of `json_each` and `json_tree`."""
_LAMBDAS: Final = 4
"""Deepest nesting of lambdas that is estimated, since each level multiplies the work."""
_COLUMN: Final = 25.0
"""Size assumed for a table's column, in characters or elements: its own values cannot multiply without end either."""
_INDENTED: Final = 50
_STEPS: Final = 150_000
_PROBE: Final = 1e6
_ROUNDS: Final = 64
_ENDLESS: Final = 1e12
RULED: Final = SIZED | _PRODUCTS | _JOINED | _SQUARED | _FACTORS.keys() | {
    "replace", "regexp_replace", "list_transform", "list_filter", "list_reduce", "concat_ws"
}  # fmt: skip
"""All functions with a rule of their own, by canonical name."""


class Size(NamedTuple):
    """Size of an expression.

    Attributes:
        length: Characters or elements of its value.
        made: The largest value below it that exceeds its arguments together.
    """

    length: float
    made: float = 0.0


@dataclass(slots=True)
class ValueSizes:
    """Sizes of one statement.

    Attributes:
        aliases: Canonical names of functions by alias.
        columns: The largest expression found for each column name.
        unknown: Assumed length of any other column.
        least: Smallest length of any column, if an expression stands for all.
        steps: Expressions estimated so far; beyond a limit everything counts as unbounded.
    """

    aliases: Mapping[str, str]
    columns: dict[str, float] = field(default_factory=dict[str, float])
    unknown: float = _COLUMN
    least: float = 0.0
    steps: int = 0

    def name_of(self, node: Node) -> str:
        """Return the function that a node calls, in lower case, with aliases resolved."""
        name = str(node.get("function_name", "")).lower()
        return self.aliases.get(name, name)

    def read(self, value: Any) -> Iterator[tuple[Node, Size]]:
        """Compute the size of every expression of a statement, those that others refer to first.

        Args:
            value: The tree or a part of it.
        """
        if isinstance(value, list):
            for item in cast("list[Any]", value):
                yield from self.read(item)
        elif isinstance(value, dict):
            yield from self._read_node(cast("dict[str, Any]", value))

    def _read_node(self, node: dict[str, Any]) -> Iterator[tuple[Node, Size]]:
        if "class" in node:
            for query in _queries(node):
                yield from self.read(query)
            size = self.of(node, {})
            self._define(node, size.length)
            yield node, size
            return
        if node.get("type") == "TABLE_FUNCTION":
            yield from self._read_function(node)
            return
        largest = 0.0
        for part in sorted(node, key=lambda key: _ORDER.get(key, 2)):
            for one in self.read(node[part]):
                largest = max(largest, one[1].length)
                yield one
            if part == "left" and node.get("type") == "RECURSIVE_CTE_NODE":
                self._name(_strings(node.get("aliases")), largest)
        self._name(_strings(node.get("aliases")) + _strings(node.get("column_name_alias")), largest)
        if node.get("type") == "EXPRESSION_LIST":
            self._name([f"col{index}" for index in range(max(map(len, node.get("values", [])), default=0))], largest)
        if node.get("type") == "RECURSIVE_CTE_NODE" and self._explodes(node):
            yield node, Size(math.inf, math.inf)

    def _read_function(self, node: Node) -> Iterator[tuple[Node, Size]]:
        """Handle a call in FROM, which returns its arguments row after row."""
        function: Node = node["function"]
        arguments = _arguments(function)
        for query in (below for argument in arguments for below in _queries(argument)):
            yield from self.read(query)
        sizes = [(argument, self.of(argument, {})) for argument in arguments]
        yield from sizes
        name = self.name_of(function)
        if name in _SQUARED:
            yield function, self.of(function, {})
        length = 1.0 if name in SIZED else sum(size.length for _, size in sizes)
        self._name([name, *_EXPLODED, *_strings(node.get("column_name_alias"))], length)

    def _define(self, node: Node, length: float) -> None:
        """Record the length of a column that a subquery may return."""
        if node.get("type") not in ("COLUMN_REF", "STAR") and any(one.get("type") == "STAR" for one in nodes(node)):
            self.least = max(self.least, length)
        elif node.get("alias") or node.get("type") != "COLUMN_REF":
            self._name([str(node.get("alias", ""))], length)

    def _name(self, names: Sequence[str], length: float) -> None:
        for name in names:
            self.columns[name.lower()] = max(length, self.columns.get(name.lower(), 0.0))

    def _explodes(self, node: Node) -> bool:
        """Return whether a recursive query multiplies its own values round after round."""
        items = [_items(node[side]) for side in ("left", "right")]
        names = _strings(node.get("aliases")) or [_name_of(item) for item in items[0]]
        relations = [one for one in nodes(node["right"]) if _path(one)[-1:] == [str(node["cte_name"]).lower()]]
        qualifiers = [str(one.get("alias") or node["cte_name"]).lower() for one in relations]
        lengths = dict.fromkeys((name.lower() for name in names), 1.0)
        for _ in range(_ROUNDS):
            known = {**lengths, **{f"{one}.{name}": lengths[name] for one in qualifiers for name in lengths}}
            for name, item in zip(list(lengths), items[1], strict=False):
                lengths[name] = max(1.0, self.of(item, known).length)
            if max(lengths.values(), default=0.0) > _ENDLESS:
                return True
        return False

    def of(self, node: Node, variables: Variables, depth: int = 0) -> Size:
        """Return the size of an expression.

        Args:
            node: The expression.
            variables: Lengths of the variables of enclosing lambdas.
            depth: Number of enclosing lambdas.
        """
        self.steps += 1
        if self.steps > _STEPS:
            return Size(math.inf, math.inf)
        kind = str(node.get("type", ""))
        if kind == "VALUE_CONSTANT":
            literal: Node = node.get("literal", {})
            return Size(float(len(literal.get("text", ""))) if literal.get("kind") == "STRING" else 1.0)
        if kind == "COLUMN_REF":
            return Size(self._column(node, variables))
        if kind in ("STAR", "POSITIONAL_REFERENCE"):
            return Size(max([self.unknown, self.least, *self.columns.values()]))
        if kind == "FUNCTION":
            return self._call(node, variables, depth)
        return self._operator(kind, node, variables, depth)

    def _operator(self, kind: str, node: Node, variables: Variables, depth: int) -> Size:
        children = list(_children(node))
        sizes = [self.of(child, variables, depth) for child in children]
        made = max((size.made for size in sizes), default=0.0)
        lengths = [size.length for size in sizes]
        if kind == "CASE_EXPR":
            conditions = {id(check["when_expr"]) for check in node["case_checks"]}
            branches = [size.length for child, size in zip(children, sizes, strict=True) if id(child) not in conditions]
            return Size(max(branches, default=1.0), made)
        if kind.startswith(("COMPARE_", "CONJUNCTION_", "OPERATOR_IS", "OPERATOR_NOT")):
            return Size(1.0, made)
        if kind in ("ARRAY_EXTRACT", "ARRAY_SLICE", "STRUCT_EXTRACT", "ARROW", "COLLATE", "OPERATOR_NULLIF"):
            return Size(lengths[0] if lengths else 1.0, made)
        if kind == "OPERATOR_COALESCE":
            return Size(max(lengths, default=1.0), made)
        escaped = kind == "OPERATOR_CAST" and node.get("child", {}).get("type") in ("FUNCTION", "OPERATOR_CAST",
                                                                                    "ARRAY_CONSTRUCTOR")  # fmt: skip
        return Size(sum(lengths) * (2.0 if escaped else 1.0) or 1.0, made)

    def _column(self, node: Node, variables: Variables) -> float:
        parts = [part.lower() for part in _strings(node.get("column_names"))]
        for name in (".".join(parts[-2:]), parts[0] if parts else ""):
            if name in variables:
                return variables[name]
        derived = [self.columns[part] for part in parts if part in self.columns]
        if not derived and parts and not parts[-1].isidentifier() and "" in self.columns:
            derived = [self.columns[""]]
        return max([self.least, *derived]) if derived or self.least else self.unknown

    def _call(self, node: Node, variables: Variables, depth: int) -> Size:
        name = self.name_of(node)
        if name == "||":
            operands = [self.of(operand, variables, depth) for operand in _operands(node)]
            return Size(sum(one.length for one in operands), max(one.made for one in operands))
        arguments = _arguments(node)
        functions = [argument for argument in arguments if argument.get("type") == "LAMBDA"]
        others = [argument for argument in arguments if argument.get("type") != "LAMBDA"]
        sizes = [self.of(argument, variables, depth) for argument in others]
        lengths = [size.length for size in sizes]
        chain = _chain(node) if name == "replace" else []
        if len(chain) > 1:
            start = self.of(chain[0][0], variables, depth)
            length = Size(start.length * growth([(text, other) for _, text, other in chain]), start.made)
        elif functions:
            length = self._lambda(name, functions[0], lengths, variables, depth)
        else:
            length = Size(_length(name, others, lengths))
        made = max([length.made, *(size.made for size in sizes)])
        multiplied = length.length > sum(lengths) and (name in RULED or bool(functions))
        return Size(length.length, max(made, length.length if multiplied else 0.0))

    def _lambda(self, name: str, node: Node, lengths: Sequence[float], variables: Variables, depth: int) -> Size:
        """Return what a lambda makes of all elements of a list: exact if it is linear, else an upper bound."""
        if depth >= _LAMBDAS or not lengths:
            return Size(math.inf, math.inf)
        names = [_name_of(one) for one in (_arguments(node["lhs"]) or [node["lhs"]])]
        reduces = name == "list_reduce"

        def body(element: float, result: float = 0.0) -> Size:
            values = itertools.chain([result, element] if reduces else [element], itertools.repeat(1.0))
            return self.of(node["expr"], {**variables, **dict(zip(names, values, strict=False))}, depth + 1)

        total = lengths[0]
        none, all_of_it = body(0.0), body(total)
        length = total * none.length + max(0.0, all_of_it.length - none.length)
        made = total * none.made + max(0.0, all_of_it.made - none.made)
        if not reduces:
            return Size(total if name == "list_filter" else length, made)
        grown = body(total, 2 * _PROBE).length - body(total, _PROBE).length
        if grown > 1.5 * _PROBE:
            return Size(math.inf, math.inf)
        length += max(total, *lengths[1:], 0.0)
        return Size(length, max(made, body(total, length).made))


_ORDER: Final = {"cte_map": 0, "left": 0, "from_table": 1, "right": 1, "modifiers": 3}
"""Parts of a query, those that define names before those that use them."""


def _length(name: str, arguments: Sequence[Node], lengths: Sequence[float]) -> float:
    """Return the characters or elements that a call makes of its arguments."""
    rule = _LENGTHS.get(name)
    if rule is not None and arguments:
        return rule(arguments, lengths)
    if name in _PRODUCTS:
        return math.prod(lengths)
    if name in _JOINED and len(lengths) > 1:
        return lengths[0] * (1 + sum(lengths[1:]))
    if name in _SQUARED and lengths:
        return max(lengths[0], lengths[0] ** 2 / _INDENTED)
    if name in _ALTERNATIVES:
        return max(lengths, default=1.0)
    if name in _NUMERIC or (name == "+" and any(map(_is_number, arguments))):
        return 1.0
    return sum(lengths) * _FACTORS.get(name, 1) or (0.0 if arguments else 1.0)


def _replaced(arguments: Sequence[Node], lengths: Sequence[float]) -> float:
    if len(lengths) < 3:
        return sum(lengths)
    return replaced(lengths[0], text_of(arguments[1]), lengths[2])


def _replaced_by_pattern(arguments: Sequence[Node], lengths: Sequence[float]) -> float:
    """Bound a pattern replacement: one match, or all with option `g`; a captured group may be the whole text."""
    if len(lengths) < 3:
        return sum(lengths)
    once = len(arguments) < 4 or (text_of(arguments[3]) and "g" not in text_of(arguments[3]))
    if once and text_of(arguments[2]):
        return lengths[0] * (1 + text_of(arguments[2]).count("\\")) + lengths[2]
    return replaced(lengths[0], plain_pattern(text_of(arguments[1])), lengths[2]) + lengths[2]


def _filled(arguments: Sequence[Node], lengths: Sequence[float]) -> float:
    template = text_of(arguments[0])
    places = template.count("{") + template.count("%")
    return lengths[0] + sum(widths(template)) + places * sum(lengths[1:])


_LENGTHS: Final[Mapping[str, Callable[[Sequence[Node], Sequence[float]], float]]] = {
    "replace": _replaced,
    "regexp_replace": _replaced_by_pattern,
    "repeat": lambda arguments, lengths: lengths[0] * max(map(largest, arguments[1:]), default=0.0),
    "list_resize": lambda arguments, lengths: (
        lengths[0] + max(map(largest, arguments[1:2]), default=0.0) * max(1.0, sum(lengths[2:]))
    ),
    "bitstring": lambda arguments, lengths: lengths[0] + max(map(largest, arguments[1:]), default=0.0),
    **dict.fromkeys(("lpad", "rpad"), lambda arguments, _: max(map(largest, arguments[1:2]), default=0.0)),
    **dict.fromkeys(("range", "generate_series"), lambda arguments, _: max(map(largest, arguments))),
    **dict.fromkeys(FORMATS, _filled),
    "concat_ws": lambda arguments, lengths: lengths[0] * len(arguments) + sum(lengths[1:]),
}


def largest(argument: Node) -> float:
    """Return the largest number that an argument's digits allow."""
    found = list(nodes(argument, SIZED))
    literals = [node["literal"] for node in found if "literal" in node]
    numbers = [float(one["text"]) for one in literals if one["kind"] in _NUMBERS]
    numbers += [width for one in literals if one["kind"] == "STRING" for width in widths(one["text"])]
    return bound(numbers, {str(node.get("function_name", "")) for node in found})


def nodes(value: Any, without: frozenset[str] = frozenset()) -> Iterator[Node]:
    """Yield every object in a tree, outer ones first, skipping calls of these functions and their content."""
    waiting: list[Any] = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            node = cast("dict[str, Any]", item)
            if node.get("function_name") not in without:
                yield node
                waiting.extend(reversed(list(node.values())))
        elif isinstance(item, list):
            waiting.extend(reversed(cast("list[Any]", item)))


def text_of(node: Node) -> str:
    """Return the text of a literal; else empty."""
    literal: Node = node.get("literal", {})
    return str(literal.get("text", "")) if literal.get("kind") == "STRING" else ""


def _is_number(node: Node) -> bool:
    return node.get("literal", {}).get("kind") in _NUMBERS


def _arguments(node: Node) -> list[Node]:
    return [argument["expression"] for argument in node.get("arguments", ())]


def _chain(node: Node) -> list[tuple[Node, str, str]]:
    """Return nested calls of `replace`, inner ones first: their subject and both texts, if they are literals."""
    found: list[tuple[Node, str, str]] = []
    while node.get("function_name") == "replace" and len(arguments := _arguments(node)) == 3:
        if not (text_of(arguments[1]) and arguments[2].get("literal", {}).get("kind") == "STRING"):
            break
        found.append((arguments[0], text_of(arguments[1]), text_of(arguments[2])))
        node = arguments[0]
    return found[::-1]


def _operands(node: Node) -> Iterator[Node]:
    """Return the operands of a chain of `||`, which nests to the left as deep as it is long."""
    waiting = [node]
    while waiting:
        part = waiting.pop()
        if part.get("function_name") == "||":
            waiting.extend(_arguments(part))
        else:
            yield part


def _children(node: Node) -> Iterator[Node]:
    """Return the expressions directly below one; for a query, its select list."""
    waiting: list[Any] = list(node.values())
    while waiting:
        item = waiting.pop()
        if isinstance(item, list):
            waiting.extend(cast("list[Any]", item))
        elif isinstance(item, dict):
            below = cast("dict[str, Any]", item)
            if "class" in below:
                yield below
            else:
                waiting.extend([below["select_list"]] if "select_list" in below else below.values())


def _queries(node: Node) -> Iterator[Node]:
    """Yield the queries in an expression, without those nested in them."""
    waiting: list[Any] = [node]
    while waiting:
        item = waiting.pop()
        if isinstance(item, list):
            waiting.extend(cast("list[Any]", item))
        elif isinstance(item, dict):
            below = cast("dict[str, Any]", item)
            if str(below.get("type", "")).endswith("_NODE"):
                yield below
            else:
                waiting.extend(below.values())


def _items(query: Node) -> list[Node]:
    """Return the select list of the first SELECT of a query."""
    found: list[list[Node]] = [one["select_list"] for one in nodes(query) if "select_list" in one]
    return found[0] if found else []


def _name_of(item: Node) -> str:
    """Return the column name of a select item, or the name of a lambda's variable."""
    names = _strings(item.get("column_names"))
    return str(item.get("alias") or (names[-1] if names else "")).lower()


def _path(node: Node) -> list[str]:
    return [part.lower() for part in _strings(node.get("qualified_name", {}).get("path"))]


def _strings(value: Any) -> list[str]:
    return [item for item in cast("list[Any]", value) if isinstance(item, str)] if isinstance(value, list) else []
