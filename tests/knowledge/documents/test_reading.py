"""Readers make text and blocks from files in any format."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thresher.knowledge.documents.models import Parsed
from thresher.knowledge.documents.reading import UnreadableDocument, parse


def blocks(parsed: Parsed) -> list[tuple[str, str]]:
    """Kind and text of each block."""
    return [(block.kind, parsed.text[block.start : block.end]) for block in parsed.blocks]


def kinds(parsed: Parsed) -> list[str]:
    """Kind of each block."""
    return [block.kind for block in parsed.blocks]


def test_markdown_is_read_into_its_blocks() -> None:
    """Every construct becomes a block of its kind, and the text stays as it was."""
    text = (
        "---\ntitle: A guide\n---\n\n# One\n\nWords.\n\n- item\n  - inner\n\n> quote\n\n```sh\nls\n```\n\n"
        "| a | b |\n|---|---|\n| 1 | 2 |\n\n[x]: https://example.org\n"
    )

    parsed = parse("guide.md", text.encode())

    assert (parsed.text, parsed.title, parsed.media) == (text, "A guide", "markdown")
    assert blocks(parsed)[1:] == [
        ("heading", "# One"),
        ("paragraph", "Words."),
        ("item", "- item"),
        ("item", "  - inner"),
        ("quote", "> quote"),
        ("fence", "```sh\nls\n```"),
        ("table", "| a | b |\n|---|---|\n| 1 | 2 |"),
        ("matter", "[x]: https://example.org"),
    ]


def test_an_html_table_inside_markdown_is_one_table() -> None:
    """Blank lines inside its cells do not end it; its rows and its header are recognised."""
    table = (
        '<div style="text-align: left"><table>\n<thead>\n<tr><th>Name</th></tr>\n</thead>\n<tbody>\n'
        "<tr><td>one\n\nmore of one</td></tr>\n<tr><td>two</td></tr>\n</tbody>\n</table>"
    )

    parsed = parse("manual.md", f"Before.\n\n{table}\n\nAfter.\n".encode())

    assert blocks(parsed) == [("paragraph", "Before."), ("table", table), ("paragraph", "After.")]
    found = parsed.blocks[1]
    assert [parsed.text[row : row + 11] for row in found.rows] == ["<tr><td>one", "<tr><td>two"]
    assert parsed.text[found.start : found.head].endswith("</thead>\n<tbody>\n")


@pytest.mark.parametrize("path", ["report.md", "report.txt"])
def test_lines_of_as_many_cells_are_a_table_without_dashes(path: str) -> None:
    """The first line is its header; two lines with a bar are a sentence that uses it."""
    table = "in millions | 2017 | 2016\nnotes | 600 | 600\nloan | 84 | 84"
    text = f"debt consisted of the following:.\n{table}\n\na | b\nc | d\n"

    blocks = parse(path, text.encode()).blocks

    (found,) = [block for block in blocks if block.kind == "table"]
    assert text[found.start : found.end] == table
    assert text[found.start : found.head] == "in millions | 2017 | 2016\n"
    assert [text[row:].partition("\n")[0] for row in found.rows] == ["notes | 600 | 600", "loan | 84 | 84"]


def test_a_table_in_a_code_block_is_code() -> None:
    """Text between fences is not markup."""
    parsed = parse("a.md", b"```html\n<table>\n<tr><td>1</td></tr>\n</table>\n```\n")

    assert kinds(parsed) == ["fence"]


def test_a_table_of_contents_is_not_prose() -> None:
    """Items that only lead elsewhere in the document name everything and answer nothing."""
    contents = "".join(f"- [Part {number}](#part-{number})\n" for number in range(6))

    parsed = parse("a.md", f"# Book\n\n{contents}\n- a [link](#x) among words\n".encode())

    assert kinds(parsed) == ["heading", *["matter"] * 6, "item"]


@pytest.mark.parametrize("heading", ["= = History = =", "== History =="])
def test_headings_of_wikis_are_headings(heading: str) -> None:
    """Even in the middle of lines that Markdown treats as one paragraph."""
    parsed = parse("wiki.md", f"First line.\n{heading}\nSecond line.\n".encode())

    assert [(block.kind, block.title, block.level) for block in parsed.blocks] == [
        ("paragraph", "", 0),
        ("heading", "History", 2),
        ("paragraph", "", 0),
    ]


@pytest.mark.parametrize(
    ("markdown", "title"),
    [
        ("# <a id='s5' />1. Introduction", "1. Introduction"),
        ("# The `parse` *function*", "The parse function"),
        ("# [Guide](https://example.org/a) {#guide}", "Guide"),
        ("# snake_case_name &amp; more ##", "snake_case_name & more"),
    ],
)
def test_a_heading_has_only_its_words(markdown: str, title: str) -> None:
    """Links, anchors, emphasis and other marks are not part of it."""
    assert parse("a.md", markdown.encode()).blocks[0].title == title


@pytest.mark.parametrize(
    ("path", "text", "title"),
    [
        ("docs/users_manual.md", "# One\n\n# Two\n", "users manual"),
        ("README.md", "# Thing\n\n# Install\n", "Thing"),
        ("a.md", "## Only\n\ntext\n", "Only"),
        ("src/tool.py", "x = 1\n", "tool.py"),
        ("notes.txt", "Some text.\n", "notes.txt"),
    ],
)
def test_a_document_without_a_title_has_its_name(path: str, text: str, title: str) -> None:
    """The only heading of the highest level is the title; if there are several, none is."""
    assert parse(path, text.encode()).title == title


def test_plain_text_has_paragraphs_headings_and_items() -> None:
    """Underlined lines and marked ones mean in plain text what they mean to people."""
    parsed = parse("notes.txt", b"Title\n=====\n\nSome words\nand more.\n\n* one\n* two\n")

    assert blocks(parsed) == [
        ("heading", "Title\n====="),
        ("paragraph", "Some words\nand more."),
        ("item", "* one"),
        ("item", "* two"),
    ]


def test_restructuredtext_is_read_into_its_blocks() -> None:
    """Adornments make headings, indentation the content of a directive; unknown directives keep their text."""
    text = (
        "=====\nTitle\n=====\n\n.. toctree::\n\n   a\n\nPart\n----\n\nWords::\n\n    x = 1\n\n    y = 2\n\n"
        ".. code-block:: python\n\n   pass\n\n.. py:function:: f(a)\n\n   Does it.\n\n* one\n\n  more\n* two\n\n"
        "+---+---+\n| a | b |\n+===+===+\n| 1 | 2 |\n+---+---+\n| 3 | 4 |\n+---+---+\n"
    )

    parsed = parse("index.rst", text.encode())

    assert parsed.title == "Title"
    assert [(block.kind, block.level) for block in parsed.blocks] == [
        *(("heading", 1), ("matter", 0), ("heading", 2), ("paragraph", 0), ("fence", 0), ("fence", 0)),
        *(("paragraph", 0), ("quote", 1), ("item", 1), ("quote", 1), ("item", 1), ("table", 0)),
    ]
    assert [parsed.text[row : row + 5] for row in parsed.blocks[-1].rows] == ["| 1 |", "| 3 |"]


def test_simple_and_list_tables_know_their_rows() -> None:
    """The other two ways to write a table in reStructuredText."""
    simple = "=  =\nA  B\n=  =\n1  2\n3  4\n=  =\n".replace("=", "==").replace("  ", "   ")
    listed = ".. list-table::\n   :header-rows: 1\n\n   * - A\n     - B\n   * - 1\n     - 2\n   * - 3\n     - 4\n"

    first, second = parse("a.rst", f"{simple}\n{listed}".encode()).blocks

    assert (first.kind, len(first.rows), second.kind, len(second.rows)) == ("table", 2, "table", 2)


def test_html_becomes_the_markdown_of_its_content() -> None:
    """Menus, scripts and anchors are removed; headings, code, lists and tables stay."""
    page = (
        "<html><head><title>Page</title><style>p{}</style></head><body><nav>Menu</nav><h1>Hello"
        '<a class="headerlink" href="#h">#</a></h1><p>Some <b>bold</b> snake_case words.</p>'
        '<pre><code class="language-js">let a = 1;</code></pre><ul><li>one</li></ul>'
        "<table><tr><th>A</th><th>B</th></tr><tr><td>1</td><td>2 | 3</td></tr></table>"
        "<script>x()</script></body></html>"
    )

    parsed = parse("page.html", page.encode())

    assert parsed.title == "Hello"
    assert blocks(parsed) == [
        ("heading", "# Hello"),
        ("paragraph", "Some **bold** snake_case words."),
        ("fence", "```js\nlet a = 1;\n```"),
        ("item", "- one"),
        ("table", "| A | B |\n| --- | --- |\n| 1 | 2 \\| 3 |"),
    ]


def test_a_notebook_becomes_its_text_code_and_output() -> None:
    """Cells in order, code in fences of the notebook's language."""
    notebook = (
        '{"metadata":{"kernelspec":{"language":"python"}},"cells":[{"cell_type":"markdown","source":["# Study\\n"]},'
        '{"cell_type":"code","source":"print(1)","outputs":[{"output_type":"stream","text":["1\\n"]}]}]}'
    )

    parsed = parse("study.ipynb", notebook.encode())

    assert parsed.text == "# Study\n\n```python\nprint(1)\n```\n\n```\n1\n```\n"


