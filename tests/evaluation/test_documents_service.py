"""An evaluation of documents against the product itself: the figures, and the tenant that is gone afterwards."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support import Databases
from tests.support.product import opened
from thresher.core import Settings
from thresher.embedding import open_encoder
from thresher.evaluation import DocumentTrial, evaluate_documents, read_document_questions
from thresher.services import Services

PARTS = [
    f"## Chapter {number}\n\n{fact} " + " ".join(f"Remark {number}.{line} is of no use here." for line in range(60))
    for number, fact in enumerate(
        (
            "The pump starts when the tank holds less than nine litres.",
            "Invoices are kept for ten years in the cellar.",
            "A visitor needs a badge with a green stripe.",
        ),
        1,
    )
]
MANUAL = "# Manual\n\n" + "\n\n".join(PARTS) + "\n"
ASKED = {
    "When does the pump start?": "The pump starts when the tank holds less than nine litres.",
    "How long are invoices kept?": "Invoices are kept for ten years in the cellar.",
}

FOREIGN = ("how do I boil an egg", "thank you, that was helpful", "who painted the night watch")


@pytest.fixture
async def services(databases: Databases, settings: Settings) -> AsyncIterator[Services]:
    """The product on a database of its own."""
    name = await databases.create()
    database = await databases.open(name)
    encoder = open_encoder(settings)
    async with opened(database, await database.tenant("local"), settings, encoder) as services:
        yield services
    await encoder.close()
    await database.close()
    await databases.drop(name)


@pytest.fixture
def trial(tmp_path: Path) -> DocumentTrial:
    """Two documents, and questions about one."""
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    (corpus / "manual.md").write_text(MANUAL)
    (corpus / "poem.md").write_text("# Poem\n\nAutumn leaves are falling on the roof.\n")
    path = tmp_path / "questions.jsonl"
    with path.open("w") as file:
        for question, gold in ASKED.items():
            start = MANUAL.index(gold)
            spans = [{"start": start, "end": start + len(gold)}]
            file.write(json.dumps({"document": "manual.md", "question": question, "spans": spans}) + "\n")
        for question in FOREIGN:
            file.write(json.dumps({"question": question}) + "\n")
    questions, texts = read_document_questions(corpus, path)
    return DocumentTrial(corpus, texts | {"poem.md": ""}, questions, (200, 8000))


async def tenants(services: Services) -> int:
    """How many repositories the evaluation's tenant left in sight of the owner."""
    return len(await services.documents.list_repositories(services.caller))


async def test_an_evaluation_of_documents_measures_and_leaves_nothing(services: Services, trial: DocumentTrial) -> None:
    """A small budget gives the passages, a large one the whole document, and plain rules are measured for both."""
    stages: list[str] = []

    small, whole = await evaluate_documents(
        services.database, services.encoder, services.documents, trial, lambda stage, *_: stages.append(stage)
    )

    assert (small.figures.full_retention, small.figures.verbatim_rate) == (1.0, 1.0)
    assert (small.figures.budget_violations, small.figures.cut_tables, small.figures.cut_fences) == (0, 0, 0)
    assert small.document_chosen == 1.0
    assert (small.foreign_refused, small.answerable_lost) == (1.0, 0.0)
    assert small.baselines["head"].full_retention == 0.5
    assert set(small.baselines) == {"head", "head_tail", "bm25_chunks", "vector_chunks"}
    assert whole.figures.full_retention == 1.0
    assert whole.figures.fill is None
    assert {"Asking at 200", "Asking at 8,000"} <= set(stages)
    assert await tenants(services) == 0


async def test_questions_over_several_documents_are_covered_or_not(services: Services, tmp_path: Path) -> None:
    """By spans, or by one of several texts; a budget for one passage covers at most one of two documents."""
    texts = {
        "alderway.md": MANUAL.replace("# Manual", "# Alderway pump"),
        "korvane.md": MANUAL.replace("# Manual", "# Korvane pump").replace("nine litres", "four litres"),
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    gold = "The pump starts when the tank holds less than nine litres."
    start = texts["alderway.md"].index(gold)
    needed = [
        {"document": "alderway.md", "spans": [{"start": start, "end": start + len(gold)}]},
        {"document": "korvane.md", "answers": ["less than  four litres", "Invoices are kept"]},
    ]
    asked = {"question": "When do the Alderway and Korvane pumps start?", "documents": needed}
    path = tmp_path / "questions.jsonl"
    path.write_text(json.dumps(asked))
    questions, read = read_document_questions(tmp_path, path)
    trial = DocumentTrial(tmp_path, read, questions, (50, 800))

    small, large = await evaluate_documents(
        services.database, services.encoder, services.documents, trial, lambda *_: None
    )

    assert set(read) == set(texts)
    assert (small.documents_covered or 0) < 1.0
    assert (large.documents_covered, large.comparisons_complete) == (1.0, 1.0)
    assert large.covered_by_chunks is not None
    assert (large.figures.questions, large.figures.budget_violations, large.foreign_refused) == (0, 0, None)


async def test_a_cancelled_evaluation_of_documents_removes_its_tenant(services: Services, trial: DocumentTrial) -> None:
    """And the next one starts from nothing."""
    asking = asyncio.Event()

    def follow(stage: str, _done: int, _total: int) -> None:
        if stage.startswith("Asking"):
            asking.set()

    run = asyncio.create_task(
        evaluate_documents(services.database, services.encoder, services.documents, trial, follow)
    )
    async with asyncio.timeout(60):
        await asking.wait()
    run.cancel()
    await asyncio.wait([run])
    again = await evaluate_documents(services.database, services.encoder, services.documents, trial, lambda *_: None)

    assert run.cancelled()
    assert again[0].figures.questions == 2
