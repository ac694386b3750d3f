"""Setting values in the text of a description: the rest keeps its characters, and the diff says exactly that."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from thresher.openapi import Description, Edit, read_description
from thresher.openapi.patching import applied, edit_text, spliced, unified_diff

YAML = """\
# The shop's API.
openapi: 3.0.3   # a version
info: {title: Shop, version: "1"}
paths:
  /orders:
    # Comes first.
    get:
      operationId: 'listOrders' # stays
      summary: "List"
      description: |  # in a block

        Many lines
          with an indent

      parameters:
      - name: limit
        in: query
      - $ref: '#/components/parameters/page'

      responses: {'200': {description: OK}}
    post:
      responses:
        '201':
          description: >-
            folded
            text
        default: {description: ""}
tags:
- name: orders
  description: What was ordered.
- name: things
  description: What there is.
components:
  parameters:
    page: {name: page, in: query, schema: {type: integer}}
  schemas:
    Thing:
      type: object
      properties:
        description:
          type: string
"""
GET = "/paths/~1orders/get"


def described(text: str) -> Description:
    """Read this text."""
    return read_description(text.encode())


def changed(text: str, *edits: tuple[str, Any]) -> str:
    """Return the text with values set; the document must then have exactly these."""
    before = described(text)
    edited = edit_text(before.text, before.format, [Edit(pointer, value, "rule") for pointer, value in edits])
    after = spliced(before.text, edited.splices)
    assert not edited.dropped
    assert described(after).root == applied(before.root, edited.done)
    return after


@pytest.mark.parametrize(
    ("pointer", "value", "line"),
    [
        (f"{GET}/summary", "List all", '      summary: "List all"\n'),
        (f"{GET}/description", "One line.", "      description: One line.  # in a block\n"),
        (f"{GET}/parameters/0/description", "How many.", "        description: How many.\n"),
        (f"{GET}/parameters/0/description", "It's: not plain", '        description: "It\'s: not plain"\n'),
        (f"{GET}/parameters/0/description", "yes", '        description: "yes"\n'),
        (f"{GET}/responses/200/description", "Fine", "      responses: {'200': {description: Fine}}\n"),
        (f"{GET}/responses/200/description", "a, b", "      responses: {'200': {description: \"a, b\"}}\n"),
        ("/paths/~1orders/post/responses/201/description", "Made.", "          description: Made.\n"),
        ("/paths/~1orders/post/responses/default/description", "Else", '        default: {description: "Else"}\n'),
        ("/paths/~1orders/post/summary", "Order", "      summary: Order\n"),
        ("/components/parameters/page/description", "Which", "    page: {name: page, in: query, description: Which, "),
        ("/components/schemas/Thing/description", "Größe 😀", "      description: Größe 😀\n"),
        ("/info/description", "About it", 'info: {title: Shop, description: About it, version: "1"}\n'),
    ],
)
def test_yaml_keeps_its_style(pointer: str, value: Any, line: str) -> None:
    """A new text is written like its neighbours, and no other line changes."""
    after = changed(YAML, (pointer, value))

    assert line in after
    kept = set(YAML.split("\n")) - set(after.split("\n"))
    assert len(kept) <= 5
    assert after.count("#") == YAML.count("#")


def test_a_text_of_several_lines_becomes_a_block() -> None:
    """Line breaks and indentation inside the text survive, and so does the comment of the old block."""
    after = changed(YAML, (f"{GET}/description", "First.\n\n  code\nLast."))

    assert "      description: |-  # in a block\n        First.\n\n          code\n        Last.\n" in after


def test_an_example_is_written_in_the_lists_style_of_the_file() -> None:
    """Lists are indented like the file's."""
    after = changed(YAML, ("/components/schemas/Thing/example", {"a": [1, {"b": "x"}], "on": "no"}))

    assert '      example:\n        a:\n        - 1\n        - b: x\n        "on": "no"\n' in after


def test_line_breaks_stay_those_of_windows() -> None:
    """A file with CRLF gets no bare line feeds."""
    after = changed(YAML.replace("\n", "\r\n"), (f"{GET}/description", "a\nb"), ("/paths/~1orders/post/summary", "c"))

    assert after.count("\n") == after.count("\r\n")


@pytest.mark.parametrize("sign", ["\x07", "\x1b[31m", "\u2028", "\x85"], ids=ascii)
def test_control_characters_beside_an_edit_stay_as_they_are(sign: str) -> None:
    """Reading notes them; removing them is not the purpose of the edit."""
    text = YAML.replace("# The shop's", f"# The {sign} shop's")

    assert changed(text, (f"{GET}/summary", "Lists orders")) == text.replace('"List"', '"Lists orders"')


@pytest.mark.parametrize("text", [YAML.rstrip("\n"), YAML + "\n\n", YAML + "# the end", YAML + "...\n---\nother: 1\n"])
def test_the_end_of_the_file_stays_as_it_is(text: str) -> None:
    """With or without a final line break, with blank lines, a comment or another document after it."""
    after = changed(text, ("/components/schemas/Thing/properties/description/example", "x"))

    assert after.replace("          example: x\n", "").replace("\n          example: x", "") == text


SHARED = """\
openapi: 3.0.3
info: &about {title: A, version: '1'}
x-copy: *about
paths:
  /a:
    get: &get
      summary: &words Read
      responses: {'200': {description: *words}}
    head:
      <<: *get
      operationId: heads
"""


