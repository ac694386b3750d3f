"""Words that people probably use for a tool."""

from __future__ import annotations

from thresher.core import Tool
from thresher.knowledge.tools.definitions import enrich
from thresher.knowledge.tools.message_words import MOST_WORDS, TABLE, message_words, own_terms, term_weights
from thresher.search import terms


def test_a_tool_that_deletes_is_asked_for_in_other_words() -> None:
    """Its own words are not among them, in whatever form."""
    found = message_words("delete file", "files. delete file: Delete a file.", {"remov"})

    assert {"erase", "wipe", "drop"} & set(found)
    assert "remove" not in found
    assert len(found) <= MOST_WORDS


def test_nothing_is_derived_from_words_that_nobody_was_asked_for() -> None:
    """Also not from an empty definition."""
    assert message_words("qwzx", "Zyqqx vbrtk.", ()) == ()
    assert message_words("", "", ()) == ()


def test_the_name_counts_twice() -> None:
    """The weights have length 1; terms that the table lacks have none."""
    counts = own_terms("send mail", "Send it.")

    assert counts == {"send": 3, "mail": 2}
    weights = term_weights(counts, {"send": 2.0, "mail": 1.0})
    assert sum(weight * weight for weight in weights.values()) == 1.0
    assert weights["send"] > 2 * weights["mail"]
    assert term_weights(counts, {"file": 1.0}) == {}


def test_enriched_texts_have_them_in_a_field_of_their_own() -> None:
    """No word is in both fields."""
    text = enrich(Tool("files", "delete_file", "Delete a file."))

    assert text.fields["likely"].split() == list(text.likely)
    assert not set(terms(text.fields["likely"])) & set(terms(text.fields["text"]))


def test_every_word_of_the_table_is_a_term_of_its_own() -> None:
    """A word that is split or dropped when it is indexed would be another one."""
    lines = [line.split() for line in TABLE.read_text(encoding="utf-8").splitlines() if line[0] != "#"]
    words = {entry.partition(":")[0] for _, _, *listed in lines for entry in listed}

    assert len(lines) > 1000
    assert all(len(terms(word)) == 1 for word in words)
