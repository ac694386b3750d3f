"""Value lists of every kind: shown, created, changed, renamed and deleted, in both dialects, on real files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.knowledge_solutions.conftest import files
from tests.support.servoy_workspace import WorkspaceBuilder, made_uuid
from thresher.core import Caller, Conflict, InvalidInput, NotFound, Unconfirmed
from thresher.knowledge.solutions import SolutionService, ValueListChanges, ValueListSpec
from thresher.servoy import CustomValue, ValueList, read_document, value_list_of


def on_disk(file: str) -> ValueList:
    """The value list that a file holds."""
    return value_list_of(read_document(Path(file).read_bytes()))


def raw(file: str) -> dict[str, Any]:
    """The properties of a file."""
    value = read_document(Path(file).read_bytes()).value
    assert isinstance(value, dict)
    return value


async def test_a_custom_list_holds_its_lines(service: SolutionService, caller: Caller, shop: WorkspaceBuilder) -> None:
    """Texts and records alike; types are in it if the project's dialect has them."""
    spec = ValueListSpec(name="states", custom_values=("New|1", CustomValue("Do|ne", "2"), "Old|30"))

    made = await service.open_value_list(caller, spec)
    shown = await service.open_value_list(caller, spec)

    properties = raw(made.place.file)
    assert properties["customValues"] == "New|1\nDo\\|ne|2\nOld|30"
    assert properties["addEmptyValue"] == 1
    assert "valueListType" not in properties
    types = (properties.get("displayValueType"), properties.get("realValueType"))
    assert types == ((12, 4) if shop.dialect == "json" else (None, None))
    assert made.place.path == "shop_data/valuelists/states.val"
    assert (made.change.action, shown.change.action) == ("created", "unchanged")
    assert shown.value_list == made.value_list


async def test_a_table_list_shows_some_columns_and_stores_others(
    service: SolutionService, caller: Caller, shop: WorkspaceBuilder
) -> None:
    """Flags of both, in the order in which they are shown; types follow the columns."""
    made = await service.open_value_list(
        caller,
        ValueListSpec(
            name="writers",
            datasource="shop/Authors",
            display=("last_name", "FIRST_NAME"),
            returns=("author_id",),
            separator=", ",
            sort="last_name desc, first_name",
            use_table_filter=True,
            add_empty="always",
            lazy_loading=False,
            comment="all",
        ),
    )

    properties = raw(made.place.file)
    assert [properties[f"dataProviderID{place}"] for place in (1, 2, 3)] == ["last_name", "first_name", "author_id"]
    assert (properties["showDataProviders"], properties["returnDataProviders"]) == (3, 4)
    assert (properties["dataSource"], properties["valueListType"]) == ("db:/shop/authors", 1)
    assert (properties["sortOptions"], properties["separator"]) == ("last_name desc, first_name asc", ", ")
    assert "addEmptyValue" not in properties  # 0, always
    assert made.value_list.lazy_loading is False
    types = (made.value_list.display_type, made.value_list.real_type)
    assert types == (("text", "integer") if shop.dialect == "json" else (None, None))


async def test_a_related_list_takes_columns_of_the_last_relation(service: SolutionService, caller: Caller) -> None:
    """One relation, or a chain of which each starts where the one before it ends."""
    one = await service.open_value_list(
        caller, ValueListSpec(name="lines", relation="orders_to_order_lines", display=("line_no",))
    )
    two = await service.open_value_list(
        caller,
        ValueListSpec(
            name="ordered",
            relation="orders_to_order_lines.order_lines_to_books",
            display=("title",),
            returns=("book_id",),
            fallback="books_in_print",
        ),
    )

    properties = raw(two.place.file)
    assert (properties["relationName"], properties["valueListType"]) == (two.value_list.relation, 1)
    assert "dataSource" not in properties
    assert properties["fallbackValueListID"] == made_uuid("shop_data", "list", "books_in_print")
    assert (one.value_list.display, one.value_list.returns) == ((0,), (0,))


async def test_a_list_by_a_method_holds_the_methods_uuid(service: SolutionService, caller: Caller) -> None:
    """By its full name or its UUID."""
    uuid = made_uuid("shop_screens", "helpers", "customerOf")

    named = await service.open_value_list(caller, ValueListSpec(name="one", global_method="scopes.helpers.customerOf"))
    same = await service.open_value_list(caller, ValueListSpec(name="two", global_method=uuid.lower()))

    assert raw(named.place.file)["customValues"] == raw(same.place.file)["customValues"] == uuid
    assert raw(named.place.file)["valueListType"] == 4


