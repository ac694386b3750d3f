"""Every file of two real workspaces: read, written again, and changed at every place."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.servoy_workspace import sample_workspaces
from thresher.servoy import (
    REMOVED,
    Document,
    Value,
    changes_of,
    new_document,
    read_document,
    relation_of,
    relation_value,
    solution_facts,
    table_facts,
    value_list_of,
    value_list_value,
    with_changes,
)

pytestmark = pytest.mark.bench_data
KINDS = ("rel", "val", "dbi", "tbl", "obj", "frm", "mnu", "sec")
Path_ = tuple[str | int, ...]


@pytest.fixture(scope="module")
def files() -> list[Path]:
    """Yield all files in Servoy's format."""
    return sorted(file for kind in KINDS for file in sample_workspaces().rglob(f"*.{kind}"))


def of_kind(files: list[Path], *kinds: str) -> list[Path]:
    """Return files with certain suffixes."""
    return [file for file in files if file.suffix[1:] in kinds]


def test_every_file_is_written_byte_for_byte_as_it_was_read(files: list[Path]) -> None:
    """By the rules of the format and the file's layout."""
    differ = [file.name for file in files if read_document(file.read_bytes()).rendered() != file.read_bytes()]

    assert len(files) == 199
    assert differ == []


def test_every_file_is_what_a_new_file_of_its_values_would_be(files: list[Path]) -> None:
    """So new files look like those that Servoy writes."""
    documents = [(file, read_document(file.read_bytes())) for file in files]

    assert [file.name for file, one in documents if new_document(one.value, one.dialect) != file.read_bytes()] == []
    assert {one.dialect for _, one in documents} == {"classic", "json"}


def test_records_of_real_files_change_nothing_and_make_the_same_files(files: list[Path]) -> None:
    """Relations and value lists; some value lists typed on Windows have other line ends."""
    for file in of_kind(files, "rel"):
        document = read_document(file.read_bytes())
        relation = relation_of(document)
        assert (relation.name, changes_of(document, relation)) == (file.stem, {})
        assert new_document(relation_value(relation), document.dialect) == file.read_bytes()
    for file in of_kind(files, "val"):
        document = read_document(file.read_bytes())
        value_list = value_list_of(document)
        assert (value_list.name, changes_of(document, value_list)) == (file.stem, {})
        made = new_document(value_list_value(value_list, document.dialect), document.dialect)
        assert made == file.read_bytes().replace(b"\\r\\\n", b"\\\n")


def test_solutions_and_tables_of_real_workspaces_are_understood(files: list[Path]) -> None:
    """Names, modules, columns, keys."""
    facts = {
        file.parent.name: solution_facts(
            read_document(file.read_bytes()), read_document((file.parent / "solution_settings.obj").read_bytes())
        )
        for file in of_kind(files, "obj")
        if file.name == "rootmetadata.obj"
    }
    tables = [table_facts(read_document(file.read_bytes()), file.parent.name) for file in of_kind(files, "dbi")]
    held = [table_facts(read_document(file.read_bytes())) for file in of_kind(files, "tbl")]

    assert all(one.name == folder for folder, one in facts.items())
    assert facts["exampleSaveData"].modules == ("exampleDataModel", "exampleUI")
    assert facts["Example_AI_Plugin"].dialect == "json"
    orders = next(one for one in tables if one and one.name == "orders")
    assert (orders.server, [column.name for column in orders.columns][:3]) == (
        "example_data",
        ["orderid", "customerid", "employeeid"],
    )
    assert [(one.name, one.foreign_type) for one in orders.columns if one.foreign_type][:2] == [
        ("customerid", "customers"),
        ("employeeid", "employees"),
    ]
    assert [one.name for one in held if one] == ["product_aggregates"]


def paths_of(value: Value, path: Path_ = ()) -> Iterator[Path_]:
    """Yield every path in a value except the outermost."""
    if path:
        yield path
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for part, one in members:
        yield from paths_of(one, (*path, part))


def lines_changed(before: bytes, after: bytes) -> list[tuple[int, int]]:
    """Return the first and last line (exclusive, from 1) of the first text that differ from the second."""
    matcher = difflib.SequenceMatcher(None, before.split(b"\n"), after.split(b"\n"), autojunk=False)
    return [(low + 1, high + 1) for kind, low, high, *_ in matcher.get_opcodes() if kind != "equal"]


def test_a_text_changed_anywhere_changes_its_own_lines_alone(files: list[Path]) -> None:
    """Every text of every relation, value list, menu and table; every seventh of the others."""
    count = 0
    for file in files:
        data = file.read_bytes()
        document = read_document(data)
        texts = [path for path in paths_of(document.value) if isinstance(document.get(*path), str)]
        for path in texts if file.suffix in (".rel", ".val", ".mnu", ".tbl") else texts[::7]:
            after = with_changes(document, {path: 'né"w'})
            ((low, high), *more) = lines_changed(data, after)
            assert (low, more) == (document.line_of(*path), [])
            assert high - low == 1 + str(document.get(*path)).count("\n")
            count += 1

    assert count == 1215


def test_a_property_removed_and_put_back_gives_the_same_bytes(files: list[Path]) -> None:
    """Wherever it is: first, last, nested, in a list on one line."""
    count = 0
    for file in files:
        data = file.read_bytes()
        document = read_document(data)
        for path in _some(document, 11):
            value = document.get(*path)
            without = with_changes(document, {path: REMOVED})
            assert with_changes(read_document(without), {path: value}) == data
            count += 1

    assert count == 970


def _some(document: Document, step: int) -> Iterator[Path_]:
    """Return some keys of objects with several."""
    for path in list(paths_of(document.value))[::step]:
        holder = document.get(*path[:-1])
        if isinstance(holder, dict) and len(holder) > 1:
            yield path


def test_new_values_of_every_kind_at_every_fifth_place_are_what_servoy_would_write(files: list[Path]) -> None:
    """In a file that follows the rules an edit by spans is the same bytes as writing all of it anew.

    Types are left alone: they decide whether an object stands on one line.
    """
    news: list[Value] = [[], {}, {"b": [1, {"c": "\n"}], "a": None}, ["x", [True]], -0.5, "</a>\u2028"]
    for at, file in enumerate(files):
        document = read_document(file.read_bytes())
        paths = [path for path in paths_of(document.value) if path[-1] != "typeid"]
        for place, path in enumerate(paths[at % 5 :: 5][:40]):
            after = with_changes(document, {path: news[place % len(news)]})
            assert after == read_document(after).rendered()
