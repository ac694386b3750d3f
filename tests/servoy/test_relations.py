"""Relations in files: read, written, changed."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

from thresher.core import BrokenFile
from thresher.servoy import (
    REMOVED,
    Dialect,
    Relation,
    RelationItem,
    changed,
    changes_of,
    new_document,
    read_document,
    relation_of,
    relation_value,
)

FULL = Relation(
    name="authors_to_books",
    primary_datasource="db:/shop/authors",
    foreign_datasource="db:/shop/books",
    items=(
        RelationItem("author_id", "author_id", uuid="B0000000-0000-4000-8000-000000000000"),
        RelationItem("LITERAL:1", "in_print", ">=", or_null=True, ignore_case=True, remove_when_null=True, uuid="C"),
    ),
    join_type="inner",
    allow_creation=True,
    allow_parent_delete=False,
    delete_related=True,
    duplicate_related=True,
    initial_sort="title asc",
    encapsulation="module",
    deprecated="use the other",
    comment='of "ours"\nand theirs',
    uuid="A",
)
PLAIN = Relation("a_to_b", "db:/s/a", "mem:b", (RelationItem("x", "y"),))
DIALECTS: tuple[Dialect, ...] = ("classic", "json")

CLASSIC = b"""allowCreationRelatedRecords:true,
foreignDataSource:"db:/shop/books",
items:[
{foreignColumnName:"in_print",primaryDataProviderID:"LITERAL:1",typeid:23,uuid:"B",zNew:true},
{foreignColumnName:"author_id",primaryDataProviderID:"author_id",typeid:23,uuid:"D"}
],
joinType:1,
name:"authors_to_books",
primaryDataSource:"db:/shop/authors",
someday:"new",
typeid:22,
uuid:"A"
"""
LAST_ITEM = b',\n{foreignColumnName:"author_id",primaryDataProviderID:"author_id",typeid:23,uuid:"D"}'


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_relation_with_every_property_is_written_and_read_again(dialect: Dialect) -> None:
    """Nothing is lost, nothing is added."""
    document = read_document(new_document(relation_value(FULL), dialect))

    assert relation_of(document) == FULL
    assert changes_of(document, FULL) == {}


def test_only_what_differs_from_the_default_is_written() -> None:
    """A left outer join is written, since an inner one is the default; UUIDs that are missing are made."""
    uuids = map("U{}".format, itertools.count())
    value = relation_value(PLAIN, lambda: next(uuids))

    assert value == {
        "foreignDataSource": "mem:b",
        "items": [{"foreignColumnName": "y", "primaryDataProviderID": "x", "typeid": 23, "uuid": "U1"}],
        "joinType": 1,
        "name": "a_to_b",
        "primaryDataSource": "db:/s/a",
        "typeid": 22,
        "uuid": "U0",
    }
    assert "joinType" not in relation_value(replace(PLAIN, join_type="inner"))
    assert "items" not in relation_value(replace(PLAIN, items=()))


def test_items_of_a_new_relation_are_sorted_by_their_uuid() -> None:
    """As Servoy sorts them."""
    items = tuple(RelationItem("x", "y", uuid=uuid) for uuid in "CAB")
    value = relation_value(replace(PLAIN, items=items))

    assert [item["uuid"] for item in value["items"]] == ["A", "B", "C"]  # type: ignore[index, call-overload, union-attr]


@pytest.mark.parametrize(
    ("changes", "old", "new"),
    [
        ({"name": "other"}, b'name:"authors_to_books"', b'name:"other"'),
        ({"allow_creation": False}, b"allowCreationRelatedRecords:true,\n", b""),
        ({"allow_parent_delete": False}, b"foreign", b"allowParentDeleteWhenHavingRelatedRecords:false,\nforeign"),
        ({"join_type": "inner"}, b"joinType:1,\n", b""),
        ({"join_type": "full"}, b"joinType:1", b"joinType:3"),
        ({"comment": "why\nnot"}, b"foreign", b'comment:"why\\\nnot",\nforeign'),
        ({"encapsulation": "hidden"}, b"foreign", b"encapsulation:1,\nforeign"),
        ({"uuid": "Z"}, b'22,\nuuid:"A"', b'22,\nuuid:"Z"'),
        ({"uuid": ""}, b"", b""),
        ({"items": ()}, CLASSIC[CLASSIC.index(b"items") : CLASSIC.index(b"joinType")], b""),
    ],
    ids=lambda value: "".join(value) if isinstance(value, dict) else "",
)
def test_a_change_writes_the_property_that_it_means(changes: dict[str, object], old: bytes, new: bytes) -> None:
    """Properties that are not known here stay where they are."""
    document = read_document(CLASSIC)
    relation = replace(relation_of(document), **changes)  # type: ignore[arg-type]

    assert changed(document, relation, lambda: "NEW") == CLASSIC.replace(old, new, 1)


@pytest.mark.parametrize(
    ("items", "old", "new"),
    [
        ((RelationItem("LITERAL:1", "in_print"), RelationItem("author_id", "author_id")), b"", b""),
        ((RelationItem("author_id", "author_id"), RelationItem("LITERAL:1", "in_print")), b"", b""),
        (
            (RelationItem("LITERAL:2", "in_print"), RelationItem("author_id", "author_id")),
            b"LITERAL:1",
            b"LITERAL:2",
        ),
        (
            (RelationItem("LITERAL:1", "in_print", "!="), RelationItem("author_id", "author_id")),
            b'"in_print",',
            b'"in_print",operator:5,',
        ),
        ((RelationItem("LITERAL:1", "in_print"),), LAST_ITEM, b""),
        (
            (RelationItem("author_id", "other", uuid="D"), RelationItem("LITERAL:1", "in_print", uuid="B")),
            b'"author_id",primary',
            b'"other",primary',
        ),
        (
            (
                RelationItem("LITERAL:1", "in_print"),
                RelationItem("author_id", "author_id"),
                RelationItem("a", "b", uuid="C"),
            ),
            b"true},\n",
            b'true},\n{foreignColumnName:"b",primaryDataProviderID:"a",typeid:23,uuid:"C"},\n',
        ),
    ],
    ids=["same", "other order", "other left side", "operator", "one less", "by uuid", "one more"],
)
def test_items_keep_their_uuid_and_what_else_stands_in_them(
    items: tuple[RelationItem, ...], old: bytes, new: bytes
) -> None:
    """They are known again by UUID, else by their columns, else by one of these."""
    document = read_document(CLASSIC)

    assert changed(document, replace(relation_of(document), items=items), lambda: "NEW") == CLASSIC.replace(old, new, 1)


def test_an_item_that_is_new_gets_a_uuid_of_its_own() -> None:
    """Also where there was none at all."""
    document = read_document(b'name:"a",\ntypeid:22,\nuuid:"A"')
    after = changed(document, replace(PLAIN, name="a", join_type="inner"), lambda: "NEW")

    assert relation_of(read_document(after)).items == (RelationItem("x", "y", uuid="NEW"),)
    assert changes_of(document, Relation("b", "", "", join_type="inner")) == {("name",): "b"}
    assert changes_of(read_document(after), Relation("a", "db:/s/a", "mem:b", join_type="inner")) == {
        ("items",): REMOVED
    }


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        (b"typeid:22", b"typeid:34", 11, "is not a relation"),
        (b'name:"authors_to_books"', b"name:7", 8, "name must be a text"),
        (b'name:"authors_to_books"', b'name:""', 8, "name must be a text"),
        (b'name:"authors_to_books",\n', b"", 1, "name must be a text"),
        (b"joinType:1", b"joinType:4", 7, "joinType is 4"),
        (b"joinType:1", b'joinType:"1"', 7, "whole number"),
        (b"joinType:1", b"joinType:true", 7, "whole number"),
        (b"Records:true", b"Records:1", 1, "true or false"),
        (b'typeid:23,uuid:"D"', b"operator:77", 5, "operator is 77"),
        (CLASSIC[CLASSIC.index(b"[") : CLASSIC.index(b"]") + 1], b"{}", 3, "must be a list"),
        (CLASSIC[CLASSIC.index(b"[") : CLASSIC.index(b"]") + 1], b"[1]", 3, "object is missing"),
        (CLASSIC, b"[]", 1, "object is missing"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_relation_that_means_nothing_is_refused_at_its_line(old: bytes, new: bytes, line: int, words: str) -> None:
    """Nothing is taken for something else."""
    document = read_document(CLASSIC.replace(old, new, 1))
    with pytest.raises(BrokenFile) as broken:
        relation_of(document)

    assert words in broken.value.message
    assert (broken.value.line, broken.value.column > 0) == (line, True)
