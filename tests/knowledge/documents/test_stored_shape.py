"""Pure parts around stored documents: differences, sections, pages, caches."""

from __future__ import annotations

import numpy as np
import pytest
from cachetools import LRUCache
from hypothesis import given
from hypothesis import strategies as st

from thresher.core import NotFound
from thresher.embedding import count_tokens
from thresher.knowledge.documents.answers.pages import within
from thresher.knowledge.documents.cache import chunks_of_documents, keep
from thresher.knowledge.documents.guides.text import cut_to_budget
from thresher.knowledge.documents.indexing.preparation import (
    BATCH_BYTES,
    BATCH_FILES,
    FORMAT,
    batches,
    difference,
    lines_in,
    prepare,
)
from thresher.knowledge.documents.models import Block, SourceFile, chunk_id, key_of
from thresher.knowledge.documents.queries import RefusedFile, StoredVersion
from thresher.knowledge.documents.sections import CharacterRange, section_of, sections_of


def stored(number: int, path: str, blob: str, *, current: bool = True, form: int = FORMAT) -> StoredVersion:
    """A version in the database."""
    return StoredVersion(number, path, blob, form, 1, current)


def test_a_file_with_the_same_path_and_blob_is_kept() -> None:
    """Everything else is read, completed, retired or deleted."""
    files = [SourceFile(path, blob, 1) for path, blob in (("a", "1"), ("b", "2"), ("c", "3"), ("d", "4"), ("e", "5"))]
    versions = [
        stored(1, "a", "1"),
        stored(2, "b", "old"),
        stored(3, "c", "3", current=False),
        stored(4, "d", "4", form=FORMAT - 1),
        stored(5, "gone", "6"),
        stored(6, "a", "0", current=False),
        stored(7, "e", "before"),
    ]

    found = difference(files, versions, {"e": RefusedFile("e", "empty", "", "5", FORMAT)})

    assert [file.path for file in found.read] == ["b", "d"]
    assert [one.id for one in found.finish] == [3]
    assert [one.id for one in found.gone] == [5, 7]
    assert [one.id for one in found.stale] == [6]
    assert [one.path for one in found.refused] == ["e"]
    assert found.kept == 2


def test_a_refused_file_is_tried_again_when_it_or_its_reader_has_changed() -> None:
    """By its blob, and by the edition of the readers."""
    file = SourceFile("a", "2", 1)

    assert difference([file], [], {"a": RefusedFile("a", "empty", "", "1", FORMAT)}).read == (file,)
    assert difference([file], [], {"a": RefusedFile("a", "empty", "", "2", FORMAT - 1)}).read == (file,)
    assert difference([file], [], {"a": RefusedFile("a", "empty", "", "2", FORMAT)}).read == ()


@given(st.lists(st.integers(0, 3 * BATCH_BYTES), max_size=200))
def test_batches_hold_every_file_once_and_not_too_much(sizes: list[int]) -> None:
    """A file above the limit is a batch of its own."""
    files = [SourceFile(str(number), "", size) for number, size in enumerate(sizes)]

    groups = batches(files)

    assert [file for group in groups for file in group] == files
    assert all(len(group) <= BATCH_FILES for group in groups)
    assert all(len(group) == 1 or sum(file.size for file in group) <= BATCH_BYTES for group in groups)


@given(st.integers(1, 2**40), st.integers(0, 2**20 - 1))
def test_a_chunks_id_tells_its_document_and_place(document: int, ordinal: int) -> None:
    """No lookup is needed."""
    assert key_of(chunk_id(document, ordinal)) == (document, ordinal)


@given(st.sets(st.tuples(st.integers(1, 6), st.integers(0, 4))), st.sets(st.integers(1, 6)))
def test_the_chunks_of_some_documents_are_found_among_all(keys: set[tuple[int, int]], documents: set[int]) -> None:
    """As a scan would find them; None stands for all."""
    chunks = np.array(sorted(chunk_id(*key) for key in keys), np.int64)

    places = chunks_of_documents(chunks, np.array(sorted(documents), np.int64))

    found = chunks if places is None else chunks[places]
    assert [key_of(number)[0] in documents for number in found.tolist()] == [True] * len(found)
    assert len(found) == sum(document in documents for document, _ in keys)


