"""Servoy's workspace files as text: reading them, minimal changes, the records in them, and legal names.

Invariant: pure; what was read is written back byte for byte, and a change touches only the lines that it must.

Uses: core.
"""

from thresher.servoy.documents import LARGEST, Document, Path, new_document, read_document
from thresher.servoy.edits import REMOVED, Changes, RemovedMark, with_changes
from thresher.servoy.layout import Number, Value
from thresher.servoy.names import DataSource, DataSourceKind, checked_name, datasource, is_uuid, new_uuid
from thresher.servoy.properties import (
    VALUE_TYPE_WORDS,
    VALUE_TYPES,
    operator_number,
    operator_of,
    solution_facts,
    table_facts,
)
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
from thresher.servoy.relations import relation_of, relation_value
from thresher.servoy.value_lists import (
    changed,
    changes_of,
    custom_values,
    custom_values_text,
    value_list_of,
    value_list_value,
)

__all__ = [
    "LARGEST",
    "RELATION_ITEM_TYPE",
    "RELATION_TYPE",
    "REMOVED",
    "SOLUTION_TYPE",
    "VALUE_LIST_TYPE",
    "VALUE_TYPES",
    "VALUE_TYPE_WORDS",
    "Changes",
    "ColumnFacts",
    "CustomValue",
    "DataSource",
    "DataSourceKind",
    "Dialect",
    "Document",
    "Encapsulation",
    "JoinType",
    "Number",
    "Operator",
    "Path",
    "Relation",
    "RelationItem",
    "RemovedMark",
    "SolutionFacts",
    "TableFacts",
    "Value",
    "ValueList",
    "ValueListKind",
    "ValueType",
    "changed",
    "changes_of",
    "checked_name",
    "custom_values",
    "custom_values_text",
    "datasource",
    "is_uuid",
    "new_document",
    "new_uuid",
    "operator_number",
    "operator_of",
    "read_document",
    "relation_of",
    "relation_value",
    "solution_facts",
    "table_facts",
    "value_list_of",
    "value_list_value",
    "with_changes",
]
