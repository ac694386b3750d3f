"""Reads a statement without the engine's own grammar: first by its words, then by sqlglot's tree of it.

Invariant: both readings must agree that it only reads; the words are split as the engine splits them, so that sqlglot
cannot be led to see another statement. Every part of every node is visited, and an unlisted class or part is refused,
so that a newer sqlglot cannot add one unseen. Functions are checked by name before, wherever a parenthesis opens.
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
from thresher.sqlguard.records import Dialect, Functions, Knowledge, StatementLimits, Verdict
from thresher.sqlguard.tokens import Token
from thresher.sqlguard.verdicts import Refusal

_HINT: Final = "Only statements that read may run here."

logging.getLogger("sqlglot").setLevel(logging.ERROR)  # its warnings quote statements, which may contain personal data


def _classes(names: str) -> frozenset[type[exp.Expr]]:
    """Return classes by name."""
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
"""Nodes that may have only these parts: the others lock, store, or belong to dialects that are not read here."""

_SCALARS: Final = frozenset({str, int, float, bool, exp.DType})

QUERIES: Final = _classes("Select Union Except Intersect Subquery Values")
"""What may stand in brackets as a query."""

_TRIES: Final = 3
"""How often sqlglot may read a bracket after a type's name: as type, literal and call."""
_MOST_READ: Final = 300_000
"""Words that it may read, counted as often as it may read them: about a second."""

UNCALLED: Final = _classes(
    "NextValueFor ReadCSV ReadParquet AnonymousAggFunc CombinedAggFunc CombinedParameterizedAgg"
    " ParameterizedAgg PropertyEQ Predict MLForecast MLTranslate GenerateEmbedding VectorSearch AIClassify"
)
"""Functions in sqlglot's tree that compute nothing."""


def read_tree(text: str, grammar: Grammar) -> exp.Expr:
    """Return the tree of one statement.

    Args:
        text: What `read_tokens` returned for sqlglot.
        grammar: The dialect.

    Raises:
        Refusal: There is no tree or more than one.
    """
    dialect = _dialect(grammar.tree)
    try:
        trees = [tree for tree in dialect.parser().parse(dialect.tokenize(text), text) if tree is not None]
    except SqlglotError as error:
        raise _unparsed(error, text) from None
    if len(trees) != 1:
        raise Refusal("several_statements", "There is more than one statement.", hint="Send them one by one.")
    return trees[0]


def check_retries(tokens: Sequence[Token], grammar: Grammar) -> None:
    """Refuse what sqlglot would read repeatedly: twice for each level of `date(date(date(...)))`.

    Args:
        tokens: The statement, with matching brackets.
        grammar: The dialect.

    Raises:
        Refusal: `too_deep`.
    """
    types = _types(grammar.tree)
    weights = [1]
    read = 0
    for index, token in enumerate(tokens):
        if token.keyword == "(":
            typed = index > 0 and tokens[index - 1].text.upper() in types
            weights.append(weights[-1] * _TRIES if typed else weights[-1])
        elif token.keyword == ")":
            weights.pop()
        read += weights[-1]
        if read > _MOST_READ:
            hint = "Use fewer nested conversions."
            raise Refusal("too_deep", "The statement is nested too deeply.", hint=hint, offset=token.start)


@functools.cache
def _types(name: str) -> frozenset[str]:
    """Return the words that sqlglot may take for a type."""
    dialect = _dialect(name)
    kinds = type(dialect).parser_class.TYPE_TOKENS
    return frozenset(word for word, kind in dialect.tokenizer_class.KEYWORDS.items() if kind in kinds)


@functools.cache
def _dialect(name: str) -> TreeDialect:
    """Return sqlglot's dialect."""
    return TreeDialect.get_or_raise(name)


def _unparsed(error: SqlglotError, text: str) -> Refusal:
    """Return where sqlglot gave up."""
    details: list[dict[str, Any]] = getattr(error, "errors", [])
    if not details or not details[0].get("line"):
        return Refusal("syntax", "The statement cannot be read.")
    detail = details[0]
    lines = text.split("\n")
    word = str(detail.get("highlight") or "")
    offset = sum(len(line) + 1 for line in lines[: detail["line"] - 1]) + max(detail["col"] - len(word), 0)
    return Refusal("syntax", "The statement cannot be read from here on.", offset=offset, text=word)


def check_tree(root: exp.Expr, grammar: Grammar, functions: Functions, called: tuple[str, ...]) -> Verdict:
    """Check every node and every relation of a statement.

    Args:
        root: Its tree.
        grammar: The dialect.
        functions: Functions that it may call.
        called: Functions that it calls, already checked.

    Returns:
        The verdict for a read-only statement.

    Raises:
        Refusal: A node, part or relation is not on the lists.
    """
    if type(root) not in ROOTS:
        raise Refusal("statement", f"{_name(root)} is not allowed.", hint=_HINT, kind=_name(root))
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
    """Refuse names that could be calls: qualified by something other than a relation, or named like a user function.

    Raises:
        Refusal: `function`.
    """
    relations = {alias.name.upper() for alias in root.find_all(exp.TableAlias)}
    relations |= {table.name.upper() for table in root.find_all(exp.Table)}
    for node in root.find_all(exp.Column, exp.Dot):
        if isinstance(node, exp.Dot) and isinstance(node.expression, exp.Func):
            continue  # a call, whose name is already checked
        qualifier = node.table if isinstance(node, exp.Column) else "."
        unknown = qualifier and qualifier.upper() not in relations
        if unknown or (not qualifier and node.name.lower() in functions.fields):
            raise _refused(node, "function", f"{node.name[:60]} could be a function called without parentheses.")


