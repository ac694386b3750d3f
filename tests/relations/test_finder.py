"""Columns that look like foreign keys, and columns that do not."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from tests.relations.shapes import found, sample, samples, tables_of, told
from thresher.connectors import Profile, Table
from thresher.knowledge.databases import find_relations
from thresher.knowledge.databases.relations import columns_to_sample

FINDS = {
    "the table that a key is called after, not one that borrows its name": (
        "country: *code t, name t\neconomy: *country t>country, gdp n\ncity: *name t, country t",
        "city.country > country.code",
    ),
    "the end of a compound": ("superhero: *id i\npowers: *id i, hero_id i", "powers.hero_id > superhero.id"),
    "a table of kinds": ("role_type: *id i\ncasts: *id i, role_id i", "casts.role_id > role_type.id"),
    "the one table with such a key": (
        "cards: *id i, uuid t!\nrulings: *id i, uuid t",
        "rulings.uuid > cards.uuid",
    ),
    "a measure that a table is called": ("area: *id i\nartist: *id i, area i", "artist.area > area.id"),
    "a kind of its own table, by a number": (
        "label_type: *id i\nlabel: *id i, type i",
        "label.type > label_type.id",
    ),
    "a role of what stands beside it": (
        "player: *id i\nteam: *id i\nmatch: *id i, team_id i>team, winner i",
        "match.winner > team.id",
    ),
    "a plural table and its key": (
        "customers: *id i\norders: *id i, customer_id i",
        "orders.customer_id > customers.id",
    ),
    "a role before the table": (
        "addresses: *id i\norders: *id i, billing_address_id i",
        "orders.billing_address_id > addresses.id",
    ),
    "a role that people have": (
        "Employee: *EmployeeId i\nCustomer: *CustomerId i, SupportRepId i",
        "Customer.SupportRepId > Employee.EmployeeId",
    ),
    "a row of its own table": (
        "employees: *employee_id i, reports_to i",
        "employees.reports_to > employees.employee_id",
    ),
    "a parent in a tree": ("nodes: *id i, parent_id i", "nodes.parent_id > nodes.id"),
    "a qualified parent": ("category: *id i, parent_category_id i", "category.parent_category_id > category.id"),
    "a verb of the table": (
        "shippers: *shipper_id i\norders: *id i, ship_via i",
        "orders.ship_via > shippers.shipper_id",
    ),
    "a verb without a border": (
        "shippers: *shipperid i\norders: *orderid i, shipvia i",
        "orders.shipvia > shippers.shipperid",
    ),
    "whoever did it": ("users: *id i\norders: *id i, booked_by i", "orders.booked_by > users.id"),
    "a short form": ("departments: *id i\nemployees: *id i, dept_id i", "employees.dept_id > departments.id"),
    "first letters": ("purchase_orders: *id i\nreceipts: *id i, po_id i", "receipts.po_id > purchase_orders.id"),
    "a name with its own table's": (
        "order_statuses: *id i\ninvoice_statuses: *id i\norders: *id i, status_id i",
        "orders.status_id > order_statuses.id",
    ),
    "a table with an empty word": (
        "product_master: *id i\nsales: *id i, product_id i",
        "sales.product_id > product_master.id",
    ),
    "no border at all": ("MOVIE: *MOVIEID i\nREVIEW: *REVIEWID i, MOVIEID i", "REVIEW.MOVIEID > MOVIE.MOVIEID"),
    "a natural key": (
        "countries: *country_code c2\ncities: *id i, country_code c2",
        "cities.country_code > countries.country_code",
    ),
    "a unique code beside the key": (
        "countries: *id i, code c2!\ncities: *id i, country_code c2",
        "cities.country_code > countries.code",
    ),
    "no key word": ("artist: *id i\nalbum: *id i, artist i", "album.artist > artist.id"),
    "German forms": ("Kunden: *KundeNr i\nAuftraege: *AuftragNr i, KundenNr i", "Auftraege.KundenNr > Kunden.KundeNr"),
    "a row for a row": ("users: *id i\nuser_settings: *user_id i, theme t", "user_settings.user_id > users.id"),
    "a key that is not declared": (
        "parts: part_id i, name t\nuses: part_id i, amount n",
        "uses.part_id > parts.part_id",
    ),
    "another schema": (
        "hr.person: *person_id i\nfin.payment: *id i, person_id i",
        "payment.person_id > person.person_id",
    ),
    "types of different families with one name": (
        "stadium: *stadium_id i\nconcert: *id i, stadium_id t",
        "concert.stadium_id > stadium.stadium_id",
    ),
}
LEAVES = {
    "a copy or a part of a table": "fees: *fee_id i, at d, sum n\nfees_2026: fee_id i, at d, sum n, x t",
    "counts of rows": "words: *wid i\npages: *pid i, words i",
    "a name beside the same name with a key word": "account: *id i\ntrans: *id i, account_id i>account, account i",
    "an adjective": "users: *id i\ninvoices: *id i, approved i",
    "its own number in a longer key": "address: *address_id i\nemail_address: *person_no i, *email_address_id i",
    "a table that itself refers by the shorter name": "person_info: *id i, person_id i\naka: *id i, person_id i",
    "two tables that relate one thing of a third": (
        "dept: *dept_no i\nemp: *emp_no i\n"
        "dept_manager: *emp_no i>emp, *dept_no i>dept\ndept_emp: *emp_no i>emp, *dept_no i>dept"
    ),
    "another type": "region: *region_id i\ncustomers: *id i, region t",
    "a measure": "orders: *order_id i\nproducts: *id i, units_on_order i",
    "a measure without borders": "orders: *orderid i\nproducts: *id i, unitsonorder i, qtyorder i",
    "a number of rows": "guests: *id i\nrooms: *id i, number_of_guests i",
    "a price": "prices: *id i\nitems: *id i, price n, unit_price n",
    "a name in text": "customers: *customer_id t\norders: *id i, customer_name t",
    "its own key": "orders: *order_id i\ncustomers: *customer_id i",
    "keys called id": "a: *id i\nb: *id i",
    "a polymorphic pair": "posts: *id i\ncomments: *id i, commentable_id i, commentable_type t",
    "a view as parent": "view customers: id i\norders: *id i, customer_id i",
    "a view as child": "customers: *id i\nview orders: id i, customer_id i",
    "a key of several columns in part": "lines: *order_no i, *line_no i\nnotes: *id i, line_no i",
    "dates and booleans": "days: *day d\nevents: *id i, day d, active o",
    "words that end like a key": "pa: *id i\nbills: *id i, paid i, valid i",
}


@pytest.mark.parametrize(("schema", "relation"), FINDS.values(), ids=FINDS.keys())
def test_a_key_is_found(schema: str, relation: str) -> None:
    """By its name, its type and what it points to."""
    assert found(schema) == {relation}


@pytest.mark.parametrize("schema", LEAVES.values(), ids=LEAVES.keys())
def test_what_is_no_key_is_left(schema: str) -> None:
    """However it is called."""
    assert found(schema) == set()


def test_a_declared_key_is_not_repeated() -> None:
    """Nor is its column given another parent."""
    assert found("customers: *id i\norders: *id i, customer_id i>customers") == set()


def test_a_column_has_one_parent_and_says_where_it_doubts() -> None:
    """Of two tables that fit alike one is given, less surely."""
    schema = "x.customers: *id i\ny.customers: *id i\nz.orders: *id i, customer_id i"
    (one,) = find_relations(tables_of(schema))
    (sure,) = find_relations([table for table in tables_of(schema) if table.schema != "y"])

    assert one.target_table == "customers"
    assert one.score < sure.score
    assert any("nearly as well" in evidence.text for evidence in one.evidence)


def test_evidence_adds_up_to_the_score_and_stands_strongest_first() -> None:
    """Scores are probabilities, relations come best first."""
    relations = find_relations(
        tables_of("customers: *id i\nsales_rep: *id i\norders: *id i, customer_id i, cust_ref_id i")
    )

    assert [one.score for one in relations] == sorted((one.score for one in relations), reverse=True)
    for one in relations:
        weights = [abs(evidence.weight) for evidence in one.evidence]
        assert weights == sorted(weights, reverse=True)
        assert 0.5 <= one.score < 1


def test_the_order_of_the_tables_changes_nothing() -> None:
    """The same schema gives the same relations."""
    tables = list(tables_of("\n".join(schema for schema, _ in FINDS.values() if "." not in schema.split(":")[0])))
    unique = list({table.name: table for table in tables}.values())
    shuffled = random.Random(3).sample(unique, len(unique))

    assert find_relations(shuffled) == find_relations(unique)


def test_nothing_in_gives_nothing_out() -> None:
    """No tables, a table without columns, names without letters."""
    assert find_relations([]) == []
    assert find_relations([Table("", "", "table", ())]) == []
    assert find_relations([*tables_of("___: *_ i\n1: *2 i, 3 i"), Table("", "a", "table", ())]) == []


def test_the_limit_keeps_the_best() -> None:
    """Of what was found."""
    tables = tables_of("customers: *id i\nemployees: *id i\norders: *id i, customer_id i, approved_by i")

    assert told(find_relations(tables, limit=1)) == {"orders.customer_id > customers.id"}


CODES = [f"K{number * 37 % 1000:03}" for number in range(40)]
PLANTS = "plants: *plant_id i\nmachines: *id i, plant_id i"


def test_values_that_the_parent_lacks_refute_a_name() -> None:
    """Half of them are not keys."""
    profiles = samples(plants__plant_id=sample(1, 2, 3), machines__plant_id=sample(2, 3, 8, 9))

    assert found(PLANTS) == {"machines.plant_id > plants.plant_id"}
    assert found(PLANTS, profiles) == set()


def test_values_that_the_parent_has_make_it_surer() -> None:
    """The score rises, and the evidence says how many were covered."""
    profiles = samples(plants__plant_id=sample(*range(1, 30)), machines__plant_id=sample(*range(1, 20), rows=400))
    (plain,) = find_relations(tables_of(PLANTS))
    (one,) = find_relations(tables_of(PLANTS), profiles)

    assert one.score > plain.score
    assert any(evidence.kind == "coverage" and "100%" in evidence.text for evidence in one.evidence)


def test_an_empty_column_says_nothing() -> None:
    """Neither for nor against."""
    empty = replace(sample(), distinct=0, low=None, high=None)
    profiles = samples(plants__plant_id=sample(1, 2), machines__plant_id=empty)

    assert [one.score for one in find_relations(tables_of(PLANTS), profiles)] == [
        one.score for one in find_relations(tables_of(PLANTS))
    ]


def test_values_out_of_range_refute_where_not_all_are_known() -> None:
    """A sample in part still knows the smallest and the largest."""
    parent = Profile(9_000, 0, 9_000, 1, 9_000, frozenset(map(str, range(5_000))), complete=False)
    known = samples(plants__plant_id=parent, machines__plant_id=sample(10, 20, 77_000))
    profiles = replace(known, rows={("", "plants"): 9_000})

    assert found(PLANTS, profiles) == set()


def test_telling_values_find_a_key_that_no_name_does() -> None:
    """Codes do not meet by chance; the numbers from one upwards do."""
    schema = "q1: *a t\nq2: *b i, c t"
    coded = samples(q1__a=sample(*CODES), q2__c=sample(*CODES[:20]))
    counted = samples(q1__a=sample(*map(str, range(1, 40))), q2__c=sample(*map(str, range(1, 20))))

    assert found(schema, coded) == {"q2.c > q1.a"}
    assert found(schema, counted) == set()


def test_samples_are_wanted_where_they_may_tell() -> None:
    """Both ends of a doubtful pair; bounded."""
    tables = tables_of("plants: *plant_id i\nmachines: *id i, plant_id i, weight n, note t")

    assert columns_to_sample(tables) == {("", "plants", "plant_id"), ("", "machines", "plant_id")}
    assert len(columns_to_sample(tables, most=1)) == 1


def test_a_declared_key_tells_what_the_same_name_means_elsewhere() -> None:
    """This applies to a name without a meaning of its own, unless two declared keys differ."""
    schema = "staff: *id i\njobs: *id i\nbills: *id i, zz9 i>staff\nnotes: *id i, zz9 i"

    assert found(schema) == {"notes.zz9 > staff.id"}
    assert found(schema + "\nplans: *id i, zz9 i>jobs") == set()


@pytest.mark.parametrize("odd", ["--3", "9" * 5_000, "\u0663", "\u00b2", "1e5", ""])
def test_values_that_only_look_like_numbers_do_no_harm(odd: str) -> None:
    """Samples are other people's text."""
    values = sample("1", "2", odd)

    assert found(PLANTS, samples(plants__plant_id=values, machines__plant_id=values)) == {
        "machines.plant_id > plants.plant_id"
    }
