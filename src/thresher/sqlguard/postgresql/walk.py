"""The walk through a tree: every node and every field of it is visited, or the statement is refused.

Invariant: nothing is skipped. Kinds are looked up in the list of nodes, names in the lists of names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import repeat
from typing import Any, Final

from thresher.sqlguard.postgresql.bounds import GROWING, is_growing_call
from thresher.sqlguard.postgresql.costs import MULTIPLYING, ROWS, TEXTS, StatementSizes
from thresher.sqlguard.postgresql.expansion import Expansion
from thresher.sqlguard.postgresql.grammar import DEEP, Body, Offsets, nodes_of
from thresher.sqlguard.postgresql.lookup import ASKED, Lookup
from thresher.sqlguard.postgresql.names import CATALOG, WORDS, refused_relation
from thresher.sqlguard.postgresql.nodes import KINDS, LEAVES, NODES, PLAIN, is_writing
from thresher.sqlguard.records import Functions, Rule, StatementLimits
from thresher.sqlguard.sizes import is_gathering
from thresher.sqlguard.verdicts import Refusal

_SAMPLES: Final = frozenset({"bernoulli", "system"})
_BETWEEN: Final = frozenset({"AEXPR_BETWEEN", "AEXPR_NOT_BETWEEN", "AEXPR_BETWEEN_SYM", "AEXPR_NOT_BETWEEN_SYM"})

Scope = frozenset[str]
"""Names of the WITH queries that are visible at a place."""
_Waiting = tuple[str, Body, int, int, Scope]
"""Kind, fields, depth, place in bytes, scope."""


class SyntaxWalk:
    """A walk that collects what the statement reads and calls.

    Args:
        functions: Functions of the database; None if nothing is known about it.
        limits: Bounds on depth and sizes.
        offsets: Places of the text.
    """

    def __init__(self, functions: Functions | None, limits: StatementLimits, offsets: Offsets) -> None:
        self._names = Lookup(functions, offsets)
        self._limits = limits
        self._offsets = offsets
        self._sizes = StatementSizes()
        self._fields: list[tuple[str, str, int]] = []
        self._values: set[str] = set()
        self.tables: dict[str, int] = {}
        self.functions: dict[str, int] = {}

    def read(self, kind: str, body: Body, at: int) -> None:
        """Visit everything from a node down.

        Args:
            kind: Kind of the node.
            body: Its fields.
            at: Its place in bytes.

        Raises:
            Refusal: Something in it is not allowed.
        """
        whole = body
        waiting: list[_Waiting] = [(kind, body, 1, at, frozenset())]
        while waiting:
            kind, body, depth, at, scope = waiting.pop()
            fields = KINDS.get(kind)
            if fields is None:
                raise self._unknown_kind(kind, at)
            if depth > self._limits.depth:
                raise self._refused("too_deep", "The statement is nested too deeply.", at, hint=DEEP)
            at = _place(body, at)
            look = _LOOKS.get(kind)
            if look:
                look(self, body, at, scope)
            if kind in WORDS:
                self._names.require_word(kind, body, at)
            children = self._children(kind, body, fields, at)
            if children:
                scopes = _scopes(kind, body, children, scope)
                waiting.extend(
                    [(child, below, depth + 1, at, seen) for (child, below), seen in zip(children, scopes, strict=True)]
                )
        for source, name, at in self._fields:
            if source in self._values or "" in self._values:
                self._names.require_field(name, at)
        self._sizes.check(self._limits.literal_count, self._offsets.characters)
        Expansion(whole, self._offsets.characters).check()

    def _children(self, kind: str, body: Body, fields: dict[str, str], at: int) -> list[tuple[str, Body]]:
        """Return the nodes directly below one, last first; leaves are checked on the way."""
        children: list[tuple[str, Body]] = []
        for name, value in body.items():
            holds = fields.get(name)
            if holds == PLAIN:
                continue
            if holds == NODES:
                for node in nodes_of(value):
                    for child, below in node.items():
                        if child not in LEAVES or not below.keys() <= LEAVES[child]:
                            children.append((child, below))
                        elif child == "A_Const":
                            self._sizes.numbers.append((child, below, at))
            elif holds is None:
                raise self._unknown_field(kind, name, at)
            else:
                children.append((holds, value))
        children.reverse()
        return children

    def look_at_query(self, body: Body, _at: int, _scope: Scope) -> None:
        """Note whether values are generated once or for each row."""
        self._sizes.has_rows = self._sizes.has_rows or "fromClause" in body

    def look_at_call(self, body: Body, at: int, _scope: Scope) -> None:
        """Check a function called by name."""
        parts = _strings(body["funcname"])
        name = parts[-1]
        self._names.require_function(parts, at)
        self._note(self.functions, ".".join(parts).lower(), at)
        if name in TEXTS or name in ROWS:
            self._sizes.calls.append((name, body, at))
        elif name in MULTIPLYING:
            self._sizes.products.append((name, body, at))
        self._sizes.gathers = self._sizes.gathers or is_gathering(name)
        if is_growing_call(name):
            self._sizes.numbers.append(("FuncCall", body, at))
        if name in ASKED:
            self._names.require_setting(body, at)

    def look_at_json(self, _body: Body, _at: int, _scope: Scope) -> None:
        """Note JSON_ARRAYAGG and JSON_OBJECTAGG, which are keywords and collect the values of all rows."""
        self._sizes.gathers = True

    def look_at_columns(self, body: Body, at: int, _scope: Scope) -> None:
        """Check `a.b`, which may be the function `b` of a row of table `a`, or of a value from a function in FROM."""
        source, *names = _strings(body["fields"]) or [""]
        for name in names:
            self._names.require_row_field(name, at)
        if names:
            self._fields.append((source, names[0], at))

    def look_at_source(self, body: Body, _at: int, _scope: Scope) -> None:
        """Note a function in FROM, which returns values rather than rows, under its own name or an alias."""
        alias = body.get("alias", {}).get("aliasname")
        if alias:
            self._values.add(alias)
            return
        for function in body.get("functions", ()):
            names = _strings(function["List"]["items"][0].get("FuncCall", {}).get("funcname", ()))
            self._values.add(names[-1] if names else "")

    def look_at_selection(self, body: Body, at: int, _scope: Scope) -> None:
        """Check `(a).b`, which may be the function `b` of `a`."""
        for name in _strings(body.get("indirection", ())):
            self._names.require_field(name, at)

    def look_at_relation(self, body: Body, at: int, scope: Scope) -> None:
        """Check a table, a view or a query of WITH."""
        schema, name = body.get("schemaname", ""), body["relname"]
        reason = refused_relation(schema, name)
        if reason:
            hint = "pg_get_userbyid(oid) names a role." if name in ("pg_roles", "pg_user") else ""
            raise self._refused("relation", f"{name} must not be read: {reason[0].lower()}{reason[1:]}", at, hint=hint)
        if schema or name not in scope:
            self._note(self.tables, f"{schema}.{name}" if schema else name, at)

    def look_at_operation(self, body: Body, at: int, _scope: Scope) -> None:
        """Check an operator, which calls a function."""
        if body.get("kind") in _BETWEEN:
            self._names.require_own(at, ">=", "<=")
            return
        parts = _strings(body.get("name", ()))
        self._names.require_operator(parts, at)
        if parts[-1:] and parts[-1] in GROWING:
            self._sizes.numbers.append(("A_Expr", body, at))

    def look_at_case(self, body: Body, at: int, _scope: Scope) -> None:
        """Check `CASE x WHEN y`, which calls `=`."""
        if "arg" in body:
            self._names.require_own(at, "=")

    def look_at_join(self, body: Body, at: int, _scope: Scope) -> None:
        """Check `JOIN ... USING` and `NATURAL JOIN`, which call `=`."""
        if "usingClause" in body or "isNatural" in body:
            self._names.require_own(at, "=")

    def look_at_order(self, body: Body, at: int, _scope: Scope) -> None:
        """Check `ORDER BY ... USING`, which names an operator."""
        self._names.require_operator(_strings(body.get("useOp", ())), at)

    def look_at_subquery(self, body: Body, at: int, _scope: Scope) -> None:
        """Check `x operator ANY (SELECT ...)`, `x IN (SELECT ...)`, which calls `=`, and `ARRAY(SELECT ...)`."""
        self._sizes.gathers = self._sizes.gathers or body.get("subLinkType") == "ARRAY_SUBLINK"
        if body.get("subLinkType") == "ANY_SUBLINK" and "operName" not in body:
            self._names.require_own(at, "=")
        self._names.require_operator(_strings(body.get("operName", ())), at)

    def look_at_type(self, body: Body, at: int, _scope: Scope) -> None:
        """Check a cast, which calls functions of the type."""
        parts = _strings(body.get("names", ()))
        self._names.require_type(parts, at)
        for size in body.get("typmods", ()):
            value = size.get("A_Const", {}).get("ival", {}).get("ival", 0)
            if abs(value) > self._limits.literal_count:
                raise self._refused("cost", f"A {parts[-1]} of {value:,} is longer than any answer.", at)

    def look_at_sample(self, body: Body, at: int, _scope: Scope) -> None:
        """Check the method of TABLESAMPLE, which is a function."""
        parts = _strings(body.get("method", ()))
        if parts[-1:] and (parts[-1] not in _SAMPLES or parts[:-1] not in ([], [CATALOG])):
            raise self._refused("function", f"The sampling method {'.'.join(parts)} is not built in.", at)

    def _note(self, names: dict[str, int], name: str, at: int) -> None:
        names[name] = min(at, names.get(name, at))

    def _unknown_kind(self, kind: str, at: int) -> Refusal:
        if kind == "ParamRef":
            hint = "Write the value itself."
            return self._refused("parameter", "A parameter has no value here.", at, hint=hint)
        if is_writing(kind):
            return self._refused("writes", f"{_spoken(kind)} changes the database.", at)
        return self._refused("clause", f"{_spoken(kind)} is not part of a statement that only reads.", at)

    def _unknown_field(self, kind: str, name: str, at: int) -> Refusal:
        if name == "lockingClause":
            return self._refused("locks", "FOR UPDATE and FOR SHARE lock rows.", at, hint="Leave the clause out.")
        if name == "intoClause":
            return self._refused("writes", "SELECT INTO makes a table.", at, hint="Leave INTO out.")
        return self._refused("clause", f"{name} of {_spoken(kind)} is not part of a statement that only reads.", at)

    def _refused(self, rule: Rule, reason: str, at: int, *, hint: str = "") -> Refusal:
        return Refusal(rule, reason, hint=hint, offset=self._offsets.characters(at))


_LOOKS: Final[dict[str, Callable[[SyntaxWalk, Body, int, Scope], None]]] = {
    "A_Expr": SyntaxWalk.look_at_operation,
    "A_Indirection": SyntaxWalk.look_at_selection,
    "CaseExpr": SyntaxWalk.look_at_case,
    "ColumnRef": SyntaxWalk.look_at_columns,
    "FuncCall": SyntaxWalk.look_at_call,
    "JoinExpr": SyntaxWalk.look_at_join,
    "JsonArrayAgg": SyntaxWalk.look_at_json,
    "JsonObjectAgg": SyntaxWalk.look_at_json,
    "RangeFunction": SyntaxWalk.look_at_source,
    "RangeTableSample": SyntaxWalk.look_at_sample,
    "RangeVar": SyntaxWalk.look_at_relation,
    "SelectStmt": SyntaxWalk.look_at_query,
    "SortBy": SyntaxWalk.look_at_order,
    "SubLink": SyntaxWalk.look_at_subquery,
    "TypeName": SyntaxWalk.look_at_type,
}


def _place(body: Body, at: int) -> int:
    """Return the place of a node: its own if it has one."""
    own = body.get("location", -1)
    return own if own >= 0 else at


def _strings(nodes: Sequence[Any]) -> list[str]:
    """Return the names of a dotted name."""
    return [node["String"].get("sval", "") for node in nodes if "String" in node]


def _scopes(kind: str, body: Body, children: Sequence[tuple[str, Body]], scope: Scope) -> Iterable[Scope]:
    """Return the WITH queries that each child sees: those before it, or all if WITH is recursive."""
    if kind not in ("SelectStmt", "WithClause") or (kind == "SelectStmt" and "withClause" not in body):
        return repeat(scope, len(children))
    if kind == "SelectStmt":
        inner = scope | {node["CommonTableExpr"]["ctename"] for node in body["withClause"].get("ctes", ())}
        return [scope if child == "WithClause" else inner for child, _ in children]
    names = [below["ctename"] for _, below in reversed(children)]
    is_recursive = body.get("recursive", False)
    return [scope | set(names if is_recursive else names[:index]) for index in reversed(range(len(names)))]


def _spoken(kind: str) -> str:
    """Return a kind of node as keywords: `AlterTableStmt` is ALTER TABLE."""
    words = "".join(f" {letter}" if letter.isupper() else letter for letter in kind.removesuffix("Stmt"))
    return words.replace("_", "").strip().upper()
