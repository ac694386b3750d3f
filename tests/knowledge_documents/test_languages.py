"""Documents in several languages: their words are indexed by their language, also those that were indexed before."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import update

from tests.fakes.embedding_server import EmbeddingServer
from tests.support.product import opened
from thresher.core import Caller, Settings, Tenant
from thresher.embedding import open_encoder
from thresher.knowledge.documents import DocumentService, origin_of
from thresher.services import Services
from thresher.store import Database
from thresher.store.tables import collection, document, item

ANMELDUNG = """# Anmeldung im Netz

Die Anmeldungen der Mitarbeiter werden vom Verzeichnisdienst geprüft. Wer sich dreimal mit einem falschen Kennwort
anmeldet, wird gesperrt und muss sich an die Leitstelle wenden.
"""


async def found(documents: DocumentService, caller: Caller, query: str) -> list[str]:
    """The documents that a search by words finds, best first."""
    answer = await documents.search_documents(caller, query, "handbook", search_type="text")
    return list(dict.fromkeys(one.part.path for one in answer.passages))


async def test_a_document_is_found_by_other_forms_of_its_words(
    documents: DocumentService, caller: Caller, handbook: Path
) -> None:
    """Beside documents in English, which are found as ever."""
    before = await documents.index_here(caller, "handbook", origin_of(str(handbook)))
    english = await found(documents, caller, "which gateway do I choose to connect?")
    (handbook / "anmeldung.md").write_text(ANMELDUNG, encoding="utf-8")
    after = await documents.index_here(caller, "handbook", origin_of(str(handbook)))

    assert after.documents == before.documents + 1
    assert await found(documents, caller, "falsches Kennwort") == ["anmeldung.md"]
    assert await found(documents, caller, "Wird die Leitstellen angerufen?") == ["anmeldung.md"]
    assert await found(documents, caller, "which gateway do I choose to connect?") == english


async def test_what_was_indexed_before_is_stemmed_again_from_what_is_stored(
    documents: DocumentService, services: Services, caller: Caller, handbook: Path, database: Database
) -> None:
    """At the next start, even if its source is gone; nothing is lost, and nothing is embedded again."""
    (handbook / "anmeldung.md").write_text(ANMELDUNG, encoding="utf-8")
    whole = await documents.index_here(caller, "handbook", origin_of(str(handbook)))
    async with database.transaction(caller.tenant) as connection:  # as an older version left it
        mine = document.c.tenant_id == caller.tenant.id
        await connection.execute(update(document).where(mine).values(stemming=""))
        await connection.execute(update(collection).values(languages=[]))
        await connection.execute(update(item).values(hash=b"older"))
    behind = await documents.catch_up(caller)
    handbook.rename(handbook.with_name("elsewhere"))
    job = (await documents.list_repositories(caller))[0].job
    handbook.with_name("elsewhere").rename(handbook)
    again = await documents.index_here(caller, "handbook", origin_of(str(handbook)))

    assert behind == ["handbook"]
    assert job
    assert (again.documents, again.chunks, again.embedded) == (whole.documents, whole.chunks, whole.embedded)
    assert await found(documents, caller, "falsches Kennwort") == ["anmeldung.md"]
    assert await documents.catch_up(caller) == []


async def test_a_question_in_one_language_finds_a_text_in_another(
    database: Database, tenant: Tenant, settings: Settings, handbook: Path
) -> None:
    """With an encoder that reads both, over the OpenAI form; no word of the question stands in the text."""
    (handbook / "anmeldung.md").write_text(ANMELDUNG, encoding="utf-8")
    service = EmbeddingServer()
    pairs = ["blocked", "gesperrt", "password", "kennwort", "wrong", "falschen"]
    service.meanings = {word: pairs[place // 2 * 2] for place, word in enumerate(pairs)}
    many = settings.model_copy(update={"encoder_url": service.url, "encoder_model": "many-languages"})
    encoder = open_encoder(many)
    async with opened(database, tenant, many, encoder) as services:
        await services.documents.index_here(services.caller, "handbook", origin_of(str(handbook)))
        answer = await services.documents.retrieve_document(
            services.caller, "when is one blocked for a wrong password?", "handbook", budget=60
        )
    await encoder.close()
    service.stop()

    assert answer.document == "anmeldung.md"
    assert "gesperrt" in answer.content
