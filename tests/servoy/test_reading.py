"""What can be read, and what is refused with its place."""

from __future__ import annotations

import pytest

from thresher.core import BrokenFile
from thresher.servoy import Number, Value, read_document
from thresher.servoy.documents import LARGEST
from thresher.servoy.parser import DEEPEST


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('a:1,\nb:"x"', {"a": 1, "b": "x"}),
        ('{a:1,b:"x"}', {"a": 1, "b": "x"}),
        ('{"a":true,"b":[null,false]}', {"a": True, "b": [None, False]}),
        ("[\n{a:1}\n]", [{"a": 1}]),
        ("a:{\n\n},\nb:[]", {"a": {}, "b": []}),
        ("  a : 1 ,\r\n b\t:\t2  \r\n", {"a": 1, "b": 2}),
        ('two words:1,\ndata-cy:"x",\n$a_1:{12grid:2}', {"two words": 1, "data-cy": "x", "$a_1": {"12grid": 2}}),
        ('"quoted":1,bare:2', {"quoted": 1, "bare": 2}),
        ("a:-0.50,b:1e3,c:-7,d:-0", {"a": Number("-0.50"), "b": Number("1e3"), "c": -7, "d": Number("-0")}),
        ("{}", {}),
        ("[]", []),
    ],
    ids=[
        "bare",
        "braces",
        "quoted",
        "list",
        "empties",
        "blanks",
        "odd keys",
        "mixed keys",
        "numbers",
        "no keys",
        "none",
    ],
)
def test_both_dialects_and_what_lies_between_are_read(text: str, value: Value) -> None:
    """Outer braces may be left out, keys may be bare, blanks may stand anywhere between."""
    document = read_document(text.encode())

    assert document.value == value


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("a\\\nb", "a\nb"),
        ("a\\\r\nb", "a\nb"),
        ("a\nb", "a\nb"),
        ("a\\nb", "a\nb"),
        ("a\r\nb\rc", "a\nbc"),
        ("a\\r\\\nb", "a\r\nb"),
        ("<\\/b> \\t\\f\\b\\\\ \\\" \\'", "</b> \t\f\b\\ \" '"),
        ("\\u00e9\\u2028\\u20AC", "é\u2028€"),
        ("\\ud83d\\ude00", "\U0001f600"),
        ("\\ud83d alone", "\ud83d alone"),
        ("\u20ac\U0001f600\x7f", "\u20ac\U0001f600\x7f"),
    ],
    ids=["backslash", "windows", "raw", "n", "raw cr", "cr", "escapes", "codes", "pair", "half a pair", "plain"],
)
def test_escapes_mean_what_they_mean_to_servoy(raw: str, text: str) -> None:
    """A line feed after a backslash is a newline; raw carriage returns are nothing."""
    document = read_document(f'a:"{raw}"'.encode())

    assert document.value == {"a": text}