@pytest.mark.parametrize(
    ("wanted", "start", "end"),
    [
        ("Setup", 10, 40),
        ("setup > linux", 20, 30),
        ("Guide > Setup > Mac", 30, 40),
        ("USE", 40, 90),
        ("Use > Linux", 50, 90),
        ("Lin", 20, 30),
    ],
)
def test_a_section_ends_where_the_next_of_its_level_begins(wanted: str, start: int, end: int) -> None:
    """The first of this name, with the headings above it if they are given."""
    titles = [(1, "Guide", 0), (2, "Setup", 10), (3, "Linux", 20), (3, "Mac", 30), (2, "Use", 40), (3, "Linux", 50)]

    assert section_of(wanted, titles, 90) == CharacterRange(start, end)


def test_a_missing_section_is_answered_with_the_nearest() -> None:
    """Or says how else to read."""
    with pytest.raises(NotFound, match="Setup"):
        section_of("Stup", [(1, "Setup", 0)], 9)
    with pytest.raises(NotFound, match="lines"):
        section_of("Setup", [], 9)


def test_headings_and_named_code_are_sections() -> None:
    """Other blocks are not."""
    blocks = [
        Block("heading", 0, 5, 1, "A"),
        Block("paragraph", 6, 9),
        Block("code", 10, 20, 1, "A.run"),
        Block("code", 20, 30),
    ]

    assert sections_of(blocks) == [(1, "A", 0), (1, "A.run", 10)]


@given(st.text(alphabet="ab \n\r", max_size=400), st.integers(1, 40))
def test_a_page_is_the_beginning_in_whole_lines(text: str, budget: int) -> None:
    """Only a first line that is too long is cut."""
    page = within(text, budget)

    assert text.startswith(page)
    assert count_tokens(page) <= budget
    assert not text or page
    assert page == text or page.endswith("\n") or "\n" not in page


@given(st.text(alphabet="ab \n", max_size=300), st.integers(1, 60))
def test_a_guide_is_cut_on_a_line(text: str, budget: int) -> None:
    """It does not exceed its budget."""
    cut = cut_to_budget(text, budget)

    assert text.startswith(cut)
    assert count_tokens(cut) <= budget
    assert cut in (text, "") or cut.endswith("\n")


@given(st.text(alphabet="a\n", max_size=30))
def test_lines_are_counted_as_editors_do(text: str) -> None:
    """A line break at the end begins no further one."""
    assert not text or lines_in(text) == len(text.splitlines())


def test_a_file_is_prepared_whole() -> None:
    """The texts of its chunks joined together are its text; counts agree."""
    data = b"# One\n\nA first paragraph.\n\n## Two\n\n" + b"Some words in a row. " * 100

    made = prepare(SourceFile("a.md", "b", len(data)), data)

    assert "".join(made.texts) == data.decode()
    assert (made.write.chunks, made.write.title) == (len(made.texts), "One")
    assert made.write.tokens == count_tokens(data.decode())
    assert [title for _, title, _ in made.write.sections] == ["One", "Two"]


def test_the_least_recently_used_value_is_dropped_first() -> None:
    """A value that exceeds the limit by itself is not kept."""
    memory: LRUCache[str, str] = LRUCache(6, len)
    keep(memory, "a", "xx")
    keep(memory, "b", "xx")
    keep(memory, "c", "xx")
    memory.get("a")

    keep(memory, "d", "xx")
    keep(memory, "e", "x" * 7)
    keep(memory, "a", "yyyy")

    assert [memory.get(key) for key in "abcde"] == ["yyyy", None, None, "xx", None]
