"""How far the planner expands a statement: it inserts a subquery column's expression wherever the column is named.

Twenty-five nested subqueries that name a column twice make 2**25 copies, which no time-out and no limit of the server
stops. Likewise a query in WITH that is NOT MATERIALIZED is planned for each place that names it.

Invariant: an upper bound for what the statement contains; each query is visited once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias, cast

from thresher.sqlguard.postgresql.grammar import Body, nodes_of, split
from thresher.sqlguard.verdicts import Refusal

COPIES: Final = 10_000
"""Most nodes of one expression after expansion; planning them takes a few milliseconds."""
PLANS: Final = 1_000
"""Most queries planned for a statement."""
_FENCES: Final = frozenset({"limitCount", "limitOffset"})
"""Clauses that make the planner plan a query separately, so that outside it its columns stay names. ORDER BY, DISTINCT,
GROUP BY, UNION and WITH do not: conditions are moved inside them, with copies.
"""
_OUTPUT: Final = frozenset({"targetList", "fromClause", "withClause", "valuesLists", "larg", "rarg"})
_HINT: Final = "Name it less often, or add AS MATERIALIZED or OFFSET 0 to the query that makes it."

Columns: TypeAlias = list[tuple[str, float]]
"""Name and nodes of a query's columns in order; the name is empty if the server chooses it."""


@dataclass(frozen=True, slots=True)
class _QueryResult:
    """Result of a query: its columns as seen from outside, and the queries planned for it."""

    columns: Columns
    plans: float


@dataclass(frozen=True, slots=True)
class _Scope:
    """Meaning of names in a query: sources by alias, queries of WITH, and the enclosing query."""

    queries: Mapping[str, _QueryResult]
    around: _Scope | None = None
    sources: dict[str, dict[str, float]] = field(default_factory=dict[str, dict[str, float]])

    def add(self, alias: str, columns: Columns) -> None:
        """Add a source; of columns with the same name the largest counts."""
        known = self.sources.setdefault(alias, {})
        for name, size in columns:
            if name in known:  # a whole row has both
                known[f"{name}\0{len(known)}"] = min(size, known[name])
            known[name] = max(size, known.get(name, 1.0))

    def size(self, names: Sequence[str]) -> float:
        """Return the nodes that a reference stands for; without a name it is `*`."""
        scope: _Scope | None = self
        while scope is not None:
            if found := scope._own(names):
                return found
            scope = scope.around
        return 1.0

    def _own(self, names: Sequence[str]) -> float:
        if len(names) > 1 and names[-2] in self.sources:
            columns = self.sources[names[-2]]
            return columns.get(names[-1], columns.get("", 1.0)) if names[-1] else sum(columns.values()) or 1.0
        if names[-1] in self.sources and len(names) == 1:
            return sum(self.sources[names[-1]].values()) or 1.0
        found = [size for columns in self.sources.values() if (size := columns.get(names[-1], columns.get("", 0.0)))]
        return max(found, default=0.0)


