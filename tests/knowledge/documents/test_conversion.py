"""PDF and Word files are converted in a process with limits."""

from __future__ import annotations

import io
import zipfile

import pytest

from tests.knowledge.documents.files import pdf, word
from thresher.knowledge.documents.reading import UnreadableDocument, parse
from thresher.knowledge.documents.reading.conversion import convert


def bomb() -> bytes:
    """A Word file whose directory says that it unpacks to 3 GB."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(3):
            archive.writestr(f"word/{number}.xml", b"0" * (1 << 20))
    return out.getvalue().replace((1 << 20).to_bytes(4, "little"), (1 << 30).to_bytes(4, "little"))


def test_a_pdf_has_a_heading_for_each_page_and_chapter() -> None:
    """Chapters come from its outline; words divided at the end of a line are joined."""
    parsed = parse("book.pdf", pdf([["First", "an exam-", "ple"], ["Second", "more"]], chapters=[("Second", 1)]))

    assert parsed.text == "###### Page 1\n\nFirst\nan example\n\n###### Page 2\n\n# Second\n\nmore\n"
    assert [block.title for block in parsed.blocks if block.kind == "heading"] == ["Page 1", "Page 2", "Second"]


def test_running_headers_of_a_pdf_are_left_out() -> None:
    """Lines at the edge of most pages, page numbers included, are not content."""
    pages = [["The Book", *(f"Line {line} of {name}." for line in range(8)), f"{name} 7"] for name in "abcdef"]
    numbered = [[*page[:-1], f"- {number} -"] for number, page in enumerate(pages)]

    parsed = parse("book.pdf", pdf(numbered))

    assert "The Book" not in parsed.text
    assert "- 3 -" not in parsed.text
    assert "Line 7 of f." in parsed.text


def test_a_word_file_becomes_markdown() -> None:
    """Styles and numbering determine headings, lists, quotes and tables."""
    parts = [
        *(("Title", "The Doc"), ("Heading 1", "Intro"), ("Normal", "Words.\n# none")),
        *(("List Bullet", "one"), ("List Bullet", "two"), ("table", [["A", "B"], ["1", "2|3"]]), ("Quote", "said")),
    ]

    parsed = parse("doc.docx", word(parts))

    assert parsed.title == "The Doc"
    assert parsed.text == (
        "# The Doc\n\n## Intro\n\nWords.\n\\# none\n\n- one\n- two\n\n"
        "| A | B |\n| --- | --- |\n| 1 | 2\\|3 |\n\n> said\n"
    )


@pytest.mark.parametrize(
    ("path", "octets"),
    [
        ("locked.pdf", pdf([["secret"]], password="key")),
        ("cut.pdf", pdf([["words"]])[:300]),
        ("junk.pdf", b"%PDF-1.7 junk" * 100),
        ("scan.pdf", pdf([[]])),
        ("cut.docx", word([("Normal", "words")])[:2000]),
        ("junk.docx", b"PK\x03\x04" * 100),
    ],
)
def test_broken_and_locked_files_are_refused(path: str, octets: bytes) -> None:
    """The error says what is wrong with them."""
    with pytest.raises(UnreadableDocument) as failure:
        parse(path, octets)

    assert failure.value.reason == "unreadable"
    assert failure.value.detail.startswith("It ")


def test_a_zip_bomb_is_never_unpacked() -> None:
    """Its size is read from its directory."""
    with pytest.raises(UnreadableDocument, match="256 MB"):
        parse("bomb.docx", bomb())


def test_a_file_that_takes_too_long_is_given_up() -> None:
    """The converting process ends; this one continues."""
    page = ("<p>a<b>" * 30_000).encode()

    with pytest.raises(UnreadableDocument, match="seconds"):
        convert("html", page, seconds=1)