@pytest.mark.parametrize(
    ("octets", "text"),
    [
        ("naïve\n".encode("utf-8-sig"), "naïve\n"),
        ("naïve\n".encode("utf-16"), "naïve\n"),
        ("plain words\n".encode("utf-16-le"), "plain words\n"),
        ("Das Übermaß der Gefühle überwältigt die Schüler früh.\n".encode("cp1252"), None),
        (b"a good line \xe2\x82\xac\nand \xff one bad octet\n" + "żółć ".encode() * 20, None),
        (b"one\r\ntwo\rthree\0\n", "one\ntwo\nthree\ufffd\n"),
    ],
)
def test_broken_and_foreign_encodings_survive(octets: bytes, text: str | None) -> None:
    """Text in any encoding is read, with Unix line ends, and broken bytes are marked."""
    parsed = parse("a.txt", octets)

    assert parsed.text == text if text else parsed.notes
    assert "\0" not in parsed.text
    assert "\r" not in parsed.text


def test_a_page_says_which_encoding_it_has() -> None:
    """If it is not UTF-8, its declaration counts."""
    page = "<html><meta charset='iso-8859-2'><p>żółć</p></html>".encode("iso-8859-2")

    assert parse("a.html", page).text == "żółć\n"


@pytest.mark.parametrize(
    ("path", "octets", "reason"),
    [
        ("a.md", b"", "empty"),
        ("a.txt", b" \n\t\n", "empty"),
        ("a.txt", bytes(range(256)) * 40, "binary"),
        ("a.ipynb", b"{", "unreadable"),
        ("a.ipynb", b'{"cells": 1}', "unreadable"),
    ],
)
def test_bytes_that_are_not_text_are_refused_with_a_reason(path: str, octets: bytes, reason: str) -> None:
    """The reason is one of those in the list of skipped files."""
    with pytest.raises(UnreadableDocument) as failure:
        parse(path, octets)

    assert failure.value.reason == reason


@given(st.sampled_from(["md", "rst", "txt", "html", "py", "ipynb", "cpp"]), st.binary(max_size=300))
@settings(max_examples=200, deadline=None)
def test_any_octets_are_read_or_refused(ending: str, octets: bytes) -> None:
    """Readers raise only `UnreadableDocument`, and blocks are in order and cover everything that is not blank."""
    try:
        parsed = parse(f"file.{ending}", octets)
    except UnreadableDocument:
        return

    place = 0
    for block in parsed.blocks:
        assert parsed.text[place : block.start].strip() == ""
        assert block.start < block.end
        place = block.end
    assert parsed.text[place:].strip() == ""
