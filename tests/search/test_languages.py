"""Languages of texts, and the words of items in several languages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thresher.core import Caller, Tenant
from thresher.search import Entry, SearchIndex, language_of
from thresher.search.lexical.terms import FUNCTION_WORDS, query_language, stem, terms

KIND = "document"
GERMAN = "Die Häuser der Stadt werden im Winter nicht geheizt, weil sie leer stehen."
ENGLISH = "The houses of the town are not heated in winter because they are empty."


@pytest.mark.parametrize(
    ("text", "language"),
    [
        (GERMAN, "de"),
        ("Les maisons de la ville ne sont pas chauffées en hiver parce qu'elles sont vides.", "fr"),
        ("Las casas de la ciudad no se calientan en invierno porque están vacías.", "es"),
        ("Le case della città non sono riscaldate in inverno perché sono vuote.", "it"),
        ("As casas da cidade não são aquecidas no inverno porque estão vazias.", "pt"),
        ("De huizen van de stad worden in de winter niet verwarmd, omdat ze leeg staan.", "nl"),
        ("Husen i staden värms inte på vintern eftersom de inte har några invånare och är tomma.", "sv"),
        ("Дома в городе не отапливаются зимой, потому что они пустые и в них никто не живёт.", "ru"),
        (ENGLISH, ""),
        ("", ""),
        ("Listet Rechnungen", ""),
        ("def main(): return sum(die for die in dice) or 0", ""),
        ("Pour water on the comments of the die, par for the course", ""),
        ("家は冬に暖房されない", ""),
        (f"{ENGLISH} {ENGLISH} As they say: die Häuser werden nicht geheizt.", ""),
    ],
)
def test_function_words_tell_the_language(text: str, language: str) -> None:
    """English, what is too short, and what is in no known language have none."""
    assert language_of(text) == language


@pytest.mark.parametrize(
    ("query", "language"),
    [
        ("Wie werden die Häuser geheizt?", "de"),
        ("how are the houses heated?", ""),
        ("heating", None),
        ("man page", None),
        ("Comment chauffer les maisons ?", None),  # French is not among those that are present
    ],
)
def test_a_query_has_one_of_the_languages_that_are_present(query: str, language: str | None) -> None:
    """Or English, or none is told."""
    assert query_language(query, ["de"]) == language


@given(st.text(max_size=200), st.sampled_from(sorted(FUNCTION_WORDS)))
def test_any_text_has_terms_in_any_language(text: str, language: str) -> None:
    """Every language has a stemmer and folded words."""
    assert all(terms(text, language))
    assert all(word == word.casefold() for word in FUNCTION_WORDS[language])
    assert stem("test", language)


def entry(number: int, text: str, language: str = "") -> Entry:
    """An item with this text."""
    return Entry(id=number, texts=(text,), fields={"text": text}, language=language)


async def test_words_are_found_in_the_forms_of_their_language(
    index: SearchIndex, tenant: Tenant, caller: Caller
) -> None:
    """By a search that scores, and by one for tools; also right after the first item in another language came."""
    await index.put(tenant, KIND, [entry(1, ENGLISH), entry(2, "Boats at sea")])
    before = await index.score(caller, KIND, "how are houses heated?", search_type="text")
    none = await index.score(caller, KIND, "Wie heizt man ein Haus?", search_type="text")
    await index.put(tenant, KIND, [entry(3, GERMAN, "de"), entry(4, "Boote auf dem Meer", "de")])
    scored = await index.score(caller, KIND, "Wie heizt man ein Haus?", search_type="text")
    found = await index.search(caller, KIND, ["Haus heizen"], limit=5, threshold=0.0)
    after = await index.score(caller, KIND, "how are houses heated?", search_type="text")

    assert (none.lexical > 0).tolist() == [False, False]
    assert scored.ids[scored.lexical > 0].tolist() == [3]
    assert found.hits[0].id == 3
    assert (after.lexical > 0).tolist() == [*(before.lexical > 0).tolist(), False, False]


async def test_an_item_that_gets_a_language_is_written_again_and_keeps_its_vectors(
    index: SearchIndex, tenant: Tenant, caller: Caller
) -> None:
    """Nothing is embedded twice."""
    first = await index.put(tenant, KIND, [entry(1, GERMAN), entry(2, ENGLISH)])
    second = await index.put(tenant, KIND, [entry(1, GERMAN, "de"), entry(2, ENGLISH)])
    scored = await index.score(caller, KIND, "Haus", search_type="text")

    assert (first.embedded, second.embedded) == (2, 0)
    assert scored.ids[scored.lexical > 0].tolist() == [1]
    assert await index.embedded(tenant, KIND) == 2
