"""Terms: how a text is split."""

from __future__ import annotations

import threading

import pytest

from thresher.search.lexical.terms import LONGEST, query_terms, split_name, terms, without_terms


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("getUserByID_v2", ["get", "user", "id", "v", "2"]),
        ("list_pull-requests.all", ["list", "pull", "request", "all"]),
        ("HTTPServer error404", ["http", "server", "error", "404"]),
        ("running runs ran", ["run", "run", "ran"]),
        ("the of and", []),
        ("the user's file", ["user", "file"]),
        ("天气预报", ["天气", "气预", "预报"]),
        ("查weather天", ["查", "天", "weather"]),
        ("\uff26\uff35\uff2c\uff2c \ufb01le", ["full", "file"]),
        ("😀 !? \0", []),
        ("", []),
        ("погода ПОГОДА", ["погода", "погода"]),
    ],
)
def test_texts_become_terms(text: str, expected: list[str]) -> None:
    """Identifiers are split, words folded and stemmed, scripts without spaces paired."""
    assert terms(text) == expected


def test_query_terms_are_distinct() -> None:
    """A repeat in a message is no evidence."""
    assert query_terms("file the files, file") == ["file"]


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("What law governs Corio's hosting agreements?", "What law governs ?"),
        ("CorioHosting and Corio_Hosting, please", "and _, please"),
        ("CorioLedger in 2017", "CorioLedger in 2017"),
        ("the of and", "the of and"),
    ],
)
def test_words_are_left_out_if_all_their_terms_are(text: str, left: str) -> None:
    """In every form, with the ending of a possessive; a word that says more stays."""
    assert without_terms(text, {"corio", "host", "agreement"}) == left


def test_a_term_is_bounded_and_can_be_stored() -> None:
    """Very long words and lone surrogates give terms that PostgreSQL accepts."""
    found = terms("x" * 100_000 + " lone \ud800")

    assert max(map(len, found)) <= LONGEST
    assert all(term.encode("utf-8") and " " not in term for term in found)


def test_identifiers_become_words() -> None:
    """As a person would read them."""
    assert split_name("getUserByID_v2") == "get User By ID v 2"


def test_threads_stem_alike() -> None:
    """Each thread has a stemmer of its own."""
    found: list[list[str]] = []
    threads = [threading.Thread(target=lambda: found.append(terms("running requests " * 200))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert found == [["run", "request"] * 200] * 4