def test_what_an_alias_shares_is_left_alone() -> None:
    """An edit that would also change another place is dropped; one at the alias itself is made."""
    before = described(SHARED)
    wished = [
        Edit("/info/description", "x", "r"),
        Edit("/paths/~1a/get/summary", "y", "r"),
        Edit("/paths/~1a/head/summary", "z", "r"),
        Edit("/paths/~1a/head/responses/200/description", "v", "r"),
    ]

    edited = edit_text(before.text, before.format, wished)
    after = described(spliced(before.text, edited.splices))

    assert [edit.value for edit in edited.done] == ["z"]
    assert after.root == applied(before.root, edited.done)
    assert all("alias" in reason for _, reason in edited.dropped)


JSON_FORMS = {
    "compact": json.dumps(
        {"openapi": "3.0.3", "info": {"title": "Ä"}, "paths": {"/a": {"get": {}}}}, separators=(",", ":")
    ),
    "spaces": json.dumps({"openapi": "3.0.3", "info": {"title": "A"}, "paths": {"/a": {"get": {}}}}, indent=4),
    "tabs": json.dumps({"openapi": "3.0.3", "info": {"title": "A"}, "paths": {"/a": {"get": {}}}}, indent="\t") + "\n",
    "crlf": json.dumps({"openapi": "3.0.3", "info": {}, "paths": {"/a": {"get": {}}}}, indent=2).replace("\n", "\r\n"),
    "line": '{ "openapi" : "3.0.3", "info" : {"title" : "A"}, "paths" : {"/a": { "get" : { } } } }',
    "odd": '{"openapi":"3.0.3",\n "info":{"title":"A",\n         "title":"B"}\n,"paths":{"/a":{"get":{"x":[{},"}"]}}}}',
}


@pytest.mark.parametrize("text", JSON_FORMS.values(), ids=JSON_FORMS.keys())
def test_json_keeps_its_form(text: str) -> None:
    """Additions copy the white space of their neighbours; the rest stays, character by character."""
    edits = (
        ("/info/description", '\u2028 ä "q"'),
        ("/paths/~1a/get/summary", "Get"),
        ("/paths/~1a/get/example", [{"b": []}]),
    )

    after = changed(text, *edits)

    rest = iter(after)
    assert all(any(sign == other for other in rest) for sign in text.replace("{ }", "{}").replace("{}", ""))
    assert ("\n" in after) == ("\n" in text)
    assert after.count("\r\n") == (after.count("\n") if "\r" in text else 0)


@pytest.mark.parametrize(
    "form", [YAML, YAML.rstrip("\n"), YAML.replace("\n", "\r\n"), *JSON_FORMS.values(), "\ufeff" + YAML]
)
def test_git_and_patch_make_the_same_of_the_diff(form: str, tmp_path: Path) -> None:
    """`git apply` and `patch` both give the changed text."""
    mark = "\ufeff" if form.startswith("\ufeff") else ""
    text = form.removeprefix("\ufeff")
    before = described(text)
    places = [
        "/openapi",
        "/info",
        "/paths/~1orders/get",
        "/paths/~1orders/post",
        "/paths/~1a/get",
        "/components/schemas/Thing",
    ]
    wished = [
        Edit(f"{place}/summary", f"At {place}", "r") for place in places if isinstance(before.resolve(place), dict)
    ]
    edited = edit_text(before.text, before.format, wished)
    wanted = mark + spliced(text, edited.splices)
    (tmp_path / "change.diff").write_text(unified_diff(text, edited.splices, "api/my api.yaml", mark=mark), newline="")
    file = tmp_path / "api" / "my api.yaml"
    file.parent.mkdir()

    for command in (["git", "apply", "change.diff"], ["patch", "--binary", "-p1", "-i", "change.diff"]):
        file.write_text(form, encoding="utf-8", newline="")
        made = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert made.returncode == 0, made.stderr + made.stdout
        assert file.read_bytes().decode() == wanted


texts = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=30) | st.sampled_from(
    [
        "yes",
        "1",
        "",
        " a ",
        "- x",
        "a: b",
        "a #b",
        "'",
        '"',
        "|",
        "a\n",
        "\n\n",
        "a\n b",
        "\t",
        "...",
        "---",
        "&a",
        "*a",
        "!t",
        "%",
    ]
)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | texts,
    lambda each: st.lists(each, max_size=3) | st.dictionaries(texts, each, max_size=3),
    max_leaves=6,
)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from([YAML, YAML.replace("\n", "\r\n"), *JSON_FORMS.values()]), texts, values)
@example(YAML, "A\x1b", "A\ufffe")
def test_any_value_is_read_back_as_it_was_set(text: str, words: str, value: Any) -> None:
    """The document then has the new value and everything it had before."""
    before = described(text)
    holder = GET if before.resolve(GET) else "/paths/~1a/get"
    edits = [
        Edit(f"{holder}/description", words, "r"),
        Edit(f"{holder}/summary", words, "r"),
        Edit(f"{holder}/example", value, "r"),
    ]

    edited = edit_text(before.text, before.format, edits)

    assert not edited.dropped
    assert described(spliced(before.text, edited.splices)).root == applied(before.root, edits)