WRONG: list[tuple[ValueListSpec, str, str]] = [
    (ValueListSpec(), "value list has no name", ""),
    (ValueListSpec(name="custommers"), "give the origin of its values", "customers"),
    (ValueListSpec(name="x", datasource="shop/books"), "column of shop/books", "title (text)"),
    (ValueListSpec(name="x", datasource="shop/boks", display=("title",)), "no table 'boks'", "shop/books"),
    (ValueListSpec(name="x", datasource="menu:main", display=("title",)), "menu", ""),
    (ValueListSpec(name="x", datasource="shop/books", display=("titel",)), "no column 'titel'", "title"),
    (
        ValueListSpec(name="x", datasource="shop/books", display=("title",), sort="titel"),
        "no column 'titel'",
        "title",
    ),
    (ValueListSpec(name="x", datasource="shop/books", display=("title", "title")), "twice", ""),
    (
        ValueListSpec(name="x", datasource="shop/books", display=("title", "price"), returns=("book_id", "in_print")),
        "up to 3 columns, and 4 are given",
        "",
    ),
    (
        ValueListSpec(name="x", datasource="shop/books", display=("title", "price"), returns=("price", "title")),
        "in these orders",
        "same order",
    ),
    (ValueListSpec(name="x", datasource="", display=("title",)), "datasource is empty", ""),
    (ValueListSpec(name="x", datasource="shop/books", relation="orders_to_customers"), "not both", ""),
    (
        ValueListSpec(name="x", relation="orders_to_costumers", display=("city",)),
        "has a relation",
        "orders_to_customers",
    ),
    (
        ValueListSpec(name="x", relation="orders_to_customers.order_lines_to_books", display=("title",)),
        "starts at db:/shop/order_lines",
        "",
    ),
    (ValueListSpec(name="x", global_method="scopes.helpers.costumerOf"), "no global method", "customerOf"),
    (ValueListSpec(name="x", global_method="customerOf"), "no global method", "scopes.helpers.customerOf"),
    (ValueListSpec(name="x", global_method=made_uuid("nothing")), "has the UUID", "scopes.name.method"),
    (
        ValueListSpec(name="x", custom_values=("a",), display=("title",)),
        "display_column does not go with a custom",
        "",
    ),
    (ValueListSpec(name="x", global_method="scopes.helpers.customerOf", sort="a"), "sort does not go", ""),
    (ValueListSpec(name="x", custom_values=("a\nb",)), "line break", ""),
    (ValueListSpec(name="x", custom_values=("a",), fallback="none"), "no value list 'none'", ""),
    (ValueListSpec(name="x", custom_values=("a",), add_empty="sometimes"), "add_empty cannot be", "always"),  # type: ignore[arg-type]
    (ValueListSpec(name="x", custom_values=("a",), real_type="int"), "real_type cannot be 'int'", "integer"),  # type: ignore[arg-type]
    (ValueListSpec(name="1x", custom_values=("a",)), "cannot be the name of a value list", ""),
]


@pytest.mark.parametrize(("spec", "message", "hint"), WRONG, ids=[message for _, message, _ in WRONG])
async def test_missing_or_wrong_input_is_refused_with_suggestions(
    service: SolutionService, clerk: Caller, plain: WorkspaceBuilder, spec: ValueListSpec, message: str, hint: str
) -> None:
    """Nothing is guessed, and nothing is written."""
    before = files(plain.root)

    with pytest.raises(InvalidInput) as refused:
        await service.open_value_list(clerk, spec)

    assert message in refused.value.message
    assert hint in refused.value.hint
    assert files(plain.root) == before


