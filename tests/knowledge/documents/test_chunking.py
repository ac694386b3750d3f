"""Documents are cut into chunks that keep together what belongs together."""

from __future__ import annotations

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
    """The text as a reader sees it."""
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
    """Each part of a table consists of whole rows; those without the header say where it stands."""
    head = "| key | meaning |\n|---|---|\n"
    parsed = read("# Keys\n\n" + head + "".join(f"| key{row} | {'what it means ' * 5}|\n" for row in range(60)))

    chunked = chunk(parsed)

    parts = [one for one in chunked.chunks if one.kind == "table"]
    assert len(parts) > 3
    assert all(parsed.text[one.end - 1] == "\n" for one in parts)
    assert [parsed.text[one.head_start : one.head_end] for one in parts] == ["", *[head] * (len(parts) - 1)]


def test_a_code_block_is_never_cut() -> None:
    """A fence of any sensible length is one chunk."""
    fence = "```python\n" + "".join(f"value_{line} = compute({line})\n\n" for line in range(200)) + "```"
    parsed = read(f"Before.\n\n{fence}\n\nAfter.\n")

    chunked = chunk(parsed)

    assert sum(fence in one for one in texts(parsed, chunked)) == 1
