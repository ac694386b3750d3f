"""How values are written, by the rules of both dialects."""

from __future__ import annotations

import pytest

from thresher.core import InvalidInput
from thresher.servoy import Dialect, Number, Value, new_document, read_document

RELATION: dict[str, Value] = {
    "name": "a_to_b",
    "typeid": 22,
    "items": [{"typeid": 23, "uuid": "A", "foreignColumnName": "x"}, {"typeid": 23, "uuid": "B"}],
    "Zebra": [],
    "flag": True,
}


def test_a_classic_file_has_bare_sorted_keys_and_items_on_one_line() -> None:
    """No outer braces, no indentation, no final line feed; upper case sorts before lower case."""
    text = new_document(RELATION, "classic").decode()

    assert text.split("\n") == [
        "Zebra:[],",
        "flag:true,",
        "items:[",
        '{foreignColumnName:"x",typeid:23,uuid:"A"},',
        '{typeid:23,uuid:"B"}',
        "],",
        'name:"a_to_b",',
        "typeid:22",
    ]


def test_a_file_of_the_new_dialect_is_indented_and_has_no_objects_on_one_line() -> None:
    """Four blanks per level, no blank after a colon."""
    text = new_document(RELATION | {"flag": {"a": None}}, "json").decode()

    assert text.split("\n") == [
        "{",
        '    "Zebra":[],',
        '    "flag":{',
        '        "a":null',
        "    },",
        '    "items":[',
        "        {",
        '            "foreignColumnName":"x",',
        '            "typeid":23,',
        '            "uuid":"A"',
        "        },",
        "        {",
        '            "typeid":23,',
        '            "uuid":"B"',
        "        }",
        "    ],",
        '    "name":"a_to_b",',
        '    "typeid":22',
        "}",
    ]


def test_users_stand_on_one_line_each_in_the_classic_dialect_alone() -> None:
    """In the file of users and groups; nowhere else."""
    security: Value = {"groups": ["a"], "usergroups": {}, "users": [{"name": "x", "user_uid": "U"}]}
    other: Value = {"users": [{"name": "x"}]}

    assert new_document(security, "classic") == (
        b'groups:[\n"a"\n],\nusergroups:{\n\n},\nusers:[\n{name:"x",user_uid:"U"}\n]'
    )
    assert b'        {\n            "name":"x"' in new_document(security, "json")
    assert new_document(other, "classic") == b'users:[\n{\nname:"x"\n}\n]'


@pytest.mark.parametrize(
    ("dialect", "lines"),
    [
        ("classic", ["[", "{", "typeid:37,", 'uuid:"A"', "},", "{", "typeid:37", "}", "]"]),
        ("json", ["[", "{", '    "typeid":37,', '    "uuid":"A"', "},", "{", '    "typeid":37', "}", "]"]),
    ],
)
def test_the_list_of_media_begins_each_of_them_at_the_margin(dialect: Dialect, lines: list[str]) -> None:
    """Servoy joins their texts."""
    media: Value = [{"typeid": 37, "uuid": "A"}, {"typeid": 37}]

    assert new_document(media, dialect).decode().split("\n") == lines


@pytest.mark.parametrize(
    ("text", "raw"),
    [
        ('a"b\\c', 'a\\"b\\\\c'),
        ("a\nb\r\nc", "a\\\nb\\r\\\nc"),
        ("</b><b/>", "<\\/b><b/>"),
        ("\t\b\f\x00\x1f", "\\t\\b\\f\\u0000\\u001f"),
        ("\x7f\x80\x9f\xa0", "\x7f\\u0080\\u009f\xa0"),
        ("\u1fff\u2000\u20ac\u20ff\u2100", "\u1fff\\u2000\\u20ac\\u20ff\u2100"),
        ("\U0001f600 é", "\U0001f600 é"),
        ("\ud83d", "\\ud83d"),
    ],
    ids=["marks", "lines", "tags", "control", "c1", "punctuation", "raw", "half a pair"],
)
def test_texts_are_escaped_as_servoy_does(text: str, raw: str) -> None:
    """Everything else is raw UTF-8."""
    data = new_document({"a": text}, "classic")

    assert data.decode() == f'a:"{raw}"'
    assert read_document(data).value == {"a": text}