@pytest.mark.parametrize(
    ("data", "line", "column", "words"),
    [
        (b"", 1, 1, "empty"),
        (b" \n ", 1, 1, "empty"),
        (b"\xef\xbb\xbfa:1", 1, 1, "byte order mark"),
        ('a:"ü",\nb:"é'.encode() + b'\xff"', 2, 5, "0xff"),
        ("a:1".encode("utf-16"), 1, 1, "0xff"),
        (b'a:"x,\nb:1', 1, 3, "not terminated"),
        (b'a:"x,\nb:1,\nc:"y"', 3, 4, "comma"),
        (b"a:1\nb:2", 2, 1, "comma"),
        (b"a:1,\n", 2, 1, "key is missing"),
        (b"{a:1,}", 1, 6, "key is missing"),
        (b"a:[1,]", 1, 6, "value is missing"),
        (b"a:[1 2]", 1, 6, "']'"),
        (b"{a:1", 1, 5, "end of the file"),
        (b"{a:1}}", 1, 6, "continues after its end"),
        (b"a", 1, 1, "colon"),
        (b"a:", 1, 3, "value is missing"),
        (b"a:name", 1, 3, "no value"),
        (b"a:01", 1, 3, "no value"),
        (b"a:1L", 1, 3, "no value"),
        (b"a:NaN", 1, 3, "no value"),
        (b"a:" + b"9" * 5000, 1, 3, "no value"),
        (b"a:1,\na:2", 2, 1, "twice"),
        (b'a:"x\\q"', 1, 5, "no escape"),
        (b'a:"\\u12"', 1, 4, "no escape"),
        (b'a:"x\x00"', 1, 5, "NUL"),
        (b"\x00\x01", 1, 1, "key is missing"),
        (b"a:1 // note", 1, 5, "comma"),
        (b'"a"', 1, 1, "colon"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_broken_is_refused_with_line_and_column(data: bytes, line: int, column: int, words: str) -> None:
    """And with a hint that says what to do."""
    with pytest.raises(BrokenFile) as broken:
        read_document(data)

    assert (broken.value.line, broken.value.column) == (line, column)
    assert words in broken.value.message
    assert broken.value.hint


def test_a_quotation_mark_that_is_missing_is_looked_for_where_its_text_begins() -> None:
    """The text goes on to the next one, a few lines below."""
    with pytest.raises(BrokenFile) as broken:
        read_document(b'a:1,\nname:"orders,\ntypeid:22,\nuuid:"X"')

    assert broken.value.line == 4
    assert "line 2" in broken.value.hint


CONFLICT = b'name:"x",\n<<<<<<< HEAD\ntypeid:22,\n=======\ntypeid:23,\n>>>>>>> theirs\nuuid:"A"'


@pytest.mark.parametrize(
    ("data", "line"),
    [
        (CONFLICT, 2),
        (CONFLICT.replace(b"\n", b"\r\n"), 2),
        (b'customValues:"a\\\n<<<<<<< HEAD\nb\\\n=======\nc\\\n>>>>>>> x\nd",\nname:"y"', 2),
        (b"<<<<<<< a\nx:1\n||||||| base\nx:2\n=======\nx:3\n>>>>>>> b", 1),
        (b"x:1,\n<<<<<<<\ny:1\n=======\ny:2\n>>>>>>>", 2),
    ],
    ids=["lines", "windows", "inside a text", "three ways", "without names"],
)
def test_conflict_markers_of_a_merge_are_named_as_such(data: bytes, line: int) -> None:
    """Also where they stand inside a text that could be read with them."""
    with pytest.raises(BrokenFile, match="conflict markers") as broken:
        read_document(data)

    assert broken.value.line == line
    assert "merge" in broken.value.hint


def test_texts_that_only_look_like_a_conflict_are_read() -> None:
    """Rulers of equal signs, arrows."""
    document = read_document(b'a:"<<<<<<< x",\nb:"\\\n=======\\\n",\nc:">>>>>>>"')

    assert document.get("b") == "\n=======\n"


def test_values_nested_deeper_than_any_form_are_refused_and_blow_no_stack() -> None:
    """A hundred thousand brackets are an error with a place, like any other."""
    deep = b"a:" + b"[" * (DEEPEST - 1) + b"]" * (DEEPEST - 1)

    assert read_document(deep).dialect == "classic"
    for text in (b"[" * 100_000, b"a:" + b"{a:" * 100_000, b"a:" + b"[" * (DEEPEST + 1)):
        with pytest.raises(BrokenFile, match="nested deeper") as broken:
            read_document(text)
        assert broken.value.line == 1


def test_a_file_larger_than_any_form_is_not_even_read() -> None:
    """It can hardly be one."""
    with pytest.raises(BrokenFile, match="bytes"):
        read_document(b"a" * (LARGEST + 1))


DOCUMENT = b"""{
    "items":[
        {
            "name":"one",
            "uuid":"A"
        },
        2
    ],
    "name":"x"
}"""


@pytest.mark.parametrize(
    ("path", "value", "place"),
    [
        ((), ..., (1, 1)),
        (("items",), ..., (2, 5)),
        (("items", 0), {"name": "one", "uuid": "A"}, (3, 9)),
        (("items", 0, "uuid"), "A", (5, 13)),
        (("items", 1), 2, (7, 9)),
        (("name",), "x", (9, 5)),
        (("items", 0, "comment"), None, (3, 9)),
        (("items", 7, "uuid"), None, (2, 5)),
        (("items", -1), None, (2, 5)),
        (("name", "x"), None, (9, 5)),
    ],
    ids=str,
)
def test_places_are_of_keys_or_of_their_nearest_holder(
    path: tuple[str | int, ...], value: object, place: tuple[int, int]
) -> None:
    """Where a path leads nowhere, its value is the default."""
    document = read_document(DOCUMENT)

    assert value is ... or document.get(*path) == value
    assert document.place_of(*path) == place
    assert document.line_of(*path) == place[0]
    assert document.get("absent", default=3) == 3
