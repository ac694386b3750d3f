"""Documents are cut into chunks that keep together what belongs together."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thresher.embedding import count_tokens
from thresher.knowledge.documents.chunking import chunk
from thresher.knowledge.documents.models import Chunked, Parsed
from thresher.knowledge.documents.reading import parse
from thresher.knowledge.documents.reading.encodings import storable
from thresher.knowledge.documents.reading.markdown import read_markdown

MARKUP = st.sampled_from(
    [
        *("# A\n", "## B\n\n", "= = C = =\n", "- item\n", "  - inner\n", "> quote\n", "\n\n", "    code\n", "```\n"),
        *("| a | b |\n|---|---|\n", "| 1 | 2 |\n", "<table>\n<tr>\n", "</table>\n"),
        *("A sentence. Another one! ", "word " * 40, "\\n"),
    ]
)
TEXTS = st.lists(MARKUP | st.text(max_size=40), max_size=40).map("".join)


def read(text: str, path: str = "notes.md") -> Parsed:
    """The text as a reader parses it."""
    return parse(path, text.encode())


def texts(parsed: Parsed, chunked: Chunked) -> list[str]:
    """The text of each chunk."""
    return [parsed.text[one.start : one.end] for one in chunked.chunks]


@given(TEXTS)
@settings(max_examples=300, deadline=None)
def test_chunks_partition_any_text(text: str) -> None:
    """Joined in order, the chunks are the text; lines and tokens are exact."""
    text, _ = storable(text)
    parsed = Parsed(text, "", "markdown", read_markdown(text).blocks)

    chunked = chunk(parsed)

    assert "".join(texts(parsed, chunked)) == parsed.text
    for one in chunked.chunks:
        assert one.tokens == count_tokens(parsed.text[one.start : one.end])
        assert one.first_line == parsed.text.count("\n", 0, one.start) + 1
        assert one.last_line == one.first_line + parsed.text[one.start : one.end].rstrip("\n").count("\n")


def test_a_heading_stays_with_what_follows_it() -> None:
    """No chunk ends with a heading."""
    parsed = read("\n\n".join(f"## Part {number}\n\n" + "Some words of prose. " * 40 for number in range(5)))

    chunked = chunk(parsed)

    assert [one for one in texts(parsed, chunked) if one.rstrip().splitlines()[-1].startswith("#")] == []
    assert chunked.headings[1:] == tuple((f"Part {number}",) for number in range(5))


def test_a_long_table_is_cut_between_rows_and_names_its_header() -> None:
    """Each part of a table consists of whole rows; those without the header say where it is."""
    head = "| key | meaning |\n|---|---|\n"
    parsed = read("# Keys\n\n" + head + "".join(f"| key{row} | {'what it means ' * 5}|\n" for row in range(60)))

    chunked = chunk(parsed)

    parts = [one for one in chunked.chunks if one.kind == "table"]
    assert len(parts) > 3
    assert all(parsed.text[one.end - 1] == "\n" for one in parts)
    assert [parsed.text[one.head_start : one.head_end] for one in parts] == ["", *[head] * (len(parts) - 1)]


def test_a_code_block_is_never_cut() -> None:
    """A fence of any usual length is one chunk."""
    fence = "```python\n" + "".join(f"value_{line} = compute({line})\n\n" for line in range(200)) + "```"
    parsed = read(f"Before.\n\n{fence}\n\nAfter.\n")

    chunked = chunk(parsed)

    assert sum(fence in one for one in texts(parsed, chunked)) == 1


def test_a_caption_stays_with_its_table() -> None:
    """The table would not be found without it, and it answers nothing without the table."""
    rows = "".join(f"| key{row} | {'what it means ' * 5}|\n" for row in range(60))
    parsed = read(f"{'Words of prose. ' * 60}\n\nTable 3.1. All keys.\n\n| key | meaning |\n|---|---|\n{rows}")

    chunked = chunk(parsed)

    assert sum(one.startswith("Table 3.1. All keys.\n\n| key |") for one in texts(parsed, chunked)) == 1


def test_small_sections_share_a_chunk_under_their_common_heading() -> None:
    """A section of one line is not found alone."""
    parsed = read("# Book\n\n## A\n\nOne.\n\n## B\n\nTwo.\n")

    chunked = chunk(parsed)

    assert [chunked.headings[one.heading] for one in chunked.chunks] == [("Book",)]


def test_sentences_are_not_cut() -> None:
    """Chunks of prose end where sentences end; abbreviations do not end a sentence."""
    sentence = f"As Dr. Smith et al. found in Fig. 3, the value (i.e. 1.5) holds for {'more ' * 30}runs. "
    parsed = read(sentence * 30, "notes.txt")

    chunked = chunk(parsed)

    assert len(chunked.chunks) > 10
    assert all(parsed.text[one.start :].startswith("As Dr. Smith") for one in chunked.chunks)


def test_sentences_without_capitals_are_not_cut() -> None:
    """Extracts of financial reports are often written in lower case, a page on one line."""
    sentences = [
        f"as of december 31, 20{year}, the company, inc. had credits of approx. ${year} million, net of benefit. "
        for year in range(10, 60)
    ]
    parsed = read("".join(sentences))

    found = texts(parsed, chunk(parsed))

    assert len(found) > 10
    assert all(sum(sentence.strip() in one for one in found) == 1 for sentence in sentences)


def test_an_abbreviation_does_not_make_a_text_one_without_capitals() -> None:
    """Where sentences begin with capitals, a full stop before a small letter ends none."""
    text = "The valve acc. to the plan opens. " * 40
    parsed = read(text)

    assert all(one.strip().endswith("opens.") for one in texts(parsed, chunk(parsed)))


def test_front_matter_stays_separate() -> None:
    """Front matter is a chunk of its own kind."""
    chunked = chunk(read("---\ntitle: A\n---\n\n# A\n\nWords.\n"))

    assert [one.kind for one in chunked.chunks] == ["matter", "paragraph"]


def test_an_empty_text_has_no_chunks() -> None:
    """The empty heading path is always first."""
    assert chunk(Parsed("", "", "text", ())) == Chunked((), ((),))


HOSTILE = {
    "blanks.md": "a" + " " * 100_000 + "b",
    "letters.txt": "a" * 200_000,
    "lines.txt": "a\n" * 20_000,
    "headings.md": "# a\n" * 5_000,
    "items.md": "- a\n" * 5_000,
    "quotes.md": ">" * 100_000,
    "brackets.md": "[" * 100_000,
    "fence.md": "```\n" + "x y" * 50_000,
    "tags.md": "<table>\n<tr>\n" * 5_000,
    "ideographs.txt": "\u6f22\u5b57\u3002" * 20_000,
    "records.txt": "}, {" * 30_000,
    "directives.rst": ".. x::\n" * 5_000,
    "items.rst": "- a\n" * 5_000,
    "deep.py": "(" * 100_000,
    "deep.js": "{" * 100_000,
    "deep.html": "<div>" * 1_500 + "words",
    "heading.md": "# " + "_ " * 50_000,
}


@pytest.mark.parametrize("path", HOSTILE)
def test_unusual_texts_are_cut_too(path: str) -> None:
    """Time is linear in the length, and no chunk is larger than a few sentences."""
    parsed = read(HOSTILE[path], path)

    chunked = chunk(parsed)

    assert "".join(texts(parsed, chunked)) == parsed.text
    assert max(one.tokens for one in chunked.chunks) < 1_000 or path in ("fence.md", "tags.md")