class Expansion:
    """The expansion of one statement.

    Args:
        body: Fields of its SelectStmt.
        characters: Converts places in bytes to places in characters.
    """

    def __init__(self, body: Body, characters: Callable[[int], int]) -> None:
        self._characters = characters
        made = Counter(below["ctename"] for kind, below in _within(body) if kind == "CommonTableExpr")
        self._shadowed = frozenset(name for name, count in made.items() if count > 1)
        self._at = 0
        self._body = body

    def check(self) -> None:
        """Check the whole statement.

        Raises:
            Refusal: The planner would expand it too far.
        """
        self._query(self._body, _Scope({}))

    def _query(self, body: Body, around: _Scope) -> _QueryResult:
        scope = _Scope({**around.queries}, around)
        plans = 1.0
        for cte, references in _with_references(body):
            plans += self._with(cte, scope, references)
        if body.get("op", "SETOP_NONE") != "SETOP_NONE":
            made = self._combined(body, scope)
        else:
            for source in body.get("fromClause", ()):
                plans += self._source(source, scope)
            columns, below = self._columns(body, scope)
            made = _QueryResult(columns, below)
        plans += made.plans
        others = [value for name, value in body.items() if name not in _OUTPUT]
        plans += sum(self._measured(value, scope)[1] for value in others)
        if plans > PLANS:
            raise self._refused(f"More than {PLANS:,} queries would be planned for it.")
        return _QueryResult([(name, 1.0) for name, _ in made.columns] if _FENCES & body.keys() else made.columns, plans)

    def _with(self, cte: Body, scope: _Scope, references: int) -> float:
        """Add a query of WITH to the scope and return how many queries are planned for it here."""
        name, inner = cte["ctename"], split(cte["ctequery"])[1]
        queries = cast("dict[str, _QueryResult]", scope.queries)
        queries.pop(name, None)  # inside it the name is a table, or the query itself if it is recursive
        made = self._query(inner, scope)
        how = cte.get("ctematerialized", "CTEMaterializeDefault")
        is_copied = how == "CTEMaterializeNever"
        is_fence = how == "CTEMaterializeAlways" or (how == "CTEMaterializeDefault" and references > 1)
        columns = (
            [(column, 1.0) for column, _ in made.columns] if is_fence and name not in self._shadowed else made.columns
        )
        queries[name] = _QueryResult(_renamed(columns, cte.get("aliascolnames", ())), made.plans if is_copied else 0.0)
        return 0.0 if is_copied else made.plans

    def _combined(self, body: Body, scope: _Scope) -> _QueryResult:
        left, right = self._query(body["larg"], scope), self._query(body["rarg"], scope)
        pairs = zip(left.columns, right.columns, strict=False)
        columns = [(name, max(size, other)) for (name, size), (_, other) in pairs]
        return _QueryResult(columns, left.plans + right.plans)

    def _source(self, source: Body, scope: _Scope) -> float:
        kind, body = split(source)
        alias = body.get("alias", {})
        if kind == "RangeVar":
            made = None if "schemaname" in body else scope.queries.get(body["relname"])
            if made is None:
                return 0.0
            scope.add(alias.get("aliasname", body["relname"]), _renamed(made.columns, alias.get("colnames", ())))
            return made.plans
        if kind == "RangeSubselect":
            made = self._query(split(body["subquery"])[1], scope)
            scope.add(alias.get("aliasname", ""), _renamed(made.columns, alias.get("colnames", ())))
            return made.plans
        if kind == "JoinExpr":
            inner = _Scope(scope.queries, scope)
            plans = self._source(body["larg"], inner) + self._source(body["rarg"], inner)
            plans += self._measured(body.get("quals"), inner)[1]
            for name, columns in inner.sources.items():
                scope.add(name, list(columns.items()))
            if alias:
                merged = [column for columns in inner.sources.values() for column in columns.items()]
                scope.add(alias["aliasname"], [*merged, ("", max((size for _, size in merged), default=1.0))])
            return plans
        return self._measured(source, scope)[1]

    def _columns(self, body: Body, scope: _Scope) -> tuple[Columns, float]:
        columns: Columns = []
        plans = 0.0
        for target in body.get("targetList", ()):
            result = target["ResTarget"]
            self._at = result.get("location", self._at)
            names = _names(result.get("val", {}))
            if names and not names[-1]:
                wanted = scope.sources.values() if len(names) == 1 else [scope.sources.get(names[-2], {})]
                columns += [column for source in wanted for column in source.items()]
                continue
            size, below = self._measured(result.get("val"), scope)
            columns.append((result.get("name") or (names[-1] if names else ""), size))
            plans += below
        for row in body.get("valuesLists", ()):
            for number, value in enumerate(row["List"]["items"], 1):
                size, below = self._measured(value, scope)
                columns.append((f"column{number}", size))
                plans += below
        return columns, plans

    def _measured(self, value: object, scope: _Scope) -> tuple[float, float]:
        """Return the nodes of an expression and the queries planned for it.

        Raises:
            Refusal: There are too many.
        """
        size = plans = 0.0
        waiting = [(value, 1.0)]
        while waiting and size <= COPIES:
            one, copies = waiting.pop()
            if isinstance(one, list):
                waiting += [(each, copies) for each in cast("list[object]", one)]
                continue
            for kind, below in cast("Body", one).items() if isinstance(one, dict) else ():
                if kind == "ColumnRef":
                    size += copies * scope.size(_names({kind: below}))
                elif kind == "SelectStmt":
                    made = self._query(below, scope)
                    size += copies * max((columns for _, columns in made.columns), default=1.0)
                    plans += copies * made.plans
                elif kind == "lexpr":
                    waiting.append((cast("object", below), copies * _copies_of_left(cast("Body", one))))
                elif isinstance(below, dict | list):
                    size += copies * kind[:1].isupper()
                    waiting.append((cast("object", below), copies))
        if size > COPIES:
            raise self._refused(f"The planner would expand this expression to more than {COPIES:,} parts.")
        return max(1.0, size), plans

    def _refused(self, reason: str) -> Refusal:
        return Refusal("cost", reason, hint=_HINT, offset=self._characters(self._at))


def _with_references(body: Body) -> Iterator[tuple[Body, int]]:
    """Yield the queries of WITH, each with how often it is named where its name means it: below it, not inside it."""
    made = [cte["CommonTableExpr"] for cte in body.get("withClause", {}).get("ctes", ())]
    if not made:
        return
    named = _tables({key: value for key, value in body.items() if key != "withClause"})
    counts: list[int] = []
    for cte in reversed(made):
        counts.append(named[cte["ctename"]])
        named += _tables({"ctequery": cte["ctequery"]})
    yield from zip(made, reversed(counts), strict=True)


def _tables(body: Body) -> Counter[str]:
    return Counter(
        below["relname"] for kind, below in _within(body) if kind == "RangeVar" and "schemaname" not in below
    )


def _copies_of_left(comparison: Body) -> int:
    """Return how often the parser writes the left side of a comparison: for each bound, or each item of a list."""
    kind = str(comparison.get("kind", ""))
    if kind.startswith(("AEXPR_BETWEEN", "AEXPR_NOT_BETWEEN")):
        return 4 if kind.endswith("_SYM") else 2
    if kind == "AEXPR_IN":  # constants become one array
        items = comparison.get("rexpr", {}).get("List", {}).get("items", ())
        if "RowExpr" in comparison["lexpr"]:
            return max(1, len(items))
        return 1 + sum(any(below == "ColumnRef" for below, _ in _within(item)) for item in items)
    return 1


def _within(body: Body) -> Iterator[tuple[str, Body]]:
    """Yield every node below a body with its kind."""
    waiting = [body]
    while waiting:
        for kind, below in waiting.pop().items():
            nodes = nodes_of(below)
            if kind[:1].isupper() and isinstance(below, dict):
                yield kind, nodes[0]
            waiting += nodes


def _names(node: Body) -> list[str]:
    """Return the parts of a column reference, the last one empty for `*`; none for anything else."""
    fields = node.get("ColumnRef", {}).get("fields", ())
    return [part["String"].get("sval", "") if "String" in part else "" for part in fields]


def _renamed(columns: Columns, names: Sequence[Body]) -> Columns:
    """Return columns under the names that an alias gives them."""
    given = [name["String"].get("sval", "") for name in names]
    return [(given[at] if at < len(given) else name, size) for at, (name, size) in enumerate(columns)]
