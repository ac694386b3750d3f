"""The tree of a statement: every node and every part of it is on the list of those that only read.

Invariant: every part of every node is visited; a class or a part that is not listed is refused, so that a newer grammar
cannot bring one in unseen. Functions are checked by name before, wherever a parenthesis opens.
"""

from __future__ import annotations

import functools
import logging
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, cast

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect as TreeDialect
from sqlglot.errors import SqlglotError

from thresher.sqlguard.function_lists import listed
from thresher.sqlguard.grammars import Grammar, check_calls, check_depth, check_start, check_words
from thresher.sqlguard.records import Dialect, Functions, Knowledge, Limits, Verdict
from thresher.sqlguard.tokens import Token
from thresher.sqlguard.verdicts import Refused

_HINT: Final = "Only statements that read may run here."

logging.getLogger("sqlglot").setLevel(logging.ERROR)  # its warnings quote statements, which may hold anybody's data


def _classes(names: str) -> frozenset[type[exp.Expr]]:
    """Classes by name."""
    return frozenset(getattr(exp, name) for name in names.split())


ROOTS: Final = _classes("Select Union Except Intersect Subquery Values Table")
PLAIN: Final = _classes(
    "Add And BitwiseAnd BitwiseLeftShift BitwiseNot BitwiseOr BitwiseRightShift BitwiseXor Div IntDiv Mod Mul Sub"
    " DPipe Neg Not Or Xor Paren Is EQ NEQ NullSafeEQ NullSafeNEQ GT GTE LT LTE Like ILike Glob RegexpLike"
    " RegexpILike SimilarTo Escape Between In Exists Any All Alias Aliases Boolean Null Literal National"
    " Introducer HexString BitString RawString Star Identifier Var Tuple Bracket Slice Distinct Filter WithinGroup"
    " IgnoreNulls RespectNulls Having Where From Grouping GroupingSets Cube Rollup Order Ordered Offset Fetch"
    " Window WindowSpec Interval IntervalSpan Collate Prior ConnectByRoot Connect Collation CharacterSet"
    " DataTypeParam MatchAgainst JSON JSONExtract JSONExtractScalar JSONPath JSONPathRoot JSONPathKey"
    " JSONPathSubscript JSONPathWildcard JSONPathRecursive JSONPathSlice JSONPathUnion JSONPathFilter"
    " JSONPathScript JSONPathSelector JSONTable JSONSchema JSONColumnDef JSONKeyValue FormatJson OpenJSONColumnDef"
    " JSONValue JSONValueArray JSONExtractQuote OnCondition Hint Overlaps AtTimeZone TableAlias JoinHint"
    " LimitOptions HavingMax WeekStart IndexTableHint WithTableHint SessionParameter XMLNamespace QueryOption"
    " XMLKeyValueOption Kwarg Pivot PivotAlias UnpivotColumns Unnest Values Dot Match Binary Partition Parameter"
    " ForClause"
)
"""Nodes that may have any of their parts, each of which is visited."""

PARTS: Final[dict[type[exp.Expr], frozenset[str]]] = {
    getattr(exp, name): frozenset(parts.split())
    for name, parts in {
        "Select": "with_ expressions distinct from_ laterals joins connect pivots where group having windows"
        " order limit offset qualify options for_ kind operation_modifiers",
        "Union": "with_ this expression distinct by_name laterals joins where group having windows order limit"
        " offset for_ options",
        "Except": "with_ this expression distinct by_name order limit offset for_ options",
        "Intersect": "with_ this expression distinct by_name order limit offset for_ options",
        "Subquery": "this alias with_ joins laterals pivots where group having order limit offset sample",
        "Table": "this alias db catalog laterals joins pivots hints sample indexed partition",
        "Join": "this on side kind using method expressions pivots",
        "With": "expressions recursive",
        "CTE": "this alias materialized",
        "Lateral": "this view outer alias cross_apply ordinality",
        "Group": "expressions grouping_sets cube rollup totals all",
        "Column": "this table db catalog join_mark",
        "Cast": "this to format safe default",
        "DataType": "this expressions nested kind values collate",
        "Limit": "this expression offset limit_options expressions",
        "TableSample": "expressions percent rows size seed method",
        "Anonymous": "this expressions",
    }.items()
}
"""Nodes that may have these parts only: what is missing locks, stores, or is of no dialect that is read here."""

_SCALARS: Final = frozenset({str, int, float, bool, exp.DType})

QUERIES: Final = _classes("Select Union Except Intersect Subquery Values")
"""What may stand in brackets as a query."""

_TRIES: Final = 3
"""How often the tree's grammar may read what stands in brackets behind a type's name: as type, literal and call."""
_MOST_READ: Final = 300_000
"""Words that it may read, counting each as often as it may: about a second."""

UNCALLED: Final = _classes(
    "NextValueFor ReadCSV ReadParquet AnonymousAggFunc CombinedAggFunc CombinedParameterizedAgg"
    " ParameterizedAgg PropertyEQ Predict MLForecast MLTranslate GenerateEmbedding VectorSearch AIClassify"
)
"""Functions of the tree's grammar that are no computation."""


