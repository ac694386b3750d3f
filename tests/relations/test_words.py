"""Names are split into words and stems, and abbreviations are recognised."""

from __future__ import annotations

import pytest

from tests.relations.shapes import tables_of
from thresher.knowledge.databases.relations.names import loose, read_column, shortens, split, stem, table_words


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("SupportRepId", ("support", "rep", "id")),
        ("customer_id", ("customer", "id")),
        ("CUSTOMER_ID", ("customer", "id")),
        ("XMLDocumentID", ("xml", "document", "id")),
        ("address1Id", ("address", "1", "id")),
        ("order details", ("order", "details")),
        ("Straßen-Nr", ("strassen", "nr")),
        ("Größe", ("grosse",)),
        ("キー", ("キー",)),
        ("", ()),
        ("___", ()),
    ],
)
def test_a_name_falls_into_words(name: str, words: tuple[str, ...]) -> None:
    """Snake and camel case, blanks, digits; accents go, other scripts stay."""
    assert split(name) == words


@pytest.mark.parametrize(
    ("plural", "singular"),
    [
        ("orders", "order"), ("categories", "category"), ("addresses", "address"), ("boxes", "box"), ("class", "class"),
        ("status", "status"), ("statuses", "status"), ("people", "person"), ("series", "series"), ("bus", "bus"),
        ("analyses", "analysis"), ("ties", "tie"), ("gas", "gas"), ("houses", "house"), ("id", "id"),
    ],
)  # fmt: skip
def test_a_plural_becomes_its_singular(plural: str, singular: str) -> None:
    """English rules with the exceptions that tables are called by."""
    assert stem(plural) == singular


def test_german_forms_share_their_stem() -> None:
    """Plural and joint of a compound are the same word loosely."""
    assert loose("kunde") == loose("kunden")
    assert loose("laender") == loose("land")
    assert loose("artikel") != loose("auftrag")


@pytest.mark.parametrize(
    ("short", "word"),
    [("cust", "customer"), ("emp", "employee"), ("dept", "department"), ("mgr", "manager"), ("acct", "account"),
     ("qty", "quantity"), ("whse", "warehouse"), ("vnd", "vendor")],
)  # fmt: skip
def test_a_short_form_is_told(short: str, word: str) -> None:
    """A beginning, or the consonants that remain."""
    assert shortens(short, word) >= 0.6


@pytest.mark.parametrize(("short", "word"), [("order", "order"), ("x", "xray"), ("tax", "text"), ("oven", "customer")])
def test_another_word_is_no_short_form(short: str, word: str) -> None:
    """Equal words, single letters, other beginnings."""
    assert shortens(short, word) < 0.6


@pytest.mark.parametrize(
    ("name", "core", "kind"),
    [
        ("customer_id", "customer", "id"), ("fk_customer_id", "customer", "id"), ("customer_id_fk", "customer", "id"),
        ("id_kunde", "kunde", "id"), ("KundenNr", "kunden", "number"), ("country_code", "country", "code"),
        ("id", "", "id"), ("number_of_guests", "numberofguest", ""), ("unit_price", "unitprice", ""),
    ],
)  # fmt: skip
def test_a_column_says_what_it_names_and_how(name: str, core: str, kind: str) -> None:
    """Key words stand at the end, around it, or in front."""
    first = read_column(name)[0]

    assert (first.joined, first.kind) == (core, kind)


def test_a_key_word_without_a_border_is_a_second_reading() -> None:
    """`custid` may be a name and a key word; `paid` is a word."""
    readings = {(name.joined, name.kind) for name in read_column("custid")}

    assert ("cust", "id") in readings
    assert [name.kind for name in read_column("paid")] == [""]


def test_marks_that_all_tables_carry_say_nothing() -> None:
    """`tbl_`, a prefix of most tables, and one that is written without a border."""
    crm = "crm_deals: *id i\ncrm_users: *id i\ncrm_groups: *id i\ncrm_notes: *id i"
    glued = "TBKUNDE: *A i\nTBARTIKEL: *A i\nTBREGAL: *A i\nTBLAGER: *A i"

    assert table_words(tables_of("tbl_orders: *id i\ntbl_customers: *id i")) == [("order",), ("customer",)]
    assert ("deal",) in table_words(tables_of(crm))
    assert ("artikel",) in table_words(tables_of(glued))
