"""Answers from several documents: coverage before depth, names, the budget, and what is said of what was left out."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from thresher.core import Caller, InvalidInput, NotFound
from thresher.embedding import count_tokens
from thresher.knowledge.documents import DocumentService, MultiRetrieval, origin_of
from thresher.knowledge.documents.answers.document_choice import without_names

CLAUSES = {
    "alderway": (
        "Alderway hosting agreement",
        "Either party may end the agreement by giving ninety days' notice in writing.",
        "Alderway may transfer the agreement to an affiliate without asking.",
    ),
    "korvane": (
        "Services agreement",
        "The agreement may be brought to an end upon not less than thirty days' prior written notice.",
        "No right under the agreement can be assigned unless the other party has consented in writing.",
    ),
    "pelltrix": (
        "Pelltrix software licence",
        "Notice of termination is given at least six months before the end of a year.",
        "The licensee may assign the licence to the successor of its business.",
    ),
}
PARTIES = {"alderway": "Alderway Ltd", "korvane": "Korvane Logistics", "pelltrix": "Pelltrix Ltd"}


def _contract(key: str) -> str:
    title, notice, assignment = CLAUSES[key]
    work = "\n".join(
        f"## Schedule {number}\n\nThe supplier delivers report {number} to the customer by day {number} of a month,"
        f" keeps a log of complaints, and names {number} persons who answer questions about warehouse {number}.\n"
        for number in range(1, 13)
    )
    return (
        f"# {title}\n\nThis agreement is made between {PARTIES[key]} and Brightmoor Foods.\n\n{work}\n"
        f"## Term\n\n{notice}\n\n## Transfer\n\n{assignment}\n"
    )


@pytest.fixture
async def contracts(documents: DocumentService, caller: Caller, tmp_path: Path) -> DocumentService:
    """The service with three contracts, indexed; the file of one of them says nothing of its parties."""
    folder = tmp_path / "contracts"
    folder.mkdir()
    for key, name in {"alderway": "alderway", "korvane": "contract-07", "pelltrix": "pelltrix"}.items():
        (folder / f"{name}.md").write_text(_contract(key))
    await documents.index_here(caller, "contracts", origin_of(str(folder)))
    return documents


def _paths(answer: MultiRetrieval) -> set[str]:
    return {one.document for one in answer.documents}


async def test_every_document_gets_its_best_passage(contracts: DocumentService, caller: Caller) -> None:
    """Without names, all that answer; each passage stands under its document."""
    answer = await contracts.retrieve_documents(
        caller, "Which of the contracts can be assigned to another company?", ["contracts"], budget=600
    )

    assert answer.found
    assert _paths(answer) == {"alderway.md", "contract-07.md", "pelltrix.md"}
    assert all(assignment in answer.content for _, _, assignment in CLAUSES.values())
    assert count_tokens(answer.content) == answer.token_count <= 600
    for one in answer.documents:
        assert f"[{one.document}, lines " in answer.content
        assert one.why in {"fits best", "fits nearly as well"}
        assert one.sources
        assert all(part.path == one.document and part.why for part in one.sources)


@pytest.mark.parametrize(
    "question",
    [
        "How do the Alderway and Korvane contracts differ on notice periods?",
        "alderway vs korvane: how long is the notice period",
    ],
)
async def test_names_choose_what_is_compared(contracts: DocumentService, caller: Caller, question: str) -> None:
    """A name in the title, or of a party in the opening, however it is written."""
    answer = await contracts.retrieve_documents(caller, question, budget=500)

    assert _paths(answer) == {"alderway.md", "contract-07.md"}
    assert CLAUSES["alderway"][1] in answer.content
    assert CLAUSES["korvane"][1] in answer.content
    assert {one.why for one in answer.documents} == {
        "named in the question: alderway",
        "named in the question: korvan",
    }
    assert answer.left_out_count == 1


async def test_a_name_that_copies_of_a_document_share_names_them_all(
    contracts: DocumentService, caller: Caller, tmp_path: Path
) -> None:
    """Beside names that mean one document each, it is not passed over."""
    (tmp_path / "copies").mkdir()
    (tmp_path / "copies" / "alderway.md").write_text(_contract("alderway"))
    for number in range(8):
        (tmp_path / "copies" / f"minutes-{number}.md").write_text(f"# Minutes\n\nMeeting {number} was short.\n")
    await contracts.index_here(caller, "copies", origin_of(str(tmp_path / "copies")))

    answer = await contracts.retrieve_documents(
        caller, "How do the Alderway, Korvane and Pelltrix contracts differ on notice periods?"
    )

    found = {(one.repository, one.document) for one in answer.documents}
    assert found == {
        ("contracts", "alderway.md"),
        ("copies", "alderway.md"),
        ("contracts", "contract-07.md"),
        ("contracts", "pelltrix.md"),
    }


async def test_a_budget_too_small_for_all_says_which_have_no_room(contracts: DocumentService, caller: Caller) -> None:
    """The budget holds; what was meant and is missing is named, in the text where there is room for that."""
    question = "How do the Alderway, Korvane and Pelltrix contracts differ on notice periods?"
    answers = [await contracts.retrieve_documents(caller, question, budget=size) for size in (1, 40, 130, 200, 2000)]

    assert [answer.token_count <= size for answer, size in zip(answers, (1, 40, 130, 200, 2000), strict=True)] == [
        True
    ] * 5
    assert (answers[0].content, answers[0].documents) == ("", ())
    assert answers[0].hint
    assert len(answers[2].documents) < 3
    assert {one.why for one in answers[2].left_out} == {"no room in this budget"}
    assert _paths(answers[2]) | {one.document for one in answers[2].left_out} == _paths(answers[4])
    assert f"[no room for: {answers[2].left_out[0].document}" in answers[2].content
    assert {one.document for one in answers[0].left_out} == _paths(answers[4])


async def test_a_cursor_of_one_document_fetches_its_rest(contracts: DocumentService, caller: Caller) -> None:
    """From `retrieve_document`, with the same question."""
    question = "Which of the contracts can be assigned to another company?"
    answer = await contracts.retrieve_documents(caller, question, ["contracts"], budget=600)
    one = answer.documents[0]
    rest = await contracts.retrieve_document(caller, question, "contracts", cursor=one.cursor, budget=300)

    assert rest.document == one.document
    assert rest.content
    assert not any(part.start <= other.start < part.end for part in one.sources for other in rest.sources)


async def test_documents_that_are_asked_for_are_used_alone(contracts: DocumentService, caller: Caller) -> None:
    """Whatever the question names; a path that does not exist is an error with a hint."""
    answer = await contracts.retrieve_documents(
        caller, "How long is the notice period?", documents=["pelltrix.md", "./contract-07.md"], budget=400
    )

    assert _paths(answer) == {"pelltrix.md", "contract-07.md"}
    assert {one.why for one in answer.documents} == {"asked for"}
    with pytest.raises(NotFound) as unknown:
        await contracts.retrieve_documents(caller, "notice", documents=["peltrix.md"])
    assert "pelltrix.md" in unknown.value.hint


async def test_what_nothing_answers_gets_nothing(
    contracts: DocumentService, documents: DocumentService, caller: Caller, tmp_path: Path
) -> None:
    """Small talk, a foreign question, and a repository without documents."""
    empty = tmp_path / "empty"
    empty.mkdir()
    await documents.index_here(caller, "empty", origin_of(str(empty)))
    chat = await contracts.retrieve_documents(caller, "thank you, that was helpful")
    foreign = await contracts.retrieve_documents(caller, "How do I boil an egg and how do I bake bread?", ["contracts"])
    nothing = await contracts.retrieve_documents(caller, "Which contracts can be assigned?", ["empty"])

    for answer in (chat, foreign, nothing):
        assert (answer.found, answer.content, answer.documents) == (False, "", ())
        assert answer.hint


async def test_wrong_arguments_are_refused(contracts: DocumentService, caller: Caller) -> None:
    """A blank question, a budget out of bounds, a repository that does not exist."""
    with pytest.raises(InvalidInput):
        await contracts.retrieve_documents(caller, " ")
    with pytest.raises(InvalidInput):
        await contracts.retrieve_documents(caller, "notice", budget=0)
    with pytest.raises(NotFound) as unknown:
        await contracts.retrieve_documents(caller, "notice", ["contracts", "contrats"])
    assert "contracts" in unknown.value.hint
    with pytest.raises(NotFound):
        await contracts.retrieve_documents(caller, "thanks a lot", ["contrats"])


async def test_repositories_that_are_compared_get_their_best_documents(
    contracts: DocumentService, documents: DocumentService, caller: Caller, tmp_path: Path
) -> None:
    """A repository is named by its name; the marks then say which one a passage is from."""
    folder = tmp_path / "handbook"
    folder.mkdir()
    (folder / "leaving.md").write_text(
        "# Leaving\n\nStaff who leave give notice four weeks before the end of a month.\n"
    )
    (folder / "lunch.md").write_text("# Lunch\n\nThe canteen opens at noon and serves soup, salad and bread.\n")
    await documents.index_here(caller, "handbook", origin_of(str(folder)))

    answer = await documents.retrieve_documents(
        caller, "Which notice periods do the contracts have, and which the handbook?", budget=600
    )

    assert {one.name for one in answer.repositories} == {"contracts", "handbook"}
    assert "[handbook: leaving.md, lines " in answer.content
    assert "four weeks before the end of a month" in answer.content
    assert CLAUSES["alderway"][1] in answer.content


async def test_many_may_ask_while_documents_are_replaced(
    contracts: DocumentService, caller: Caller, tmp_path: Path
) -> None:
    """Each answer is of one version of each document, or of the next."""
    (tmp_path / "contracts" / "alderway.md").write_text(_contract("alderway").replace("ninety", "eighty"))
    question = "How do the Alderway and Korvane contracts differ on notice periods?"

    async def replaced() -> None:
        await contracts.index_here(caller, "contracts", origin_of(str(tmp_path / "contracts")))

    async def asked() -> list[MultiRetrieval]:
        return [await contracts.retrieve_documents(caller, question, budget=500) for _ in range(4)]

    replacing = asyncio.create_task(replaced())
    answers = await asyncio.gather(*(asked() for _ in range(4)))
    await replacing
    last = await contracts.retrieve_documents(caller, question, budget=500)

    for answer in (one for some in answers for one in some):
        assert ("ninety days" in answer.content) != ("eighty days" in answer.content)
        assert CLAUSES["korvane"][1] in answer.content
    assert "eighty days" in last.content


async def test_a_search_by_words_alone_finds_words(contracts: DocumentService, caller: Caller) -> None:
    """No vector counts."""
    answer = await contracts.retrieve_documents(caller, "successor consented", budget=300, search_type="text")

    assert {"pelltrix.md", "contract-07.md"} <= _paths(answer)
    assert answer.search_type == "text"


async def test_the_choice_of_one_document_is_explained(contracts: DocumentService, caller: Caller) -> None:
    """`retrieve_document` says why it chose the document and each passage, and which one came next."""
    chosen = await contracts.retrieve_document(caller, "Can the Pelltrix licence be assigned?", "contracts", budget=300)
    asked = await contracts.retrieve_document(caller, "notice", "contracts", document="alderway.md", budget=300)
    going_on = await contracts.retrieve_document(caller, "notice", "contracts", cursor=asked.cursor, budget=300)

    assert chosen.why.startswith("fits best; words: pelltrix")
    assert "; next: " in chosen.why
    assert all(part.why for part in chosen.sources)
    assert asked.why == "asked for"
    assert going_on.why == "continues an answer from it"


@pytest.mark.parametrize(
    ("question", "names", "rest"),
    [
        ("How do the Alderway and Korvane contracts differ?", {"alderway", "korvan"}, "How do contracts differ?"),
        ("zip and tar: how are files left out?", {"zip", "tar"}, "how are files left out?"),
        (
            "Compare the law of the agreements with Korvane, Pelltrix.",
            {"korvan", "pelltrix"},
            "Compare the law of the agreements",
        ),
        ("What does it say of this and that?", {"zip"}, "What does it say of this and that?"),
        ("Alderway", {"alderway"}, ""),
    ],
)
def test_a_question_is_asked_without_its_names(question: str, names: set[str], rest: str) -> None:
    """With them goes what joins them or leads to them; a question without them stays as it is."""
    assert without_names(question, names) == rest
