"""A repository that grows: what is new in it is found by its words until it is embedded, with equal rights."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from sqlalchemy import delete, select, update

from thresher.core import Caller
from thresher.knowledge.documents import KIND, DocumentService, origin_of
from thresher.knowledge.documents.models import CHUNK_BITS
from thresher.services import Services
from thresher.store.tables import collection, document, item_vector

CONCEPTS = Path(__file__).parents[2] / "docs" / "concepts"
WORDS = ("Velloria", "Brastimund", "Quorvelt", "Snarlbeck", "Ophrenia", "Tildacorn", "Murkwhistle", "Zendrapol")
TEXT = """# {word}

## Purpose

{word} keeps the ledgers of the harbour office. Whoever unloads a ship writes its cargo into it before noon.

## Stopping it

Call the harbour master; {word} is stopped with the green key, and the pumps go on without it.
"""


@pytest.fixture
async def growing(services: Services, caller: Caller, tmp_path: Path) -> DocumentService:
    """A repository of which eight new files are not embedded yet."""
    folder = tmp_path / "concepts"
    shutil.copytree(CONCEPTS, folder)
    for word in WORDS:
        (folder / f"{word.lower()}.md").write_text(TEXT.format(word=word))
    await services.documents.index_here(caller, "concepts", origin_of(str(folder)))
    await forget_vectors(services, caller, [f"{word.lower()}.md" for word in WORDS])
    return services.documents


async def forget_vectors(services: Services, caller: Caller, paths: list[str]) -> None:
    """Remove the vectors of some documents, as if they were not embedded yet."""
    theirs = select(document.c.id).where(document.c.path.in_(paths), document.c.current)
    async with services.database.transaction(caller.tenant) as connection:
        await connection.execute(
            delete(item_vector).where(item_vector.c.kind == KIND, (item_vector.c.id // 2**CHUNK_BITS).in_(theirs))
        )
        await connection.execute(update(collection).where(collection.c.kind == KIND).values(version=10_000))


@pytest.mark.parametrize("question", ["{}", "what is {}?", "how is {} stopped"])
async def test_a_new_file_is_given_for_its_own_word_before_it_is_embedded(
    growing: DocumentService, caller: Caller, question: str
) -> None:
    """No file that is embedded, and has not the word, comes before it."""
    answers = [await growing.retrieve_document(caller, question.format(word), "concepts") for word in WORDS]
    passages = [await growing.search_documents(caller, question.format(word)) for word in WORDS]

    assert [answer.document for answer in answers] == [f"{word.lower()}.md" for word in WORDS]
    assert [found.passages[0].part.path for found in passages] == [f"{word.lower()}.md" for word in WORDS]
    assert all("not embedded yet" in answer.degraded for answer in answers)


async def test_what_is_embedded_is_given_for_its_questions_beside_new_files(
    growing: DocumentService, caller: Caller
) -> None:
    """What is new does not come first because it is new."""
    jobs = await growing.retrieve_document(caller, "what happens to a job whose worker was killed", "concepts")
    threads = await growing.retrieve_document(caller, "how are chunks of a long document chosen", "concepts")

    assert (jobs.document, threads.document) == ("jobs.md", "documents.md")
