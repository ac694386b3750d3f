"""Changes by spans: what they touch, and what they refuse."""

from __future__ import annotations

import pytest

from thresher.core import InvalidInput
from thresher.servoy import REMOVED, Changes, Value, read_document, with_changes

CLASSIC = """b:1,
items:[
{foreignColumnName:"x",typeid:23,uuid:"B"},
{foreignColumnName:"y",typeid:23,uuid:"D"}
],
name:"n",
one:{
k:1
},
typeid:22"""

JSON = """{
    "b":1,
    "items":[
        {
            "typeid":23,
            "uuid":"B"
        }
    ],
    "none":{},
    "typeid":22
}"""

ITEMS = '{foreignColumnName:"x",typeid:23,uuid:"B"},\n{foreignColumnName:"y",typeid:23,uuid:"D"}'
LIST = JSON[JSON.index("[") : JSON.index("]") + 1]


def changed(text: str, changes: Changes) -> str:
    """Return a text after changes."""
    return with_changes(read_document(text.encode()), changes).decode()


@pytest.mark.parametrize(
    ("changes", "old", "new"),
    [
        ({("name",): "m"}, 'name:"n"', 'name:"m"'),
        ({("b",): True}, "b:1", "b:true"),
        ({("a",): None}, "b:1,", "a:null,\nb:1,"),
        ({("c",): "x\ny"}, "b:1,", 'b:1,\nc:"x\\\ny",'),
        ({("zz",): 1}, "typeid:22", "typeid:22,\nzz:1"),
        ({("b",): REMOVED}, "b:1,\n", ""),
        ({("typeid",): REMOVED}, ",\ntypeid:22", ""),
        ({("absent",): REMOVED, ("one", "no"): REMOVED, ("no", "no"): REMOVED}, "", ""),
        ({("items", 0, "uuid"): "C"}, 'uuid:"B"', 'uuid:"C"'),
        ({("items", 0, "operator"): 1}, '"x",typeid', '"x",operator:1,typeid'),
        ({("items", 1, "foreignColumnName"): REMOVED}, 'foreignColumnName:"y",', ""),
        ({("items", 0): REMOVED}, '{foreignColumnName:"x",typeid:23,uuid:"B"},\n', ""),
        ({("items", 1): REMOVED}, ',\n{foreignColumnName:"y",typeid:23,uuid:"D"}', ""),
        ({("items", 2): {"typeid": 23, "uuid": "E"}}, '"D"}', '"D"},\n{typeid:23,uuid:"E"}'),
        ({("items",): [{"typeid": 23, "uuid": "C"}]}, ITEMS, '{typeid:23,uuid:"C"}'),
        ({("one", "a"): []}, "k:1", "a:[],\nk:1"),
        ({("one", "k"): {"x": [1]}}, "k:1", "k:{\nx:[\n1\n]\n}"),
        ({("one", "k"): REMOVED}, "{\nk:1\n}", "{\n\n}"),
        ({("two", "deep", "er"): 1}, "typeid:22", "two:{\ndeep:{\ner:1\n}\n},\ntypeid:22"),
    ],
    ids=[
        "text",
        "truth",
        "new first",
        "new between",
        "new last",
        "first removed",
        "last removed",
        "nothing to remove",
        "in an item",
        "new in an item",
        "removed in an item",
        "first item removed",
        "last item removed",
        "new item",
        "other items",
        "new in an object",
        "nested",
        "emptied",
        "made on the way",
    ],
)
def test_a_change_of_a_classic_file_touches_its_lines_alone(changes: Changes, old: str, new: str) -> None:
    """New keys are inserted in sorted order, items on one line."""
    assert changed(CLASSIC, changes) == CLASSIC.replace(old, new, 1)


@pytest.mark.parametrize(
    ("changes", "old", "new"),
    [
        ({("b",): 2}, '"b":1', '"b":2'),
        ({("a",): {"c": 1}}, '    "b":1', '    "a":{\n        "c":1\n    },\n    "b":1'),
        ({("none", "x"): 1}, "{}", '{\n        "x":1\n    }'),
        ({("items",): []}, LIST, "[]"),
        (
            {("items", 1): {"uuid": "C", "list": [1, {}]}},
            "        }\n    ]",
            '        },\n        {\n            "list":[\n                1,\n                {}\n            ],\n'
            '            "uuid":"C"\n        }\n    ]',
        ),
        ({("items", 0, "extra"): "e"}, '            "typeid"', '            "extra":"e",\n            "typeid"'),
        ({("typeid",): REMOVED}, ',\n    "typeid":22', ""),
    ],
    ids=["number", "object", "into nothing", "emptied", "new item", "in an item", "last removed"],
)
def test_a_change_of_a_new_file_is_indented_as_its_place_is(changes: Changes, old: str, new: str) -> None:
    """Four blanks per level."""
    assert changed(JSON, changes) == JSON.replace(old, new, 1)


