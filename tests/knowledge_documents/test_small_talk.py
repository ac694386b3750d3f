"""Small talk is recognised before anything is searched; what no document answers gets the guide in short."""

from __future__ import annotations

from pathlib import Path

import pytest

from thresher.core import Caller, NotFound
from thresher.knowledge.documents import DocumentService, origin_of
from thresher.knowledge.documents.answers.retrieval import GUIDE_TOKENS
from thresher.knowledge.documents.question import checked_question, is_small_talk


@pytest.mark.parametrize(
    "message",
    [
        "hi there",
        "Thank you, that was helpful!",
        "thanks, that\u2019s exactly what I needed",
        "ok great",
        "good evening",
        "tell me a joke",
        "who are you?",
        "Are you a human or a robot?",
        "see you next week",
        "how was your day?",
        "please, go on",
        "thanks, have a good night",
        "great work today",
        "fair enough",
        "never mind, wrong chat",
        "danke, alles klar",
        "\u041f\u0440\u0438\u0432\u0435\u0442",
        "\U0001f642\U0001f642 !?",
        "\x00 ...",
    ],
)
def test_greetings_thanks_and_chat_are_small_talk(message: str) -> None:
    """In English and in other languages."""
    assert is_small_talk(checked_question(message, search_type="hybrid"))
    assert not is_small_talk(checked_question(message, search_type="text"))


@pytest.mark.parametrize(
    "message",
    [
        "thanks, and how do I reset the pump?",
        "hello world example in Python",
        "what is hello?",
        "stop the pump",
        "no route to host",
        "ok status code 200",
        "help with error 809",
        "is the evening shift paid more?",
        "Can I work at night, please?",
        "Thanks, do I have to work the weekend?",
        "ok, so what is time off?",
        "what am I doing today",
        "notice",
        "goodbye party",
        "time off, please",
        "no work at night",
        "what's new?",
        "What is new",
        "how is your pricing?",
        "how are your servers today",
        "danke, und wo steht das Formular?",
        "thanks " * 16,
        "\ud800 pump",
    ],
)
def test_whoever_asks_for_something_is_searched_for(message: str) -> None:
    """However politely, and with words that also greet; what is long has something to ask."""
    assert not is_small_talk(checked_question(message, search_type="hybrid"))


@pytest.fixture
async def asked(documents: DocumentService, caller: Caller, handbook: Path) -> DocumentService:
    """The service with the handbook indexed."""
    await documents.index_here(caller, "handbook", origin_of(str(handbook)))
    return documents


@pytest.mark.parametrize(
    "message", ["thank you, that was helpful", "how do I boil an egg", "who painted the night watch"]
)
async def test_what_no_document_answers_gets_nothing(asked: DocumentService, caller: Caller, message: str) -> None:
    """No passage of one repository or of all; the guide in short where one was asked for."""
    everywhere = await asked.search_documents(caller, message)
    one = await asked.search_documents(caller, message, "handbook")
    answer = await asked.retrieve_document(caller, message, "handbook")

    assert everywhere.passages == one.passages == ()
    assert everywhere.hint
    assert one.hint
    assert not answer.found
    assert answer.token_count <= GUIDE_TOKENS
    assert (answer.repository, answer.search_type) == ("handbook", "hybrid")


async def test_small_talk_to_an_unknown_repository_is_an_error(asked: DocumentService, caller: Caller) -> None:
    """As for every other question."""
    with pytest.raises(NotFound):
        await asked.search_documents(caller, "thank you", "handbok")
    with pytest.raises(NotFound):
        await asked.retrieve_document(caller, "thank you", "handbok")


async def test_a_keyword_is_found_however_little_it_means(asked: DocumentService, caller: Caller) -> None:
    """A chunk that contains all words of a short search is relevant."""
    found = await asked.search_documents(caller, "error 809", "handbook")

    assert "Error 809" in found.passages[0].text


async def test_all_words_of_a_message_in_one_chunk_are_no_reason_to_give_it(
    asked: DocumentService, caller: Caller
) -> None:
    """They are for a search: a message of one word, such as "agreed", stands somewhere by chance."""
    search, message = [await asked.search_documents(caller, "809", message=spoken) for spoken in (False, True)]

    assert search.passages
    assert message.relevance < search.relevance
