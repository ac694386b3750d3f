"""Solutions and tables: what their files say.

Invariant: read only; this product writes neither.
"""

from __future__ import annotations

from thresher.servoy.documents import Document
from thresher.servoy.names import datasource
from thresher.servoy.properties import Properties, object_of
from thresher.servoy.records import SOLUTION_TYPE, ColumnFacts, SolutionFacts, TableFacts

TABLE_NODE_TYPE = 39


def solution_facts(rootmetadata: Document, settings: Document | None = None) -> SolutionFacts:
    """What `rootmetadata.obj` and `solution_settings.obj` say.

    Raises:
        BrokenFile: One of them cannot be understood.
    """
    properties = object_of(rootmetadata, SOLUTION_TYPE, "solution")
    modules = "" if settings is None else object_of(settings, SOLUTION_TYPE, "solution").text("modulesNames")
    return SolutionFacts(
        name=properties.text("name", needed=True),
        uuid=properties.text("uuid"),
        file_version=properties.number("fileVersion"),
        solution_type=properties.number("solutionType", 1),
        modules=tuple(name for part in modules.split(",") if (name := part.strip())),
        dialect=rootmetadata.dialect,
    )


def table_facts(document: Document, server: str = "") -> TableFacts | None:
    """What a `.dbi` file, or the `.tbl` file of an in-memory table, says of columns; None where it holds none.

    Args:
        document: The file.
        server: Name of the folder that a `.dbi` file stands in.

    Raises:
        BrokenFile: It cannot be understood.
    """
    outermost = Properties(document)
    held = outermost.get("columns")
    if isinstance(held, dict):
        properties = Properties(document, "columns")
        name = _in_memory(outermost) or properties.text("name", needed=True)
    elif outermost.number("typeid") == TABLE_NODE_TYPE:
        return None
    else:
        properties = outermost
        name = properties.text("name", needed=True)
    columns = [_column(one) for one in properties.objects("columns")]
    return TableFacts(
        server=server,
        name=name,
        columns=tuple(sorted(columns, key=lambda column: column.index)),
        kind=properties.number("tableType"),
        hidden=properties.truth("hiddenInDeveloper"),
    )


def _in_memory(properties: Properties) -> str:
    text = properties.text("dataSource")
    return datasource(text).table if text else ""


def _column(properties: Properties) -> ColumnFacts:
    return ColumnFacts(
        name=properties.text("name", needed=True),
        data_type=properties.number("dataType"),
        length=properties.number("length"),
        scale=properties.number("scale"),
        nullable=properties.truth("allowNull", default=True),
        flags=properties.number("flags"),
        foreign_type=properties.text("foreignType"),
        title=properties.text("titleText"),
        description=properties.text("description"),
        default=properties.text("defaultValue"),
        auto_enter=properties.number("autoEnterType"),
        index=properties.number("creationOrderIndex"),
    )
