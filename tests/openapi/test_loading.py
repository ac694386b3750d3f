"""Which bytes become a description, and which are refused."""

from __future__ import annotations

import json

import pytest

from tests.openapi.documents import codes, described, document, from_yaml
from thresher.core import InvalidInput
from thresher.openapi import DescriptionLimits, read_description

HEAD = "openapi: 3.0.3\ninfo: {title: Café, version: '1'}\npaths: {}\n"


@pytest.mark.parametrize(
    ("version", "dialect"),
    [("3.0.3", "3.0"), ("3.1.0", "3.1"), ("3.1", "3.1"), ("3.2.0", "3.2"), ("3.0.4-rc1", "3.0")],
)
def test_the_version_names_the_dialect(version: str, dialect: str) -> None:
    """The first two numbers decide."""
    assert described(document(version=version)).dialect == dialect


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"])
@pytest.mark.parametrize("text", [HEAD, json.dumps(document(info={"title": "Café", "version": "1"}))])
def test_any_unicode_encoding_is_read(text: str, encoding: str) -> None:
    """With and without a byte order mark."""
    description = read_description(text.encode(encoding))

    assert (description.title, description.problems) == ("Café", ())


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "is empty"),
        (b" \n", "is empty"),
        (b"[1]", "not a mapping"),
        (b"just words", "not a mapping"),
        (b"\n<!doctype html><p style='a: b'>x: y", "HTML or XML"),
        (b"a: 1", "does not say that it describes an API"),
        (b"openapi: 4.0.0", "which is not supported"),
        (b"swagger: '1.2'", "which is not supported"),
        (b"openapi: []", "which is not supported"),
        (b'{"openapi": "3.0.3",\n "paths": oops]}', "line 2, column 11"),
        (b"openapi: 3.0.3\npaths:\n\t- a: b\n", "line 3, column 1"),
    ],
)
def test_what_is_no_description_is_refused_with_a_reason(data: bytes, said: str) -> None:
    """The message says why, the hint what to do."""
    with pytest.raises(InvalidInput) as refusal:
        read_description(data)

    assert said in refusal.value.message
    assert refusal.value.hint


@pytest.mark.parametrize(
    ("data", "limits", "said"),
    [
        (HEAD.encode(), DescriptionLimits(octets=10), "the limit is 10"),
        (b'{"openapi": "3.0.3", "x": [' + b"{}," * 100 + b"1]}", DescriptionLimits(values=100), "more than 100 values"),
        (
            b'{"openapi": "3.0.3", "x": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
            DescriptionLimits(),
            "200 levels deep",
        ),
        (b'{"openapi": "3.0.3", "x": ' + b"[" * 201 + b"]" * 201 + b"}", DescriptionLimits(), "200 levels deep"),
        (HEAD.encode() + b"x: " + b"[" * 100_000, DescriptionLimits(), "200 levels deep"),
        (HEAD.encode() + b"x:\n " + b"- " * 5_000 + b"a\n", DescriptionLimits(), "200 levels deep"),
    ],
    ids=["octets", "values", "JSON's stack", "JSON's depth", "YAML's brackets", "YAML's hyphens"],
)
def test_what_is_too_large_or_too_deep_is_refused(data: bytes, limits: DescriptionLimits, said: str) -> None:
    """Before anything is built from it."""
    with pytest.raises(InvalidInput, match=said):
        read_description(data, limits=limits)


def test_octets_of_another_encoding_are_replaced_and_their_line_is_told() -> None:
    """The rest of the description is kept."""
    description = read_description(HEAD.encode() + "x: caf\xe9\n".encode("latin-1"))

    problem = description.problems[0]
    assert (problem.code, problem.place.line, description.root["x"]) == ("bad-encoding", 4, "caf\ufffd")