def read_tree(text: str, grammar: Grammar) -> exp.Expr:
    """The tree of one statement.

    Args:
        text: What `read_tokens` made for this grammar.
        grammar: The dialect.

    Raises:
        Refused: No tree, or more than one.
    """
    dialect = _dialect(grammar.tree)
    try:
        trees = [tree for tree in dialect.parser().parse(dialect.tokenize(text), text) if tree is not None]
    except SqlglotError as error:
        raise _unparsed(error, text) from None
    if len(trees) != 1:
        raise Refused("several_statements", "There is more than one statement.", hint="Send them one by one.")
    return trees[0]


def check_retries(tokens: Sequence[Token], grammar: Grammar) -> None:
    """Refuses what the tree's grammar would read again and again: twice for each level of `date(date(date(...)))`.

    Args:
        tokens: The statement, whose brackets match.
        grammar: The dialect.

    Raises:
        Refused: `too_deep`.
    """
    types = _types(grammar.tree)
    weights = [1]
    read = 0
    for index, token in enumerate(tokens):
        if token.said == "(":
            typed = index > 0 and tokens[index - 1].text.upper() in types
            weights.append(weights[-1] * _TRIES if typed else weights[-1])
        elif token.said == ")":
            weights.pop()
        read += weights[-1]
        if read > _MOST_READ:
            hint = "Write fewer conversions inside conversions."
            raise Refused("too_deep", "The statement is nested too deeply.", hint=hint, offset=token.start)


@functools.cache
def _types(name: str) -> frozenset[str]:
    """The words that the tree's grammar may take for a type."""
    dialect = _dialect(name)
    kinds = type(dialect).parser_class.TYPE_TOKENS
    return frozenset(word for word, kind in dialect.tokenizer_class.KEYWORDS.items() if kind in kinds)


@functools.cache
def _dialect(name: str) -> TreeDialect:
    """The tree's grammar of a dialect."""
    return TreeDialect.get_or_raise(name)


def _unparsed(error: SqlglotError, text: str) -> Refused:
    """Where the grammar gave up."""
    details: list[dict[str, Any]] = getattr(error, "errors", [])
    if not details or not details[0].get("line"):
        return Refused("syntax", "The statement could not be read.")
    detail = details[0]
    lines = text.split("\n")
    word = str(detail.get("highlight") or "")
    offset = sum(len(line) + 1 for line in lines[: detail["line"] - 1]) + max(detail["col"] - len(word), 0)
    return Refused("syntax", "The statement cannot be read from here on.", offset=offset, text=word)


def check_tree(root: exp.Expr, grammar: Grammar, functions: Functions, called: tuple[str, ...]) -> Verdict:
    """Checks every node and every relation of a statement.

    Args:
        root: Its tree.
        grammar: The dialect.
        functions: What it may call.
        called: The functions that it calls, checked before.

    Returns:
        The verdict of a statement that only reads.

    Raises:
        Refused: A node, a part or a relation that is not on the lists.
    """
    if type(root) not in ROOTS:
        raise Refused("statement", f"{_name(root)} may not run here.", hint=_HINT, kind=_name(root))
    queries: set[str] = set()
    tables: dict[str, None] = {}
    for node in _nodes(root):
        if isinstance(node, (exp.CTE, exp.Exists, exp.Subquery)):
            _check_query(node)
        if isinstance(node, exp.CTE):
            queries.add(node.alias.lower())
        elif isinstance(node, exp.Table):
            tables.update(dict.fromkeys(_relation(node, grammar)))
    if grammar.bare_calls:
        _check_columns(root, functions)
    named = tuple(table for table in tables if table.lower() not in queries)
    limited = bool(root.args.get("limit"))
    kind = {"Select": "select", "Values": "values", "Table": "table"}.get(type(root).__name__, "select")
    return Verdict(True, kind=kind, tables=named, functions=called, limited=limited)


def _check_columns(root: exp.Expr, functions: Functions) -> None:
    """Refuses names that could be calls: qualified by something else than a relation, or named as a user's function.

    Raises:
        Refused: `function`.
    """
    relations = {alias.name.upper() for alias in root.find_all(exp.TableAlias)}
    relations |= {table.name.upper() for table in root.find_all(exp.Table)}
    for node in root.find_all(exp.Column, exp.Dot):
        if isinstance(node, exp.Dot) and isinstance(node.expression, exp.Func):
            continue  # a call, whose name was checked
        qualifier = node.table if isinstance(node, exp.Column) else "."
        unknown = qualifier and qualifier.upper() not in relations
        if unknown or (not qualifier and node.name.lower() in functions.fields):
            raise _refused(node, "function", f"{node.name[:60]} could be a function that is called without brackets.")


def _check_query(node: exp.Expr) -> None:
    """Refuses brackets around something else than a query or joined tables: `(SHUTDOWN)` is no table to any reader.

    Raises:
        Refused: What stands there.
    """
    inner = node.this
    joined = isinstance(node, exp.Subquery) and isinstance(inner, exp.Table) and inner.args.get("joins")
    values = isinstance(inner, exp.Anonymous) and inner.name.upper() == "VALUES"
    if type(inner) not in QUERIES and not joined and not values:
        raise _refused(node, "syntax", "There is no query in these brackets.")