async def test_an_object_that_differs_is_neither_returned_nor_changed(
    service: SolutionService, clerk: Caller, plain: WorkspaceBuilder
) -> None:
    """In the origin of its values, or in a property; equal properties are accepted."""
    before = files(plain.root)

    with pytest.raises(Conflict, match=r"custom values \(Hall, Cellar, Attic\), not custom values \(Hall\)"):
        await service.open_value_list(clerk, ValueListSpec(name="rooms", custom_values=("Hall",)))
    with pytest.raises(Conflict, match=r"full_name of shop/customers, stored as customer_id, not city"):
        await service.open_value_list(clerk, ValueListSpec(name="customers", display=("city",)))
    with pytest.raises(Conflict, match=r"add_empty is 'never', not 'always'.*update_value_list"):
        await service.open_value_list(clerk, ValueListSpec(name="rooms", add_empty="always"))
    shown = await service.open_value_list(
        clerk,
        ValueListSpec(
            name="customers", datasource="db:/shop/customers", display=("full_name",), returns=("customer_id",)
        ),
    )

    assert shown.change.action == "unchanged"
    assert files(plain.root) == before


async def test_an_update_touches_only_its_lines(
    service: SolutionService, caller: Caller, shop: WorkspaceBuilder
) -> None:
    """Columns keep their positions if the order allows it."""
    file = shop.root / "shop_data/valuelists/customers.val"
    before = file.read_text()

    done = await service.update_value_list(
        caller, "customers", ValueListChanges(display=("full_name", "city"), add_empty="always")
    )

    after = file.read_text()
    lost = set(before.splitlines()) - set(after.splitlines())
    assert all("addEmptyValue" in one or "showDataProviders" in one for one in lost)
    properties = raw(done.place.file)
    assert [properties[f"dataProviderID{place}"] for place in (1, 2, 3)] == ["full_name", "customer_id", "city"]
    assert (properties["showDataProviders"], properties["returnDataProviders"]) == (5, 2)


async def test_a_list_can_change_its_kind(service: SolutionService, caller: Caller) -> None:
    """Properties of the former kind are removed; the list keeps its identity."""
    before = await service.open_value_list(caller, ValueListSpec(name="rooms"))

    table = await service.update_value_list(
        caller,
        "rooms",
        ValueListChanges(datasource="shop/shelves", display=("room",), returns=("shelf_id",), sort="room"),
    )
    related = await service.update_value_list(
        caller, "rooms", ValueListChanges(relation="orders_to_customers", display=("city",), returns=("city",))
    )
    custom = await service.update_value_list(caller, "rooms", ValueListChanges(custom_values=("A", "B")))

    assert (table.value_list.kind, related.value_list.kind, custom.value_list.kind) == ("table", "related", "custom")
    assert (related.value_list.datasource, related.value_list.sort) == ("", "")
    assert set(raw(custom.place.file)) == set(raw(before.place.file))
    assert custom.value_list.uuid == before.value_list.uuid


async def test_types_follow_columns_if_the_file_has_types(service: SolutionService, clerk: Caller) -> None:
    """A list without types stays without them, also in the classic dialect."""
    said = await service.update_value_list(clerk, "stars", ValueListChanges(custom_values=("One|a", "Two|b")))
    silent = await service.update_value_list(clerk, "customers", ValueListChanges(returns=("city",)))
    told = await service.update_value_list(clerk, "customers", ValueListChanges(real_type="text"))

    assert (said.value_list.display_type, said.value_list.real_type) == ("text", "text")
    assert (silent.value_list.display_type, silent.value_list.real_type) == (None, None)
    assert told.value_list.real_type == "text"


async def test_renaming_keeps_references_by_uuid(
    service: SolutionService, caller: Caller, shop: WorkspaceBuilder
) -> None:
    """Forms and fallbacks refer to a value list by UUID, so nothing is rewritten or left."""
    form = (shop.root / "shop_screens/forms/order.frm").read_bytes()

    done = await service.rename_value_list(caller, "customers", "buyers")

    assert not (shop.root / "shop_data/valuelists/customers.val").exists()
    assert on_disk(done.place.file).name == "buyers"
    assert (done.change.left, done.value_list.uuid in form.decode()) == ((), True)
    assert (shop.root / "shop_screens/forms/order.frm").read_bytes() == form
    with pytest.raises(Conflict, match="There is a value list 'rooms'"):
        await service.rename_value_list(caller, "buyers", "rooms")


async def test_referenced_objects_are_not_deleted_without_force(
    service: SolutionService, caller: Caller, shop: WorkspaceBuilder
) -> None:
    """A form that shows it, a list that falls back to it; an object deleted with it does not count."""
    before = files(shop.root)
    with pytest.raises(Conflict, match=r"order\.frm"):
        await service.delete_value_lists(caller, ["customers"])
    with pytest.raises(Conflict, match=r"books_in_print\.val"):
        await service.delete_value_lists(caller, ["rooms"])

    done = await service.delete_value_lists(caller, ["rooms", "books_in_print"])
    await service.undo(caller, done.change.id)

    assert done.names == ("rooms", "books_in_print")
    assert files(shop.root) == before


