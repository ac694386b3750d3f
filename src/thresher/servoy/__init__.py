"""Servoy's workspace files as text: reading, minimal changes, the records in them, and names that are legal.

Invariant: pure; what was read is written back byte for byte, and a change touches only the lines that it must.

Uses: core.
"""

from thresher.servoy.records import (
    RELATION_ITEM_TYPE,
    RELATION_TYPE,
    SOLUTION_TYPE,
    VALUE_LIST_TYPE,
    ColumnFacts,
    CustomValue,
    Dialect,
    Encapsulation,
    JoinType,
    Operator,
    Relation,
    RelationItem,
    SolutionFacts,
    TableFacts,
    ValueList,
    ValueListKind,
    ValueType,
)

__all__ = [
    "RELATION_ITEM_TYPE",
    "RELATION_TYPE",
    "SOLUTION_TYPE",
    "VALUE_LIST_TYPE",
    "ColumnFacts",
    "CustomValue",
    "Dialect",
    "Encapsulation",
    "JoinType",
    "Operator",
    "Relation",
    "RelationItem",
    "SolutionFacts",
    "TableFacts",
    "ValueList",
    "ValueListKind",
    "ValueType",
]