def _check_query(node: exp.Expr) -> None:
    """Refuse brackets without a query or joined tables: `(SHUTDOWN)` is not a table for any engine.

    Raises:
        Refusal: With what the brackets contain.
    """
    inner = node.this
    joined = isinstance(node, exp.Subquery) and isinstance(inner, exp.Table) and inner.args.get("joins")
    values = isinstance(inner, exp.Anonymous) and inner.name.upper() == "VALUES"
    if type(inner) not in QUERIES and not joined and not values:
        raise _refused(node, "syntax", "These brackets contain no query.")


def _nodes(root: exp.Expr) -> Iterator[exp.Expr]:
    """Yield every node of a tree, checked, the statement itself first."""
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
                reason = f"{key.rstrip('_')} of {_name(node)} is not on the list of parts that only read."
                raise _refused(node, rule, reason)
            if isinstance(value, exp.Expr):
                waiting.append(value)
            elif type(value) not in _SCALARS:
                waiting.extend(_values(node, value))


def _values(node: exp.Expr, value: Any) -> Iterator[exp.Expr]:
    """Yield the nodes in a part."""
    for item in cast("list[Any]", value) if isinstance(value, list) else [value]:
        if isinstance(item, exp.Expr):
            yield item
        elif isinstance(item, list):
            yield from _values(node, item)
        elif item is not None and type(item) not in _SCALARS:
            raise _refused(node, "clause", f"{_name(node)} has a part that cannot be read.")


def _parts(node: exp.Expr) -> frozenset[str] | None:
    """Return the parts that a node may have; None for any.

    Raises:
        Refusal: The node is not allowed.
    """
    kind = type(node)
    if kind in PARTS:
        if isinstance(node, exp.DataType) and node.this == exp.DType.USERDEFINED:
            raise _refused(node, "type", "A type is not built in.")
        return PARTS[kind]
    if kind in PLAIN or (issubclass(kind, exp.Func) and kind not in UNCALLED):
        return None
    raise _refused(node, "clause", f"{_name(node)} is not allowed in a statement that only reads.")


def _refused(node: exp.Expr, rule: Any, reason: str) -> Refusal:
    """Return a refusal at the node's first word."""
    offset = next((found.meta["start"] for found in node.walk() if "start" in found.meta), None)
    return Refusal(rule, reason, hint=_HINT, offset=offset)


def _name(node: exp.Expr) -> str:
    """Return a node's name for messages."""
    return type(node).__name__.lower()


def _relation(table: exp.Table, grammar: Grammar) -> list[str]:
    """Return the name of a relation; none for a function.

    Raises:
        Refusal: It must not be read.
    """
    if isinstance(table.this, exp.Func):
        return []
    parts = tuple(part.name for part in table.parts)
    reason = grammar.relation(tuple(fold(part) for part in parts))
    if reason:
        raise Refusal(
            "relation", reason, hint="Query the tables with the data.", offset=_start(table), text=".".join(parts)
        )
    return [".".join(parts)]


def _start(node: exp.Expr) -> int | None:
    """Return the characters before a node."""
    return next((found.meta["start"] for found in node.walk() if "start" in found.meta), None)


def fold(name: str) -> str:
    """Return a name as the most lenient collation compares it: without case, accents and look-alikes."""
    if name.isascii():
        return name.lower().rstrip()
    plain = unicodedata.normalize("NFKD", name)
    return "".join(letter for letter in plain if not unicodedata.combining(letter)).casefold().rstrip()


@dataclass(frozen=True, slots=True)
class StatementText:
    """A statement as words.

    Attributes:
        tokens: Its words; at least one.
        masked: The text for sqlglot, as long as the original.
    """

    tokens: Sequence[Token]
    masked: str

    def behind(self, count: int) -> StatementText:
        """Return it without its first words.

        Raises:
            Refusal: Nothing is left.
        """
        if count >= len(self.tokens):
            raise Refusal("syntax", "The statement ends too early.", offset=self.tokens[-1].start)
        start = self.tokens[count].start
        return StatementText(self.tokens[count:], " " * start + self.masked[start:])


def known_functions(dialect: Dialect, knowledge: Knowledge) -> Functions:
    """Return the functions that may be called: those of the catalog if known, else the shipped list."""
    return knowledge.functions or listed(dialect)


def read_query(text: StatementText, grammar: Grammar, functions: Functions, limits: StatementLimits) -> Verdict:
    """Return the verdict for a query.

    Args:
        text: The query.
        grammar: Its dialect.
        functions: Functions that it may call.
        limits: Bounds on depth and sizes.

    Raises:
        Refusal: The query breaks a rule.
    """
    check_start(text.tokens, grammar)
    check_depth(text.tokens, limits)
    check_words(text.tokens, grammar, functions)
    called = check_calls(text.tokens, grammar, functions, limits)
    check_retries(text.tokens, grammar)
    return check_tree(read_tree(text.masked, grammar), grammar, functions, called)


def explained(verdict: Verdict) -> Verdict:
    """Return the verdict for a plan, given that for its query."""
    return replace(verdict, kind="explain", limited=True)


def texts(tokens: Sequence[Token], count: int) -> list[str]:
    """Return the first words as text; a quoted one as its kind."""
    return [token.text if token.kind in {"word", "symbol"} else token.kind for token in tokens[:count]]