def test_windows_line_ends_stay_and_new_lines_get_them() -> None:
    """In texts too: the carriage return is not part of them."""
    text = CLASSIC.replace("\n", "\r\n")
    after = changed(text, {("a",): {"x": 1}, ("name",): "p\nq", ("items", 2): {"typeid": 23}})

    assert after.replace("\r\n", "\n").count("\r") == after.replace("\r\n", "").count("\n") == 0
    assert after.startswith("a:{\r\nx:1\r\n},\r\nb:1,\r\n")
    assert 'name:"p\\\r\nq",\r\n' in after


HAND_MADE = """{ "b" : 1 ,   "c":[ 1,2 ,3 ],
  "z":"<\\/x> \\u00e9",
      "a":{"k":1, "l":[]}
}

"""


@pytest.mark.parametrize(
    ("changes", "old", "new"),
    [
        ({("b",): 2}, '"b" : 1', '"b" : 2'),
        ({("c", 1): 7}, "2 ,3", "7 ,3"),
        ({("c", 1): REMOVED}, "1,2 ,3", "1,3"),
        ({("c",): [1, 9, 2, 3]}, "1,2", "1,9,2"),
        ({("a", "k"): [1, 2]}, '"k":1', '"k":[1,2]'),
        ({("a", "m"): 1}, "[]", '[], "m": 1'),
        ({("z",): "é"}, '"<\\/x> \\u00e9"', '"é"'),
    ],
    ids=["value", "member", "member removed", "member added", "list", "key", "text"],
)
def test_a_file_made_by_hand_keeps_every_other_byte(changes: Changes, old: str, new: str) -> None:
    """Its order, white space and escapes; only additions follow the rules."""
    after = changed(HAND_MADE, changes)

    assert after.replace(" ", "") == HAND_MADE.replace(old, new, 1).replace(" ", "")
    assert after.split("\n")[-3:] == HAND_MADE.split("\n")[-3:]


def test_items_are_known_again_by_their_uuid_wherever_they_stand() -> None:
    """Inserting one before others leaves their lines unchanged."""
    items = [{"typeid": 23, "uuid": "A"}, *read_document(CLASSIC.encode()).value["items"]]  # type: ignore[index, call-overload]

    assert changed(CLASSIC, {("items",): items}) == CLASSIC.replace("items:[\n", 'items:[\n{typeid:23,uuid:"A"},\n')


def test_no_change_is_no_change() -> None:
    """Setting a value to itself changes nothing; true and 1 are different values."""
    assert changed(HAND_MADE, {}) == HAND_MADE
    assert changed(HAND_MADE, {("b",): 1, ("c",): [1, 2, 3], ("gone",): REMOVED}) == HAND_MADE
    assert changed("a:1", {("a",): True}) == "a:true"
    assert changed("a:1", {("a",): 1.0}) == "a:1.0"


def test_the_document_that_is_changed_stays_as_it_is() -> None:
    """Others may hold a reference to it."""
    document = read_document(CLASSIC.encode())

    with_changes(document, {("items", 0, "uuid"): "X", ("one", "new"): 1})

    assert document.rendered().decode() == CLASSIC


@pytest.mark.parametrize(
    "changes",
    [
        {(): 1},
        {("b", "c"): 1},
        {("b", 0): 1},
        {("items", 5): 1},
        {("items", 2): REMOVED},
        {("items", "x"): 1},
        {("items", 9, "x"): 1},
        {(0,): 1},
        {("name",): float("nan")},
        dict.fromkeys([("b",), ("items",), ("name",), ("one",), ("typeid",)], REMOVED),
    ],
    ids=[
        "all",
        "key of a number",
        "place of a number",
        "far",
        "behind",
        "key of a list",
        "no item",
        "place",
        "nan",
        "empty",
    ],
)
def test_a_change_that_cannot_be_made_is_refused(changes: Changes) -> None:
    """Nothing is written then."""
    with pytest.raises(InvalidInput) as refused:
        changed(CLASSIC, changes)

    assert refused.value.hint


def test_a_value_that_could_not_be_read_again_is_refused() -> None:
    """The result is read before it is returned."""
    value: Value = []
    for _ in range(300):
        value = [value]

    with pytest.raises(InvalidInput, match="cannot be written"):
        changed('a:"x"', {("a",): value})


def test_a_text_may_look_like_a_conflict() -> None:
    """Each of its lines ends with a backslash, which a marker never does."""
    text = "x\n<<<<<<< a\n=======\n>>>>>>> b\ny"

    assert read_document(changed('a:"x"', {("a",): text}).encode()).get("a") == text
