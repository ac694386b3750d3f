"""Value lists in files: every kind, read, written, changed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from thresher.core import BrokenFile, InvalidInput
from thresher.servoy import (
    CustomValue,
    Dialect,
    Value,
    ValueList,
    changed,
    changes_of,
    custom_values,
    custom_values_text,
    new_document,
    read_document,
    value_list_of,
    value_list_value,
)

DIALECTS: tuple[Dialect, ...] = ("classic", "json")
CUSTOM = ValueList("stars", "custom", (CustomValue("One", "1"), CustomValue("Two", "2")), uuid="A")
TABLE = ValueList(
    "books",
    "table",
    datasource="db:/shop/books",
    columns=("title", "price", "book_id"),
    display=(0, 1),
    returns=(2,),
    separator=" - ",
    sort="title asc",
    use_table_filter=True,
    add_empty="always",
    display_type="text",
    real_type="integer",
    fallback="F",
    lazy_loading=False,
    encapsulation="module",
    deprecated="old",
    comment="c",
    uuid="B",
)
RELATED = ValueList(
    "mine", "related", relation="a_to_b.b_to_c", columns=("name",), display=(0,), returns=(0,), uuid="C"
)
METHOD = ValueList("years", "global method", method="2C4BDC94-426B-4830-9B9A-6B5DB9C8A74B", uuid="D")
EMPTY = ValueList("nothing", "custom", real_type="datetime", display_type="number", uuid="E")


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("value_list", [CUSTOM, TABLE, RELATED, METHOD, EMPTY], ids=lambda one: one.name)
def test_every_kind_is_written_and_read_again(value_list: ValueList, dialect: Dialect) -> None:
    """Nothing is lost, nothing is added."""
    document = read_document(new_document(value_list_value(value_list, dialect), dialect))

    assert value_list_of(document) == value_list
    assert changes_of(document, value_list) == {}


@pytest.mark.parametrize(
    ("value_list", "value"),
    [
        (CUSTOM, {"addEmptyValue": 1, "customValues": "One|1\nTwo|2", "name": "stars"}),
        (METHOD, {"addEmptyValue": 1, "customValues": METHOD.method, "name": "years", "valueListType": 4}),
        (
            RELATED,
            {
                "addEmptyValue": 1,
                "dataProviderID1": "name",
                "name": "mine",
                "relationName": "a_to_b.b_to_c",
                "returnDataProviders": 1,
                "showDataProviders": 1,
                "valueListType": 1,
            },
        ),
        (
            replace(TABLE, lazy_loading=None, deprecated="", comment="", encapsulation="public", fallback=""),
            {
                "dataProviderID1": "title",
                "dataProviderID2": "price",
                "dataProviderID3": "book_id",
                "dataSource": "db:/shop/books",
                "displayValueType": 12,
                "name": "books",
                "realValueType": 4,
                "returnDataProviders": 4,
                "separator": " - ",
                "showDataProviders": 3,
                "sortOptions": "title asc",
                "useTableFilter": True,
                "valueListType": 1,
            },
        ),
    ],
    ids=["custom", "global method", "related", "table"],
)
def test_numbers_and_bits_are_those_of_servoy(value_list: ValueList, value: dict[str, Value]) -> None:
    """`addEmptyValue` is 1 for never and left out for always."""
    assert value_list_value(value_list) == value | {"typeid": 34, "uuid": value_list.uuid}


def test_custom_properties_are_a_text_in_the_classic_dialect_and_an_object_in_the_new_one() -> None:
    """Both are read."""
    assert value_list_value(TABLE, "classic")["customProperties"] == "lazyLoading:false"
    assert value_list_value(TABLE, "json")["customProperties"] == {"lazyLoading": False}


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("", ()),
        ("a", (CustomValue("a"),)),
        ("a\nb\r\nc\rd", tuple(map(CustomValue, "abcd"))),
        ("One|1\nTwo|", (CustomValue("One", "1"), CustomValue("Two", ""))),
        ("a\\|b|c\\\\d", (CustomValue("a|b", "c\\d"),)),
        ("a\\|b", (CustomValue("a\\|b"),)),
        ("-\n\\-|x", (CustomValue("-"), CustomValue("\\-", "x"))),
        ("a|b|c", (CustomValue("a", "b|c"),)),
        ("\nx", (CustomValue(""), CustomValue("x"))),
    ],
    ids=["none", "one", "line ends", "real", "escaped", "no real", "separator", "two bars", "empty first"],
)
def test_custom_values_are_lines_of_what_is_shown_and_what_is_stored(
    text: str, values: tuple[CustomValue, ...]
) -> None:
    """In lines with a bar, a backslash escapes a bar."""
    assert custom_values(text) == values


def test_every_line_gets_a_real_value_where_any_has_one() -> None:
    """Servoy reads all lines as display values if any lacks a bar; only a separator may lack it."""
    values = (CustomValue("One", "1"), CustomValue("a|b"), CustomValue("-"))

    assert custom_values_text(values) == "One|1\na\\|b|a\\|b\n-"


def test_a_bar_that_is_shown_is_never_taken_for_one_that_parts() -> None:
    """So values read back are those that were intended."""
    text = custom_values_text((CustomValue("a|b"), CustomValue("c")))

    assert custom_values(text) == (CustomValue("a|b", "a|b"), CustomValue("c", "c"))


@pytest.mark.parametrize("value", [CustomValue("a\nb"), CustomValue("a", "1\r2")], ids=["shown", "stored"])
def test_a_value_with_a_line_break_is_refused(value: CustomValue) -> None:
    """It would become two values."""
    with pytest.raises(InvalidInput, match="line break"):
        custom_values_text((value,))


CLASSIC = b"""addEmptyValue:2,
customProperties:"lazyLoading:true,\\
other:{\\
a:1\\
}",
customValues:"One|1\\r\\
Two|2",
displayValueType:2,
name:"stars",
typeid:34,
unknown:[
1
],
uuid:"A"
"""


@pytest.mark.parametrize(
    ("changes", "old", "new"),
    [
        ({"name": "s"}, b'"stars"', b'"s"'),
        ({"custom_values": (*CUSTOM.custom_values, CustomValue("Three"))}, b'Two|2"', b'Two|2\\r\\\nThree|Three"'),
        ({"add_empty": "always"}, b"addEmptyValue:2,\n", b""),
        ({"display_type": "text"}, b"displayValueType:2", b"displayValueType:12"),
        ({"lazy_loading": None}, b"lazyLoading:true,\\\n", b""),
        ({"lazy_loading": False}, b"lazyLoading:true", b"lazyLoading:false"),
        ({"comment": "c"}, b"customProperties", b'comment:"c",\ncustomProperties'),
        (
            {"kind": "related", "relation": "r", "columns": ("x",), "display": (0,), "returns": (0,)},
            CLASSIC[CLASSIC.index(b"customValues") :],
            b'dataProviderID1:"x",\ndisplayValueType:2,\nname:"stars",\nrelationName:"r",\nreturnDataProviders:1,\n'
            b'showDataProviders:1,\ntypeid:34,\nunknown:[\n1\n],\nuuid:"A",\nvalueListType:1\n',
        ),
    ],
    ids=["name", "values", "empty", "type", "lazy removed", "lazy", "comment", "kind"],
)
def test_a_change_writes_what_it_means_and_keeps_the_rest(changes: dict[str, object], old: bytes, new: bytes) -> None:
    """Unknown numbers, unknown properties, the line ends of values."""
    document = read_document(CLASSIC)
    value_list = replace(value_list_of(document), **changes)  # type: ignore[arg-type]
    after = changed(document, value_list)

    assert after == CLASSIC.replace(old, new, 1)
    assert changes_of(read_document(after), value_list) == {}


def test_columns_that_leave_a_place_out_are_kept_until_one_changes() -> None:
    """Bits refer to slots, indexes to columns."""
    data = b'dataProviderID1:"a",\ndataProviderID3:"c",\ndataSource:"db:/s/t",\nname:"x",\nreturnDataProviders:4,\n'
    data += b'showDataProviders:5,\ntypeid:34,\nuuid:"A",\nvalueListType:1'
    document = read_document(data)
    value_list = value_list_of(document)

    assert (value_list.columns, value_list.display, value_list.returns) == (("a", "c"), (0, 1), (1,))
    assert changed(document, replace(value_list, sort="a asc")).replace(b'sortOptions:"a asc",\n', b"") == data
    after = value_list_of(read_document(changed(document, replace(value_list, display=(0,)))))
    assert (after.columns, after.display, after.returns) == (("a", "c"), (0,), (1,))


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("before", [CUSTOM, TABLE, RELATED, METHOD], ids=lambda one: one.name)
@pytest.mark.parametrize("after", [CUSTOM, TABLE, RELATED, METHOD], ids=lambda one: one.name)
def test_any_kind_can_become_any_other(before: ValueList, after: ValueList, dialect: Dialect) -> None:
    """With the same result as writing it directly."""
    data = new_document(value_list_value(before, dialect), dialect)

    assert changed(read_document(data), after) == new_document(value_list_value(after, dialect), dialect)


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        (b"typeid:34", b"typeid:22", 10, "is not a value list"),
        (b"typeid:34", b"typeid:34,\nvalueListType:9", 11, "valueListType is 9"),
        (b"true,\\", b"1,\\", 2, "lazyLoading"),
        (b"other:{", b"other:", 2, "customProperties cannot be read"),
        (b'name:"stars"', b"name:null", 9, "name must be a text"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_value_list_that_means_nothing_is_refused_at_its_line(old: bytes, new: bytes, line: int, words: str) -> None:
    """Nothing is guessed."""
    document = read_document(CLASSIC.replace(old, new, 1))
    with pytest.raises(BrokenFile, match=words) as broken:
        value_list_of(document)

    assert broken.value.line == line