async def test_changes_outside_the_active_solution_need_confirmation(service: SolutionService, clerk: Caller) -> None:
    """As for relations."""
    with pytest.raises(Unconfirmed, match="'bookshop'"):
        await service.update_value_list(clerk, "years", ValueListChanges(comment="x"))
    with pytest.raises(Unconfirmed, match="'backoffice'"):
        await service.open_value_list(clerk, ValueListSpec(name="x", custom_values=("a",), solution="backoffice"))
    with pytest.raises(NotFound, match="'customers'"):
        await service.update_value_list(clerk, "costumers", ValueListChanges(comment="x"))

    done = await service.update_value_list(clerk, "years", ValueListChanges(comment="x"), confirm=True)

    assert (done.project, done.value_list.method) == ("bookshop", made_uuid("bookshop", "globals", "years"))


async def test_lists_show_their_values(service: SolutionService, clerk: Caller) -> None:
    """In words, and as data."""
    listing = await service.list_value_lists(clerk, "all")

    words = {one.name: one.summary for one in listing.objects}
    assert words["rooms"] == "custom values (Hall, Cellar, Attic)"
    assert words["customers"] == "full_name of shop/customers, stored as customer_id"
    fallback = made_uuid("shop_data", "list", "rooms")
    told = "title of relation authors_to_books$in_print, stored as book_id"
    assert words["books_in_print"] == f"{told}; fallback rooms ({fallback})"
    assert words["years"] == f"values of the method scopes.globals.years ({made_uuid('bookshop', 'globals', 'years')})"
    facts = {one.name: one.facts for one in listing.objects}
    assert (facts["books_in_print"]["fallback_name"], facts["years"]["method_name"]) == (
        "rooms",
        "scopes.globals.years",
    )
    assert words["years"].startswith("values of the method ")
    assert (listing.kind, listing.total, listing.workspace, listing.active) == ("value list", 5, "shop", "shop_data")


async def test_fallbacks_do_not_form_a_circle(service: SolutionService, clerk: Caller, plain: WorkspaceBuilder) -> None:
    """The circle is named; one that was written by hand gives a note, and prevents nothing else."""
    await service.open_value_list(clerk, ValueListSpec(name="t7", custom_values=("a",)))
    first = await service.open_value_list(clerk, ValueListSpec(name="a1", custom_values=("b",), fallback="t7"))
    before = files(plain.root)

    with pytest.raises(InvalidInput, match="form a circle: t7 -> a1 -> t7"):
        await service.update_value_list(clerk, "t7", ValueListChanges(fallback="a1"))
    assert files(plain.root) == before

    await service.update_value_list(clerk, "t7", ValueListChanges(fallback="rooms"))
    file = plain.root / "shop_data/valuelists/t7.val"
    rooms = made_uuid("shop_data", "list", "rooms")
    file.write_text(file.read_text().replace(rooms, first.value_list.uuid))
    noted = await service.open_value_list(clerk, ValueListSpec(name="b1", custom_values=("c",), fallback="a1"))
    again = await service.update_value_list(clerk, "t7", ValueListChanges(fallback="a1", comment="x"))

    assert any("a circle: b1 -> a1 -> t7 -> a1" in note for note in noted.notes)
    assert any("form a circle: t7 -> a1 -> t7" in note for note in again.notes)
    assert again.change.action == "updated"


async def test_an_answer_names_what_it_refers_to_by_uuid(service: SolutionService, clerk: Caller) -> None:
    """The method and the fallback list; also in an error."""
    years = await service.open_value_list(clerk, ValueListSpec(name="years", solution="bookshop"))
    books = await service.open_value_list(clerk, ValueListSpec(name="books_in_print"))
    with pytest.raises(Conflict, match=r"fallback is 'rooms \(.*\)', not 'stars \("):
        await service.open_value_list(clerk, ValueListSpec(name="books_in_print", fallback="stars"))

    assert (years.method_name, years.fallback_name) == ("scopes.globals.years", "")
    assert (books.method_name, books.fallback_name) == ("", "rooms")