def test_keys_that_cannot_stand_bare_are_quoted() -> None:
    """A key with an inner blank may be bare: Servoy reads it."""
    names = ["plain", "two words", "12grid", "a-b", "a.b", "", " x", "a:b", "a/b", 'a"b', "a\nb", "a,b", "#a"]
    data = new_document(dict.fromkeys(names, 1), "classic")

    assert read_document(data).value == dict.fromkeys(names, 1)
    assert {line.split(":1")[0] for line in data.decode().split(",\n")} >= {"plain", "two words", "12grid", '"a/b"'}


def test_keys_sort_as_java_sorts_them() -> None:
    """By UTF-16 units: a character outside the BMP sorts before U+FFFF."""
    data = new_document(dict.fromkeys(["\uff5e", "\U0001f600", "b", "B", "_"], 1), "json")

    assert [line.strip()[1] for line in data.decode().split("\n")[1:-1]] == ["B", "_", "b", "\U0001f600", "\uff5e"]


def test_numbers_keep_their_text() -> None:
    """Even if no float holds them exactly."""
    data = b"a:1.50,\nb:12345678901234567890123,\nc:-0,\nd:1E+5"

    assert read_document(data).rendered() == data
    assert new_document({"a": Number("2.0"), "b": 0.1}, "classic") == b"a:2.0,\nb:0.1"


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_numbers_that_no_file_can_hold_are_refused(number: float) -> None:
    """They could not be read back."""
    with pytest.raises(InvalidInput, match="not a number"):
        new_document({"a": number}, "json")


@pytest.mark.parametrize(
    "text",
    [
        'a:1,\r\nb:"x\\\r\ny",\r\nc:[\r\n1\r\n]',
        'a:"x"\n',
        'a:"x"\n\n',
        "{\na:[\n\n],\nb:{\n\n}\n}",
        '{\n"items":[\n{"typeid":23,"uuid":"A"}\n]\n}',
        '{\n"items":[\n{\n"typeid":23\n}\n]\n}',
        '{\n  "a": 1,\n  "b": {\n    "c": []\n  }\n}\n',
        '{\n\t"a":{\n\n\t},\n\t"b":1\n}',
        "items:[\n{\ntypeid:23\n}\n]",
        "items:[\n\n]",
        "{}",
        "[]\n",
        "a:{ \n   \n },\nb:[ ]",
        "usergroups:{\n\n},\nusers:[\n{}\n]",
        '{\n    "a":{ \n   \n },\n    "b":1\n}',
        '"a":1,\n"b":2',
    ],
    ids=[
        "windows",
        "last line feed",
        "two of them",
        "older empties",
        "quoted without indent",
        "items on lines of their own",
        "two blanks",
        "tabs",
        "classic items on lines of their own",
        "older list",
        "nothing",
        "no members",
        "blanks between brackets of nothing",
        "a user of nothing",
        "a line of blanks between braces of nothing",
        "quoted without braces",
    ],
)
def test_a_file_of_another_form_is_written_in_its_own(text: str) -> None:
    """Each property of the layout is taken from its first occurrence."""
    assert read_document(text.encode()).rendered().decode() == text


def test_a_file_that_breaks_the_rules_is_written_by_them() -> None:
    """So a round trip reveals it: unsorted keys, escapes that Servoy would not write, white space."""
    for text in ("b:1,\na:2", 'a:"</b>"', 'a:"\\u00e9"', "a:1,b:2", "a:1 ,\nb:2", 'a:"x\ny"'):
        assert read_document(text.encode()).rendered().decode() != text
