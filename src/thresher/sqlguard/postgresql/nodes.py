"""The kinds of nodes that a read-only statement may consist of, and their allowed fields.

Invariant: an allow-list. An unlisted kind, or a field that is set but not listed, refuses the statement, so a new
grammar adds nothing unseen. A test compares the table with the grammar's own description.
"""

from __future__ import annotations

from typing import Final

PLAIN: Final = ""
"""A field with a name, number, flag or keyword and nothing below it."""
NODES: Final = "*"
"""A field with a node or list of nodes, each naming its kind."""


def _kind(plain: str = "", nodes: str = "", /, **typed: str) -> dict[str, str]:
    """Return the fields of a kind: plain ones, those with nodes, and those whose kind the grammar fixes."""
    fields = dict.fromkeys(f"location {plain}".split(), PLAIN) | dict.fromkeys(nodes.split(), NODES)
    return fields | {field: kind for kind, names in typed.items() for field in names.split()}


KINDS: Final[dict[str, dict[str, str]]] = {
    # queries
    "SelectStmt": _kind(
        "groupDistinct limitOption op all",
        """distinctClause targetList fromClause whereClause groupClause havingClause windowClause valuesLists sortClause
        limitOffset limitCount""",
        WithClause="withClause",
        SelectStmt="larg rarg",
    ),
    "WithClause": _kind("recursive", "ctes"),
    "CommonTableExpr": _kind(
        "ctename ctematerialized",
        "aliascolnames ctequery",
        CTESearchClause="search_clause",
        CTECycleClause="cycle_clause",
    ),
    "CTESearchClause": _kind("search_breadth_first search_seq_column", "search_col_list"),
    "CTECycleClause": _kind(
        "cycle_mark_column cycle_path_column", "cycle_col_list cycle_mark_value cycle_mark_default"
    ),
    "ResTarget": _kind("name", "val"),
    "SortBy": _kind("sortby_dir sortby_nulls", "node useOp"),
    "GroupingSet": _kind("kind", "content"),
    "WindowDef": _kind("name refname frameOptions", "partitionClause orderClause startOffset endOffset"),
    # sources of rows
    "RangeVar": _kind("catalogname schemaname relname inh relpersistence", Alias="alias"),
    "RangeSubselect": _kind("lateral", "subquery", Alias="alias"),
    "RangeFunction": _kind("lateral ordinality is_rowsfrom", "functions coldeflist", Alias="alias"),
    "RangeTableFunc": _kind("lateral", "docexpr rowexpr namespaces columns", Alias="alias"),
    "RangeTableFuncCol": _kind("colname for_ordinality is_not_null", "colexpr coldefexpr", TypeName="typeName"),
    "RangeTableSample": _kind("", "relation method args repeatable"),
    "JoinExpr": _kind("jointype isNatural", "larg rarg usingClause quals", Alias="join_using_alias alias"),
    "Alias": _kind("aliasname", "colnames"),
    "ColumnDef": _kind("colname is_local", TypeName="typeName", CollateClause="collClause"),
    # expressions
    "A_Const": _kind("ival fval boolval sval bsval isnull"),
    "A_Expr": _kind("kind rexpr_list_start rexpr_list_end", "name lexpr rexpr"),
    "A_ArrayExpr": _kind("list_start list_end", "elements"),
    "A_Indirection": _kind("", "arg indirection"),
    "A_Indices": _kind("is_slice", "lidx uidx"),
    "A_Star": _kind(),
    "BoolExpr": _kind("boolop", "args"),
    "BooleanTest": _kind("booltesttype", "arg"),
    "CaseExpr": _kind("", "arg args defresult"),
    "CaseWhen": _kind("", "expr result"),
    "CoalesceExpr": _kind("", "args"),
    "CollateClause": _kind("", "arg collname"),
    "ColumnRef": _kind("", "fields"),
    "FuncCall": _kind(
        "agg_within_group agg_star agg_distinct func_variadic funcformat",
        "funcname args agg_order agg_filter",
        WindowDef="over",
    ),
    "GroupingFunc": _kind("", "args"),
    "MinMaxExpr": _kind("op", "args"),
    "NamedArgExpr": _kind("name argnumber", "arg"),
    "NullTest": _kind("nulltesttype argisrow", "arg"),
    "RowExpr": _kind("row_format", "args colnames"),
    "SQLValueFunction": _kind("op typmod"),
    "SubLink": _kind("subLinkType", "testexpr operName subselect"),
    "TypeCast": _kind("", "arg", TypeName="typeName"),
    "TypeName": _kind("typemod", "names typmods arrayBounds"),
    "XmlExpr": _kind("op name xmloption indent", "named_args arg_names args"),
    "XmlSerialize": _kind("xmloption indent", "expr", TypeName="typeName"),
    # JSON
    "JsonFormat": _kind("format_type encoding"),
    "JsonReturning": _kind("typmod", JsonFormat="format"),
    "JsonOutput": _kind("", TypeName="typeName", JsonReturning="returning"),
    "JsonValueExpr": _kind("", "raw_expr formatted_expr", JsonFormat="format"),
    "JsonKeyValue": _kind("", "key", JsonValueExpr="value"),
    "JsonArgument": _kind("name", JsonValueExpr="val"),
    "JsonBehavior": _kind("btype coerce", "expr"),
    "JsonObjectConstructor": _kind("absent_on_null unique", "exprs", JsonOutput="output"),
    "JsonArrayConstructor": _kind("absent_on_null", "exprs", JsonOutput="output"),
    "JsonArrayQueryConstructor": _kind("absent_on_null", "query", JsonOutput="output", JsonFormat="format"),
    "JsonAggConstructor": _kind("", "agg_filter agg_order", JsonOutput="output", WindowDef="over"),
    "JsonObjectAgg": _kind("absent_on_null unique", JsonAggConstructor="constructor", JsonKeyValue="arg"),
    "JsonArrayAgg": _kind("absent_on_null", JsonAggConstructor="constructor", JsonValueExpr="arg"),
    "JsonIsPredicate": _kind("item_type unique_keys", "expr", JsonFormat="format"),
    "JsonParseExpr": _kind("unique_keys", JsonValueExpr="expr", JsonOutput="output"),
    "JsonScalarExpr": _kind("", "expr", JsonOutput="output"),
    "JsonSerializeExpr": _kind("", JsonValueExpr="expr", JsonOutput="output"),
    "JsonFuncExpr": _kind(
        "op column_name wrapper quotes",
        "pathspec passing",
        JsonValueExpr="context_item",
        JsonOutput="output",
        JsonBehavior="on_empty on_error",
    ),
    "JsonTable": _kind(
        "lateral",
        "passing columns",
        JsonValueExpr="context_item",
        JsonTablePathSpec="pathspec",
        JsonBehavior="on_error",
        Alias="alias",
    ),
    "JsonTableColumn": _kind(
        "coltype name wrapper quotes",
        "columns",
        TypeName="typeName",
        JsonTablePathSpec="pathspec",
        JsonFormat="format",
        JsonBehavior="on_empty on_error",
    ),
    "JsonTablePathSpec": _kind("name name_location", "string"),
    # lists and single values
    "List": _kind("", "items"),
    "String": _kind("sval"),
    "Integer": _kind("ival"),
    "Float": _kind("fval"),
    "Boolean": _kind("boolval"),
    "BitString": _kind("bsval"),
}

LEAVES: Final = {kind: KINDS[kind].keys() for kind in ("A_Const", "A_Star", "String", "Integer", "Float", "Boolean")}
"""Kinds with nothing below them, and their fields."""

WRITES: Final = {
    f"{name}Stmt"
    for line in (
        "Insert Update Delete Merge Truncate Copy Grant GrantRole Comment SecLabel Reindex Cluster Vacuum",
        "RefreshMatView ReassignOwned Rename ImportForeignSchema Index Rule View Define CompositeType Do Call",
    )
    for name in line.split()
}
"""Statements that change data, schema or privileges, besides those recognized by the beginning of their names."""
_CHANGING: Final = ("Create", "Alter", "Drop")


def is_writing(kind: str) -> bool:
    """Return whether a kind of statement changes data, schema or privileges."""
    return kind in WRITES or kind.startswith(_CHANGING)