def _nodes(root: exp.Expr) -> Iterator[exp.Expr]:
    """Every node of a tree, checked, the statement's own first."""
    waiting: list[exp.Expr] = [root]
    while waiting:
        node = waiting.pop()
        parts = _parts(node)
        yield node
        for key, value in node.args.items():
            if value is None or value is False or value == []:
                continue
            if parts is not None and key not in parts:
                rule = "locks" if key == "locks" else "clause"
                reason = f"{key.rstrip('_')} of {_name(node)} is not among the parts that only read."
                raise _refused(node, rule, reason)
            if isinstance(value, exp.Expr):
                waiting.append(value)
            elif type(value) not in _SCALARS:
                waiting.extend(_values(node, value))


def _values(node: exp.Expr, value: Any) -> Iterator[exp.Expr]:
    """The nodes in a part."""
    for item in cast("list[Any]", value) if isinstance(value, list) else [value]:
        if isinstance(item, exp.Expr):
            yield item
        elif isinstance(item, list):
            yield from _values(node, item)
        elif item is not None and type(item) not in _SCALARS:
            raise _refused(node, "clause", f"{_name(node)} has a part that cannot be read.")


def _parts(node: exp.Expr) -> frozenset[str] | None:
    """The parts that a node may have; None: any.

    Raises:
        Refused: The node may not be there.
    """
    kind = type(node)
    if kind in PARTS:
        if isinstance(node, exp.DataType) and node.this == exp.DType.USERDEFINED:
            raise _refused(node, "type", "A type is not one of the engine's own.")
        return PARTS[kind]
    if kind in PLAIN or (issubclass(kind, exp.Func) and kind not in UNCALLED):
        return None
    raise _refused(node, "clause", f"{_name(node)} is not among the parts of a statement that only read.")


def _refused(node: exp.Expr, rule: Any, reason: str) -> Refused:
    """A refusal at the node's first word."""
    offset = next((found.meta["start"] for found in node.walk() if "start" in found.meta), None)
    return Refused(rule, reason, hint=_HINT, offset=offset)


def _name(node: exp.Expr) -> str:
    """What a reader calls a node."""
    return type(node).__name__.lower()


def _relation(table: exp.Table, grammar: Grammar) -> list[str]:
    """The name of a relation; none for a function.

    Raises:
        Refused: It may not be read.
    """
    if isinstance(table.this, exp.Func):
        return []
    parts = tuple(part.name for part in table.parts)
    reason = grammar.relation(tuple(fold(part) for part in parts))
    if reason:
        raise Refused(
            "relation", reason, hint="Ask for the tables of the data.", offset=_start(table), text=".".join(parts)
        )
    return [".".join(parts)]


def _start(node: exp.Expr) -> int | None:
    """Characters before a node."""
    return next((found.meta["start"] for found in node.walk() if "start" in found.meta), None)


def fold(name: str) -> str:
    """A name as the most forgiving collation compares it: no case, no accents, no look-alikes."""
    if name.isascii():
        return name.lower().rstrip()
    plain = unicodedata.normalize("NFKD", name)
    return "".join(letter for letter in plain if not unicodedata.combining(letter)).casefold().rstrip()


@dataclass(frozen=True, slots=True)
class Text:
    """A statement in words.

    Attributes:
        tokens: Its words; at least one.
        masked: The text for the tree's grammar, as long as the original.
    """

    tokens: Sequence[Token]
    masked: str

    def behind(self, count: int) -> Text:
        """The same without its first words.

        Raises:
            Refused: Nothing is left.
        """
        if count >= len(self.tokens):
            raise Refused("syntax", "The statement ends too early.", offset=self.tokens[-1].start)
        start = self.tokens[count].start
        return Text(self.tokens[count:], " " * start + self.masked[start:])


def known_functions(dialect: Dialect, knowledge: Knowledge) -> Functions:
    """The functions that may be called: those of the catalog where it is known, but never one that is not listed."""
    return knowledge.functions or listed(dialect)


def read_query(text: Text, grammar: Grammar, functions: Functions, limits: Limits) -> Verdict:
    """The verdict of a query that may run.

    Args:
        text: The query.
        grammar: Its dialect.
        functions: What it may call.
        limits: How deep and large it may be.

    Raises:
        Refused: What it broke.
    """
    check_start(text.tokens, grammar)
    check_depth(text.tokens, limits)
    check_words(text.tokens, grammar, functions)
    called = check_calls(text.tokens, grammar, functions, limits)
    check_retries(text.tokens, grammar)
    return check_tree(read_tree(text.masked, grammar), grammar, functions, called)


def explained(verdict: Verdict) -> Verdict:
    """The verdict of a plan, by that of the query."""
    return replace(verdict, kind="explain", limited=True)


def texts(tokens: Sequence[Token], count: int) -> list[str]:
    """The first words as texts; a quoted one counts as its kind."""
    return [token.text if token.kind in {"word", "symbol"} else token.kind for token in tokens[:count]]