@pytest.mark.parametrize(
    "data",
    [
        b'{"openapi": "3.0.3", "info": {"title": "a\\u0000b", "version": "\\ud800"}, "paths": {"/\\u0000": {}}}',
        b'openapi: 3.0.3\ninfo: {title: "a\\0b", version: "1"}\npaths: {}\n',
        b"openapi: 3.0.3\ninfo: {title: a\x00b, version: '1'}\npaths: {}\n",
    ],
    ids=["JSON", "escaped", "raw"],
)
def test_characters_that_no_store_takes_are_replaced(data: bytes) -> None:
    """NUL and lone surrogates: everything that was read can be written anywhere."""
    description = read_description(data)

    assert description.title == "a\ufffdb"
    assert str(description.root).encode()
    assert codes(description) == ["bad-character"]


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\x85"], ids=ascii)
def test_a_line_separator_of_unicode_breaks_no_line_of_yaml(separator: str) -> None:
    """Editors paste it into descriptions; a YAML 1.1 reader would start a new line there."""
    text = f"openapi: 3.0.3\ninfo:\n  description: |\n    One{separator}Two\n  title: Pets\npaths: {{}}\n"
    description = read_description(text.encode())

    assert (description.title, description.summary) == ("Pets", "One Two\n")
    assert [(each.code, each.place.line) for each in description.problems] == [("bad-character", 4)]


def test_json_with_a_comma_too_many_is_read_and_noted() -> None:
    """YAML allows what JSON does not."""
    description = read_description(b'{"openapi": "3.0.3", "info": {"title": "Pets",},\n "paths": {},}')

    assert (description.title, codes(description)) == ("Pets", ["not-json"])


def test_numbers_that_json_cannot_hold_stay_text() -> None:
    """Everything that was read can be written as JSON again."""
    text = '{"openapi": "3.0.3", "a": %s, "b": NaN, "c": 1e999, "d": -Infinity, "e": 1.5}' % ("9" * 5_000)

    root = read_description(text.encode()).root

    assert [type(root[key]) for key in "abcde"] == [str, str, str, str, float]
    assert json.dumps(dict(root), allow_nan=False)


@pytest.mark.parametrize("form", ["json", "yaml"])
def test_a_key_that_stands_twice_is_noted_with_both_lines(form: str) -> None:
    """The last one counts, as in other readers."""
    text = (
        '{"openapi": "3.0.3",\n"paths": {},\n"x": [{"a": 1,\n"a": 2}]}'
        if form == "json"
        else "openapi: 3.0.3\npaths: {}\nx:\n- a: 1\n  a: 2\n"
    )

    description = read_description(text.encode())

    problem = description.problems[0]
    assert (problem.code, problem.place.pointer, description.format) == ("duplicate-key", "/x/0/a", form)
    assert description.root["x"] == [{"a": 2}]
    assert ("lines 3 and 4" if form == "json" else "lines 4 and 5") in problem.message


def test_of_several_documents_the_first_is_read() -> None:
    """The others are noted and ignored."""
    description = from_yaml("paths: {}\n---\nopenapi: 3.1.0\n")

    assert (description.dialect, codes(description)) == ("3.0", ["more-documents"])


def test_what_a_newer_version_adds_is_not_known_but_the_rest_is_read() -> None:
    """An unknown version is read as the newest known one."""
    description = read_description(b"openapi: 3.9.0\npaths: {}")

    assert (description.dialect, codes(description)) == ("3.2", ["newer-version"])


def test_a_version_without_quotes_is_taken_and_noted() -> None:
    """YAML reads `2.0` as a number."""
    description = read_description(b"swagger: 2.0\npaths: {}")

    assert (description.dialect, codes(description)) == ("2.0", ["version-not-text"])


def test_only_so_many_problems_are_listed() -> None:
    """The rest is counted."""
    broken = document({f"/{i}": {"get": []} for i in range(9)})

    description = read_description(json.dumps(broken).encode(), limits=DescriptionLimits(problems=4))

    assert codes(description) == ["wrong-type"] * 4 + ["more-problems"]
    assert description.problems[-1].message == "5 more problems are not listed."
