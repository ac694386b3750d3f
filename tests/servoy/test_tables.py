"""Solutions and column information in files."""

from __future__ import annotations

import pytest

from thresher.core import BrokenFile
from thresher.servoy import ColumnFacts, SolutionFacts, TableFacts, read_document, solution_facts, table_facts

METADATA = b'fileVersion:48,\nmustAuthenticate:false,\nname:"shop",\nsolutionType:2,\ntypeid:43,\nuuid:"A"'
DBI = b"""{
    "columns":[
        {
            "allowNull":false,
            "autoEnterType":2,
            "creationOrderIndex":1,
            "dataType":4,
            "flags":1,
            "name":"id"
        },
        {
            "creationOrderIndex":0,
            "dataType":12,
            "defaultValue":"x",
            "description":"of people",
            "foreignType":"names",
            "length":40,
            "name":"name",
            "titleText":"Name"
        }
    ],
    "hiddenInDeveloper":true,
    "name":"people",
    "tableType":1
}"""


def test_a_solution_is_what_its_two_files_say() -> None:
    """Modules in their order; without settings there are none."""
    settings = read_document(b'modulesNames:"b, a,",\ntypeid:43,\nuuid:"A"')
    facts = solution_facts(read_document(METADATA), settings)

    assert facts == SolutionFacts("shop", "A", 48, 2, ("b", "a"), "classic")
    assert solution_facts(read_document(METADATA)).modules == ()


def test_a_table_is_its_columns_in_the_order_of_their_creation() -> None:
    """No sample workspace has a file of this dialect; the notes on the format show one."""
    table = table_facts(read_document(DBI), "crm")

    name = ColumnFacts("name", 12, 40, foreign_type="names", title="Name", description="of people", default="x")
    key = ColumnFacts("id", 4, nullable=False, flags=1, auto_enter=2, index=1)
    assert table == TableFacts("crm", "people", (name, key), 1, hidden=True)
    assert [column.identifies for column in (name, key)] == [False, True]
    assert read_document(DBI).rendered() == DBI


def test_columns_without_an_order_keep_that_of_the_file() -> None:
    """Servoy writes -1 for all of them if it does not know the order."""
    data = b'columns:[\n{\ncreationOrderIndex:-1,\nname:"b"\n},\n{\ncreationOrderIndex:-1,\nname:"a"\n}\n],\nname:"t"'
    table = table_facts(read_document(data))

    assert table is not None
    assert [column.name for column in table.columns] == ["b", "a"]


@pytest.mark.parametrize(
    ("data", "table"),
    [
        (b'dataSource:"db:/s/t",\ntypeid:39', None),
        (
            b'columns:{\ncolumns:[\n{\nname:"a"\n}\n],\nname:"basket"\n},\ndataSource:"mem:basket",\ntypeid:39',
            TableFacts("", "basket", (ColumnFacts("a", 0),)),
        ),
        (b'columns:{\ncolumns:[],\nname:"basket"\n},\ntypeid:39', TableFacts("", "basket")),
    ],
    ids=["of a server", "in memory", "without a data source"],
)
def test_only_tables_in_memory_have_columns_in_their_node(data: bytes, table: TableFacts | None) -> None:
    """Server tables have them in their column information."""
    assert table_facts(read_document(data)) == table


@pytest.mark.parametrize(
    ("data", "line", "words"),
    [
        (METADATA.replace(b"43", b"22"), 5, "not a solution"),
        (METADATA.replace(b'"shop"', b"null"), 3, "name"),
        (METADATA.replace(b"48", b'"48"'), 1, "fileVersion"),
    ],
    ids=["type", "name", "version"],
)
def test_a_solution_that_means_nothing_is_refused_at_its_line(data: bytes, line: int, words: str) -> None:
    """Nothing is guessed."""
    with pytest.raises(BrokenFile, match=words) as broken:
        solution_facts(read_document(data))

    assert broken.value.line == line


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [(b'"people"', b"1", 23), (b'"name":"id"', b'"name":""', 9), (b'"flags":1', b'"flags":"x"', 8), (b"[", b"{", 2)],
    ids=["name", "column", "flags", "columns"],
)
def test_a_table_that_means_nothing_is_refused_at_its_line(old: bytes, new: bytes, line: int) -> None:
    """Also in the middle of its columns."""
    data = DBI.replace(old, new, 1)
    with pytest.raises(BrokenFile) as broken:
        table_facts(read_document(data))

    assert broken.value.line >= line
