"""Answers: within the budget, verbatim, continued by cursors, and helpful if nothing fits."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.knowledge_documents.conftest import VPN, machines
from thresher.core import Caller, InvalidInput, NotFound
from thresher.embedding import count_tokens
from thresher.knowledge.documents import GUIDE, DocumentService, origin_of


@pytest.fixture
async def asked(documents: DocumentService, caller: Caller, handbook: Path, manual: Path) -> DocumentService:
    """The service with both folders indexed."""
    await documents.index_here(caller, "handbook", origin_of(str(handbook)))
    await documents.index_here(caller, "manual", origin_of(str(manual)))
    return documents


async def test_a_document_that_fits_is_returned_whole(asked: DocumentService, caller: Caller) -> None:
    """The best document is chosen by its chunks, and nothing is added to it."""
    answer = await asked.retrieve_document(caller, "my hotel blocks the tunnel, which port helps?", "handbook")

    assert answer.content == VPN
    assert answer.document == "guides/vpn.md"
    assert (answer.was_compressed, answer.left_out, answer.cursor) == (False, (), "")
    assert answer.token_count == answer.original_token_count == count_tokens(VPN)
    assert answer.tokenizer == "o200k"


@pytest.mark.parametrize("budget", [250, 400, 1000, 3000])
async def test_a_long_document_is_cut_to_relevant_passages(asked: DocumentService, caller: Caller, budget: int) -> None:
    """The passages are verbatim under their headings, and all of it is within the budget."""
    answer = await asked.retrieve_document(caller, "spare part number of machine 23", "manual", budget=budget)

    assert count_tokens(answer.content) == answer.token_count <= budget
    assert "SP-0023" in answer.content
    assert all(machines()[part.start : part.end] in answer.content for part in answer.sources)
    assert answer.was_compressed
    assert answer.left_out
    assert answer.cursor


async def test_cursors_return_the_rest_until_nothing_is_left(asked: DocumentService, caller: Caller) -> None:
    """All answers together contain every machine once."""
    question, pages, cursor = "which machine is the heaviest", list[str](), ""
    while True:
        answer = await asked.retrieve_document(caller, question, "manual", budget=1500, cursor=cursor)
        pages.append(answer.content)
        if not (cursor := answer.cursor):
            break

    parts = [f"SP-{number:04d}" for number in range(1, 41)]
    assert [sum(page.count(part) for page in pages) for part in parts] == [1] * 40
    assert len(pages) > 2


async def test_a_cursor_belongs_to_its_question(asked: DocumentService, caller: Caller) -> None:
    """The error for another question, or for text that is not a cursor, says what to do."""
    answer = await asked.retrieve_document(caller, "which machine is the oldest", "manual", budget=300)

    with pytest.raises(InvalidInput):
        await asked.retrieve_document(caller, "which is the newest", "manual", budget=300, cursor=answer.cursor)
    with pytest.raises(InvalidInput):
        await asked.retrieve_document(caller, "which machine is the oldest", "manual", budget=300, cursor="x")


async def test_a_cursor_belongs_to_its_document(asked: DocumentService, caller: Caller, manual: Path) -> None:
    """Naming another document than that of the cursor is an error; naming the same one is not."""
    (manual / "other.md").write_text("# Other\n\nA page about nothing.\n")
    await asked.index_here(caller, "manual", origin_of(str(manual)))
    question = "which machine is the oldest", "manual"
    first = await asked.retrieve_document(caller, *question, budget=300)

    again = await asked.retrieve_document(caller, *question, budget=300, cursor=first.cursor, document="machines.md")
    with pytest.raises(InvalidInput, match="another list or question"):
        await asked.retrieve_document(caller, *question, budget=300, cursor=first.cursor, document="other.md")

    assert again.sources


async def test_a_cursor_of_a_document_that_has_changed_says_so(
    asked: DocumentService, caller: Caller, manual: Path
) -> None:
    """What it left out may no longer exist."""
    answer = await asked.retrieve_document(caller, "which machine is the oldest", "manual", budget=300)
    (manual / "machines.md").write_text(machines(30))
    await asked.index_here(caller, "manual", origin_of(str(manual)))

    with pytest.raises(NotFound, match="changed"):
        await asked.retrieve_document(caller, "which machine is the oldest", "manual", budget=300, cursor=answer.cursor)


async def test_the_answer_is_the_guide_if_nothing_fits(asked: DocumentService, caller: Caller) -> None:
    """Counted, within the budget, with what to try instead."""
    answer = await asked.retrieve_document(caller, "capital of Mongolia", "handbook", budget=60)

    assert not answer.found
    assert answer.hint
    assert [part.path for part in answer.sources] == [GUIDE]
    assert count_tokens(answer.content) == answer.token_count <= 60
    assert (await asked.repository(caller, "handbook")).guide.startswith(answer.content)


async def test_a_question_can_be_limited_to_one_document(asked: DocumentService, caller: Caller) -> None:
    """Even if another document fits better; the error for an unknown one names the nearest."""
    answer = await asked.retrieve_document(caller, "error 809", "handbook", document="guides/leave.md")

    assert answer.document == "guides/leave.md"
    with pytest.raises(NotFound, match=r"guides/leave\.md"):
        await asked.retrieve_document(caller, "error 809", "handbook", document="guide/leave.md")


@pytest.mark.parametrize("search_type", ["hybrid", "text", "semantic"])
async def test_each_way_of_searching_finds_it(asked: DocumentService, caller: Caller, search_type: str) -> None:
    """The answer names the search type."""
    answer = await asked.retrieve_document(caller, "paid holidays for employees", "handbook", search_type=search_type)

    assert (answer.document, answer.search_type) == ("guides/leave.md", search_type)


async def test_the_cross_encoder_may_take_part(asked: DocumentService, caller: Caller) -> None:
    """The answer keeps its form."""
    answer = await asked.retrieve_document(
        caller, "what does machine 12 weigh", "manual", budget=400, rerank=True, context="old machines"
    )

    assert "Machine 12" in answer.content
    assert answer.timings["rerank"] > 0


@pytest.mark.parametrize(
    "wrong",
    [
        {"query": " "},
        {"budget": 0},
        {"budget": 10**9},
        {"search_type": "fuzzy"},
        {"mode": "poetic"},
    ],
)
async def test_arguments_out_of_bounds_are_refused(
    documents: DocumentService, caller: Caller, wrong: dict[str, object]
) -> None:
    """Before anything is searched."""
    asked = {"query": "x", "repository": "handbook", **wrong}

    with pytest.raises(InvalidInput):
        await documents.retrieve_document(caller, **asked)  # type: ignore[arg-type]


async def test_an_unknown_repository_is_answered_with_the_nearest(asked: DocumentService, caller: Caller) -> None:
    """For every verb that takes one."""
    with pytest.raises(NotFound, match="'handbook'"):
        await asked.retrieve_document(caller, "x", "hanbook")
    with pytest.raises(NotFound, match="'handbook'"):
        await asked.search_documents(caller, "x", "handbok")
    with pytest.raises(NotFound, match="'manual'"):
        await asked.read_document(caller, "manul", "machines.md")
    with pytest.raises(NotFound, match="'manual'"):
        await asked.refresh(caller, "mannual")


async def test_a_repository_without_documents_shows_its_state(
    documents: DocumentService, caller: Caller, tmp_path: Path
) -> None:
    """An empty folder is not an error."""
    await documents.index_here(caller, "empty", origin_of(str(tmp_path)))

    answer = await documents.retrieve_document(caller, "anything", "empty")
    passages = await documents.search_documents(caller, "anything")

    assert not answer.found
    assert "no documents" in answer.hint
    assert passages.passages == ()
    assert passages.hint


async def test_passages_of_all_repositories_are_ranked_together(asked: DocumentService, caller: Caller) -> None:
    """Each with its repository, place, words and text."""
    found = await asked.search_documents(caller, "doctor's note for illness", limit=5)

    first = found.passages[0]
    assert (first.repository, first.part.path) == ("handbook", "guides/leave.md")
    assert "doctor's note" in first.text
    assert first.part.first_line <= 9 <= first.part.last_line
    assert [one.score for one in found.passages] == sorted((one.score for one in found.passages), reverse=True)
    assert found.token_count == sum(count_tokens(one.text) for one in found.passages)


async def test_passages_go_on_by_cursor(asked: DocumentService, caller: Caller) -> None:
    """No passage comes twice."""
    first = await asked.search_documents(caller, "machine oiled every morning", "manual", limit=4)
    second = await asked.search_documents(caller, "machine oiled every morning", "manual", limit=4, cursor=first.cursor)

    starts = [one.part.start for one in (*first.passages, *second.passages)]
    assert len(starts) == len(set(starts)) == 8
    with pytest.raises(InvalidInput):
        await asked.search_documents(caller, "other words", "manual", cursor=first.cursor)


async def test_a_search_by_words_finds_only_chunks_with_some_of_them(asked: DocumentService, caller: Caller) -> None:
    """Page after page, each passage once, even with many equal scores."""
    starts: list[int] = []
    cursor = None
    while cursor != "":
        found = await asked.search_documents(caller, "oiled", "manual", search_type="text", limit=3, cursor=cursor)
        starts += [one.part.start for one in found.passages]
        assert all("oiled" in one.text for one in found.passages)
        cursor = found.cursor

    assert len(starts) == len(set(starts)) > 3


async def test_without_any_repository_there_is_nothing_to_search(documents: DocumentService, caller: Caller) -> None:
    """The answer says so; it is not an error."""
    found = await documents.search_documents(caller, "anything")

    assert (found.passages, found.searched) == ((), 0)
    assert found.hint
    assert not await documents.sees_any(caller)
