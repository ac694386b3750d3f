"""Pages of a document: lines, sections, cursors."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.knowledge_documents.conftest import LEAVE, machines
from thresher.core import Caller, InvalidInput, NotFound
from thresher.embedding import count_tokens
from thresher.knowledge.documents import DocumentService, origin_of

CODE = '''"""A module."""


class Engine:
    """Runs."""

    def start(self) -> None:
        """Begin."""
        self.running = True

    def stop(self) -> None:
        """End."""
        self.running = False


def main() -> None:
    """Run."""
    Engine().start()
'''


@pytest.fixture
async def read(documents: DocumentService, caller: Caller, handbook: Path) -> DocumentService:
    """The service with a folder of several kinds of files."""
    (handbook / "machines.md").write_text(machines())
    (handbook / "engine.py").write_text(CODE)
    (handbook / "long.txt").write_text("word " * 3000)
    await documents.index_here(caller, "handbook", origin_of(str(handbook)))
    return documents


async def test_pages_put_together_are_the_document(read: DocumentService, caller: Caller) -> None:
    """Each ends at the end of a line and is within its budget."""
    pages, cursor = list[str](), None
    while True:
        page = await read.read_document(caller, "handbook", "machines.md", cursor=cursor, budget=700)
        assert count_tokens(page.content) == page.token_count <= 700
        assert page.content == machines()[page.part.start : page.part.end]
        pages.append(page.content)
        if not (cursor := page.cursor):
            break

    assert "".join(pages) == machines()
    assert all(page.endswith("\n") for page in pages)
    assert len(pages) > 3


@pytest.mark.parametrize(
    ("lines", "first", "last"), [("3-7", 3, 7), ((1, 2), 1, 2), ("5", 5, 5), ("7-", 7, 9), ("8-99", 8, 9)]
)
async def test_lines_are_whole(
    read: DocumentService, caller: Caller, lines: str | tuple[int, int], first: int, last: int
) -> None:
    """From the first to the last requested line, or to the end."""
    page = await read.read_document(caller, "handbook", "guides/leave.md", lines=lines)

    assert page.content == "".join(LEAVE.splitlines(keepends=True)[first - 1 : last])
    assert (page.part.first_line, page.total_lines) == (first, 9)
    assert page.cursor == ""


async def test_every_single_line_is_found(read: DocumentService, caller: Caller) -> None:
    """Wherever chunks begin, even inside lines."""
    for number, line in enumerate(machines(3).splitlines(keepends=True), 1):
        page = await read.read_document(caller, "handbook", "machines.md", lines=(number, number))

        assert (page.content, page.part.first_line) == (line, number)


@pytest.mark.parametrize("section", ["Illness", "illness", "Taking leave > Illness", "Taking Leave>Illness"])
async def test_a_section_is_found_by_its_heading(read: DocumentService, caller: Caller, section: str) -> None:
    """With the headings above it or without."""
    page = await read.read_document(caller, "handbook", "guides/leave.md", section=section)

    assert page.content == LEAVE[LEAVE.index("## Illness") :]


async def test_a_section_of_code_is_a_function(read: DocumentService, caller: Caller) -> None:
    """By its name."""
    page = await read.read_document(caller, "handbook", "engine.py", section="main")

    assert page.content.startswith("def main()")


async def test_a_line_that_is_too_long_is_cut(read: DocumentService, caller: Caller) -> None:
    """No other part would fit; the cursor continues inside the line."""
    page = await read.read_document(caller, "handbook", "long.txt", budget=100)
    rest = await read.read_document(caller, "handbook", "long.txt", budget=5000, cursor=page.cursor)

    assert 90 <= page.token_count <= 100
    assert page.content + rest.content == "word " * 3000


@pytest.mark.parametrize(
    "wrong",
    [
        {"lines": "x"},
        {"lines": "0-3"},
        {"lines": (5, 2)},
        {"cursor": "1"},
        {"cursor": "1.2.3"},
        {"lines": "1-2", "section": "Illness"},
        {"budget": 0},
    ],
)
async def test_what_cannot_be_read_is_refused(read: DocumentService, caller: Caller, wrong: dict[str, object]) -> None:
    """The hint says what to do instead."""
    with pytest.raises(InvalidInput) as raised:
        await read.read_document(caller, "handbook", "guides/leave.md", **wrong)  # type: ignore[arg-type]

    assert raised.value.hint


async def test_a_missing_part_is_answered_with_the_nearest(read: DocumentService, caller: Caller) -> None:
    """A path by its last part, a section by its words, a line by the number of lines."""
    with pytest.raises(NotFound, match=r"guides/leave\.md"):
        await read.read_document(caller, "handbook", "Leave.md")
    with pytest.raises(NotFound, match="Illness"):
        await read.read_document(caller, "handbook", "guides/leave.md", section="Ilness")
    with pytest.raises(NotFound, match="9 lines"):
        await read.read_document(caller, "handbook", "guides/leave.md", lines="400-500")
