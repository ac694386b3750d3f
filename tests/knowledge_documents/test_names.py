"""Names are not questions: what stands everywhere in a document chooses it and counts next to nothing inside it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.knowledge_documents.contract import GOVERNING_LAW, contract
from thresher.core import Caller
from thresher.embedding import count_tokens
from thresher.knowledge.documents import DocumentService, origin_of

LAW = "What law governs the Corio hosting agreement?"


@pytest.fixture
async def contracts(documents: DocumentService, caller: Caller, tmp_path: Path) -> DocumentService:
    """The service with a long contract, and one between other parties, indexed."""
    folder = tmp_path / "contracts"
    folder.mkdir()
    (folder / "corio.md").write_text(contract())
    (folder / "novaris.md").write_text(contract().replace("Corio", "Novaris").replace("Delaware", "Texas"))
    await documents.index_here(caller, "contracts", origin_of(str(folder)))
    return documents


@pytest.mark.parametrize("budget", [500, 2000, 8000])
@pytest.mark.parametrize(
    ("question", "answer"),
    [
        (LAW, GOVERNING_LAW),
        ("Which state's law applies to the Corio hosting agreement between Corio and Changepoint?", GOVERNING_LAW),
        ("Can Changepoint transfer the Corio hosting agreement to a third party?", "Neither party may assign"),
        ("Does the Corio hosting agreement make Corio and Changepoint partners?", "independent contractors"),
    ],
)
async def test_the_clause_that_answers_is_not_crowded_out_by_names(
    contracts: DocumentService, caller: Caller, question: str, answer: str, budget: int
) -> None:
    """Most clauses name the parties; the one that answers does not."""
    found = await contracts.retrieve_document(caller, question, "contracts", budget=budget)

    assert found.document == "corio.md"
    assert answer in found.content
    assert count_tokens(found.content) <= budget


async def test_a_search_ranks_inside_the_named_document_by_what_is_asked(
    contracts: DocumentService, caller: Caller
) -> None:
    """The name still decides between two contracts with the same clauses."""
    found = await contracts.search_documents(caller, LAW)

    assert found.passages[0].part.path == "corio.md"
    assert GOVERNING_LAW in found.passages[0].text


async def test_a_question_of_names_alone_is_asked_as_it_is(contracts: DocumentService, caller: Caller) -> None:
    """If every word stands everywhere, nothing is left out."""
    found = await contracts.retrieve_document(caller, "the Corio hosting agreement", "contracts", budget=1000)

    assert found.document == "corio.md"
    assert "Corio hosting agreement" in found.content
