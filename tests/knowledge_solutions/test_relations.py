"""Relations: shown, created, changed, renamed and deleted, in both dialects, on real files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.knowledge_solutions.conftest import files
from tests.support.servoy_workspace import Column, WorkspaceBuilder
from thresher.core import BrokenFile, Caller, Conflict, InvalidInput, NotFound, Unconfirmed
from thresher.knowledge.solutions import RelationChanges, RelationSpec, SolutionService
from thresher.servoy import Relation, RelationItem, read_document, relation_of

BOOKS = RelationSpec(
    primary_datasource="shop/books",
    foreign_datasource="shop/publishers",
    items=(RelationItem("publisher_id", "publisher_id"),),
)
PAIR = (RelationItem("author_id", "author_id"),)


def on_disk(file: str) -> Relation:
    """The relation that a file holds."""
    return relation_of(read_document(Path(file).read_bytes()))


async def test_a_new_relation_is_in_the_active_solution_under_the_tables_names(
    service: SolutionService, caller: Caller, shop: WorkspaceBuilder
) -> None:
    """Left outer, named by both tables, in the project's dialect; the answer has the location and the diff."""
    before = files(shop.root)

    made = await service.open_relation(caller, BOOKS)

    assert (made.relation.name, made.project, made.relation.join_type) == (
        "books_to_publishers",
        "shop_data",
        "left outer",
    )
    assert made.place.path == "shop_data/relations/books_to_publishers.rel"
    assert made.place.uri.startswith("vscode://file/")
    assert made.place.uri.endswith("books_to_publishers.rel:1")
    assert on_disk(made.place.file) == made.relation
    assert Path(made.place.file).read_bytes().startswith(b"{" if shop.dialect == "json" else b"foreignDataSource")
    assert (made.change.action, made.change.files) == ("created", (made.place.path,))
    assert "+" in made.change.diff
    assert made.change.id
    after = files(shop.root)
    after.pop(made.place.path)
    assert after == before


async def test_every_property_reaches_the_file(service: SolutionService, caller: Caller) -> None:
    """Every given property is in it; the answer also says why these columns were chosen."""
    said: dict[str, Any] = {
        "join_type": "inner",
        "allow_creation": True,
        "allow_parent_delete": False,
        "delete_related": True,
        "duplicate_related": True,
        "initial_sort": "NAME desc, publisher_id",
        "encapsulation": "module",
        "deprecated": "too old",
        "comment": "two\nlines",
    }
    items = (RelationItem("publisher_id", "publisher_id"), RelationItem("LITERAL:a%", "name", "like", ignore_case=True))
    made = await service.open_relation(
        caller,
        RelationSpec(
            name="published",
            primary_datasource="db:/SHOP/Books",
            foreign_datasource="shop/publishers",
            items=items,
            reason="a key",
            evidence=("it is declared",),
            **said,
        ),
    )

    stored = on_disk(made.place.file)
    assert {name: getattr(stored, name) for name in said} == {**said, "initial_sort": "name desc, publisher_id asc"}
    assert stored.primary_datasource == "db:/shop/books"
    assert {(one.primary, one.foreign, one.operator, one.ignore_case) for one in stored.items} == {
        ("publisher_id", "publisher_id", "=", False),
        ("LITERAL:a%", "name", "like", True),
    }
    assert (made.reason, made.evidence) == ("a key", ("it is declared",))


async def test_an_existing_relation_is_returned_and_not_changed(
    service: SolutionService, caller: Caller, shop: WorkspaceBuilder
) -> None:
    """By its name, and by the same data sources and columns in another order and spelling."""
    before = files(shop.root)

    shown = await service.open_relation(caller, RelationSpec(name="orders_to_customers"))
    same = await service.open_relation(
        caller,
        RelationSpec(
            name="authors_to_books$in_print",
            primary_datasource="shop/authors",
            foreign_datasource="shop/books",
            items=(RelationItem("author_id", "author_id"), RelationItem("LITERAL:1", "in_print")),
        ),
    )

    assert (shown.change.action, shown.change.id, same.change.action) == ("unchanged", "", "unchanged")
    assert files(shop.root) == before


async def test_an_object_that_differs_is_neither_returned_nor_changed(
    service: SolutionService, clerk: Caller, plain: WorkspaceBuilder
) -> None:
    """The error says what differs, and which tool changes it."""
    before = files(plain.root)

    with pytest.raises(Conflict, match=r"join_type is 'left outer', not 'inner'.*update_relation"):
        await service.open_relation(clerk, RelationSpec(name="orders_to_customers", join_type="inner"))
    with pytest.raises(Conflict, match=r"foreign_datasource is 'db:/shop/customers', not 'db:/shop/books'\."):
        await service.open_relation(
            clerk,
            RelationSpec(
                name="orders_to_customers",
                primary_datasource="shop/orders",
                foreign_datasource="shop/books",
                items=PAIR,
            ),
        )
    with pytest.raises(Conflict, match="items"):
        await service.find_relation(clerk, RelationSpec(name="orders_to_customers", items=(_odd(),)))

    assert files(plain.root) == before


def _odd() -> RelationItem:
    return RelationItem("customer_id", "city")


@pytest.mark.parametrize(
    ("spec", "message", "hint"),
    [
        (RelationSpec(), "Neither a name nor primary_datasource and foreign_datasource", "server/table"),
        (RelationSpec(name="nothing"), "to create it, give primary_datasource and foreign_datasource", "server/table"),
        (RelationSpec(name="books_to_reviews"), "to create it, give", "from shop/books to shop/reviews"),
        (RelationSpec(name="orders_to_costumers"), "to create it, give", "orders_to_customers"),
        (RelationSpec(primary_datasource="shop/books"), "Neither a name nor foreign_datasource", "server/table"),
        (
            RelationSpec(primary_datasource="shop/books", foreign_datasource="shop/authors"),
            "columns that join shop/books and shop/authors",
            "author_id (integer)",
        ),
        (
            RelationSpec(primary_datasource="shop/book", foreign_datasource="shop/authors", items=PAIR),
            "primary_datasource: the server 'shop' has no table 'book'",
            "shop/books",
        ),
        (
            RelationSpec(primary_datasource="books", foreign_datasource="shop/authors", items=PAIR),
            "not a data source",
            "shop/books",
        ),
        (
            RelationSpec(
                primary_datasource="shop/books",
                foreign_datasource="shop/authors",
                items=(RelationItem("autor_id", "author_id"),),
            ),
            "shop/books has no column 'autor_id'",
            "author_id",
        ),
        (
            RelationSpec(
                primary_datasource="shop/books", foreign_datasource="shop/authors", items=PAIR, initial_sort="nam asc"
            ),
            "no column 'nam'",
            "shop/authors has",
        ),
        (
            RelationSpec(
                primary_datasource="shop/books", foreign_datasource="shop/authors", items=PAIR, initial_sort="x.name"
            ),
            "relation 'x'",
            "",
        ),
        (
            RelationSpec(
                primary_datasource="shop/books",
                foreign_datasource="shop/authors",
                items=(RelationItem("author_id", "author_id", "not in"),),
            ),
            "cannot compare with 'not in'",
            "",
        ),
        (
            RelationSpec(
                primary_datasource="shop/books",
                foreign_datasource="shop/authors",
                items=(RelationItem("author_id", "author_id", ">", ignore_case=True),),
            ),
            "ignore_case does not go with '>'",
            "like",
        ),
        (
            RelationSpec(name="a b", primary_datasource="shop/books", foreign_datasource="shop/authors", items=PAIR),
            "a b",
            "",
        ),
        (
            RelationSpec(
                name="foundset", primary_datasource="shop/books", foreign_datasource="shop/authors", items=PAIR
            ),
            "reserved",
            "",
        ),
        (
            RelationSpec(name="x", primary_datasource="shop/books", foreign_datasource="shop/authors", items=PAIR * 2),
            "twice",
            "",
        ),
        (
            RelationSpec(
                name="x",
                primary_datasource="shop/books",
                foreign_datasource="shop/authors",
                items=PAIR,
                join_type="outer",  # type: ignore[arg-type]
            ),
            "join_type cannot be 'outer'",
            "left outer",
        ),
    ],
    ids=lambda value: "" if isinstance(value, RelationSpec) else str(value)[:30],
)
async def test_missing_or_wrong_input_is_refused_with_suggestions(
    service: SolutionService, clerk: Caller, plain: WorkspaceBuilder, spec: RelationSpec, message: str, hint: str
) -> None:
    """Nothing is guessed, and nothing is written."""
    before = files(plain.root)

    with pytest.raises(InvalidInput) as refused:
        await service.open_relation(clerk, spec)

    assert message in refused.value.message
    assert hint in refused.value.hint
    assert files(plain.root) == before


async def test_a_relation_that_cannot_be_checked_is_created_with_a_note(
    service: SolutionService, clerk: Caller
) -> None:
    """A server without column information, an undefined in-memory table, types that are rarely equal."""
    unknown = await service.open_relation(
        clerk,
        RelationSpec(primary_datasource="crm/deals", foreign_datasource="mem:baskets", items=(RelationItem("a", "b"),)),
    )
    apart = await service.open_relation(
        clerk,
        RelationSpec(
            primary_datasource="shop/books",
            foreign_datasource="shop/customers",
            items=(RelationItem("book_id", "customer_id"), RelationItem("scopes.globals.nothing", "city")),
        ),
    )

    assert any("no column information of the server 'crm'" in note for note in unknown.notes)
    assert any("in-memory table 'baskets'" in note and "basket" in note for note in unknown.notes)
    assert any("different types" in note for note in apart.notes)
    assert any("scopes.globals.nothing" in note for note in apart.notes)


async def test_calculations_and_memory_tables_are_sides_of_a_relation(
    service: SolutionService, clerk: Caller, plain: WorkspaceBuilder
) -> None:
    """A calculation may only be on the primary side."""
    plain.write(
        "shop_data/datasources/shop/books_calculations.js",
        '/**\n * @properties={type:4,typeid:36,uuid:"62E0B3B5-2B1F-4B6B-9B0F-0A8E1C2D3E4F"}\n */\n'
        "function basket_id()\n{\n\treturn book_id;\n}\n",
    )
    spec = RelationSpec(
        primary_datasource="shop/books",
        foreign_datasource="mem:basket",
        items=(RelationItem("basket_id", "book_id"),),
    )

    made = await service.open_relation(clerk, spec)

    assert (made.relation.foreign_datasource, made.notes) == ("mem:basket", ())
    with pytest.raises(InvalidInput, match="mem:basket has no column 'basket_id'"):
        await service.open_relation(
            clerk,
            RelationSpec(
                name="x",
                primary_datasource="shop/books",
                foreign_datasource="mem:basket",
                items=(RelationItem("book_id", "basket_id"),),
            ),
        )


async def test_a_name_visible_in_another_module_is_taken(service: SolutionService, clerk: Caller) -> None:
    """In a module that uses this one, in one used together with it, in another case, and as a column of the table."""
    spec = {"primary_datasource": "shop/books", "foreign_datasource": "shop/authors", "items": PAIR, "confirm": True}

    with pytest.raises(Conflict, match=r"'books\$wanted' in 'bookshop'"):
        await service.open_relation(clerk, RelationSpec(name="books$wanted", solution="shop_screens", **spec))
    with pytest.raises(Conflict, match="ignore case"):
        await service.open_relation(clerk, RelationSpec(name="Orders_to_customers", **spec))
    with pytest.raises(Conflict, match="has a column 'title'"):
        await service.open_relation(clerk, RelationSpec(name="title", **spec))
    made = await service.open_relation(clerk, RelationSpec(name="books$wanted", solution="backoffice", **spec))

    assert made.project == "backoffice"  # nothing uses it together with `bookshop`


async def test_changes_outside_the_active_solution_need_confirmation(
    service: SolutionService, clerk: Caller, plain: WorkspaceBuilder
) -> None:
    """To create, change, rename and delete."""
    before = files(plain.root)
    name = "books$wanted"
    calls = [
        service.open_relation(clerk, RelationSpec(**{**_fields(BOOKS), "solution": "backoffice"})),
        service.update_relation(clerk, name, RelationChanges(comment="x")),
        service.rename_relation(clerk, name, "books$found"),
        service.delete_relations(clerk, [name]),
    ]

    for call in calls:
        with pytest.raises(Unconfirmed, match=r"'(bookshop|backoffice)'.*confirm: true"):
            await call

    assert files(plain.root) == before
    assert (
        await service.update_relation(clerk, name, RelationChanges(comment="x"), confirm=True)
    ).project == "bookshop"


def _fields(spec: RelationSpec) -> dict[str, Any]:
    return {name: getattr(spec, name) for name in ("primary_datasource", "foreign_datasource", "items")}


async def test_an_update_touches_only_its_lines(
    service: SolutionService, caller: Caller, shop: WorkspaceBuilder
) -> None:
    """Unknown properties stay, the answer's line is the first that changed, and equal values are no change."""
    file = shop.root / "shop_data/relations/orders_to_order_lines.rel"
    text = file.read_bytes()
    odd = b'"zzz":1' if shop.dialect == "json" else b"zzz:1"
    text = text[:-2] + b",\n    " + odd + b"\n}" if shop.dialect == "json" else text + b",\n" + odd
    file.write_bytes(text)

    done = await service.update_relation(
        caller, "orders_to_order_lines", RelationChanges(delete_related=False, comment="lines", initial_sort="")
    )
    again = await service.update_relation(caller, "orders_to_order_lines", RelationChanges(comment="lines"))

    after = file.read_bytes()
    lost, new = _lines(text) - _lines(after), _lines(after) - _lines(text)
    assert {one.split(":")[0].strip('" ') for one in lost} == {"deleteRelatedRecords", "initialSort"}
    assert {one.split(":")[0].strip('" ') for one in new} == {"comment"}
    assert odd in after
    assert _lines(after.splitlines()[done.place.line - 1]) & new
    assert (again.change.action, again.change.id) == ("unchanged", "")


def _lines(text: bytes) -> set[str]:
    return {line.strip().rstrip(",") for line in text.decode().splitlines()}


async def test_items_that_stay_keep_their_uuids(service: SolutionService, caller: Caller) -> None:
    """A new pair is a new item; the data source can only change together with its columns."""
    before = (await service.open_relation(caller, RelationSpec(name="orders_to_order_lines"))).relation
    items = (RelationItem("order_id", "order_id"), RelationItem("LITERAL:1", "line_no", ">="))

    done = await service.update_relation(caller, before.name, RelationChanges(items=items))

    assert before.items[0] in done.relation.items
    assert len(done.relation.items) == 2
    with pytest.raises(InvalidInput, match="shop/books has no column"):
        await service.update_relation(caller, before.name, RelationChanges(foreign_datasource="shop/books"))


async def test_an_update_leaves_other_properties_even_if_they_are_wrong(
    service: SolutionService, clerk: Caller, plain: WorkspaceBuilder
) -> None:
    """A relation to a removed table can get a comment, but not other columns."""
    gone = Relation("lost", "db:/shop/books", "db:/shop/gone", (RelationItem("nope", "never"),))
    plain.relation("shop_data", gone)

    done = await service.update_relation(clerk, "lost", RelationChanges(comment="why?"))

    assert done.relation.comment == "why?"
    same = RelationSpec(name="lost", primary_datasource="shop/books", foreign_datasource="shop/GONE")
    assert (await service.open_relation(clerk, same)).change.action == "unchanged"
    with pytest.raises(InvalidInput, match="No property is given"):
        await service.update_relation(clerk, "lost", RelationChanges())
    with pytest.raises(NotFound, match="lost"):
        await service.update_relation(clerk, "los", RelationChanges(comment=""))


async def test_renaming_moves_the_file_and_rewrites_certain_references(
    service: SolutionService, caller: Caller, shop: WorkspaceBuilder
) -> None:
    """Forms and value lists follow; scripts are listed, and prevent it without force."""
    before = files(shop.root)
    with pytest.raises(
        Conflict, match=r"(?s)would still say the old name.*helpers\.js:\d+.*force: true|force: true.*helpers\.js"
    ):
        await service.rename_relation(caller, "orders_to_customers", "order_customer")
    assert files(shop.root) == before

    with pytest.raises(Unconfirmed, match=r"'order_customer', and \d places? in 'shop_screens' with it"):
        await service.rename_relation(caller, "orders_to_customers", "order_customer", force=True)
    assert files(shop.root) == before

    done = await service.rename_relation(caller, "orders_to_customers", "order_customer", confirm=True, force=True)

    after = files(shop.root)
    assert "shop_data/relations/orders_to_customers.rel" not in after
    assert on_disk(done.place.file).uuid == done.relation.uuid
    assert b"order_customer.full_name" in after["shop_screens/forms/order.frm"]
    assert {one.place.path for one in done.change.left} == {"shop_screens/helpers.js"}
    assert after["shop_screens/helpers.js"] == before["shop_screens/helpers.js"]
    assert "shop_screens/forms/order.frm" in {one.place.path for one in done.change.rewritten}


async def test_a_relation_of_a_value_list_is_renamed_in_it(
    service: SolutionService, caller: Caller, shop: WorkspaceBuilder
) -> None:
    """Everything that names it can be rewritten, so no force is needed; a change of case is a new name."""
    done = await service.rename_relation(caller, "authors_to_books$in_print", "Authors_to_books$in_print")

    assert b'"Authors_to_books$in_print"' in (shop.root / "shop_data/valuelists/books_in_print.val").read_bytes()
    assert [one.name for one in (shop.root / "shop_data/relations").glob("*uthors*")] == [
        "Authors_to_books$in_print.rel"
    ]
    assert done.change.left == ()
    with pytest.raises(Conflict, match="There is a relation 'orders_to_customers'"):
        await service.rename_relation(caller, done.relation.name, "orders_to_customers")
    with pytest.raises(InvalidInput, match="already"):
        await service.rename_relation(caller, done.relation.name, done.relation.name)


async def test_referenced_objects_are_not_deleted_without_force(
    service: SolutionService, caller: Caller, shop: WorkspaceBuilder
) -> None:
    """All names or none; undo restores everything, byte for byte."""
    before = files(shop.root)
    with pytest.raises(Conflict, match=r"Nothing was deleted.*order\.frm"):
        await service.delete_relations(caller, ["authors_to_books$in_print", "orders_to_customers"])
    with pytest.raises(NotFound):
        await service.delete_relations(caller, ["order_lines_to_books", "none_such"], force=True)
    assert files(shop.root) == before

    done = await service.delete_relations(caller, ["orders_to_customers", "order_lines_to_books"], force=True)
    gone = files(shop.root)
    kept = await service.backups(caller)
    undone = await service.undo(caller, done.change.id)

    assert len(before) - len(gone) == 2
    assert done.change.left
    assert (kept[0].id, kept[0].workspace, "deleted" in kept[0].action) == (done.change.id, "shop", True)
    assert files(shop.root) == before
    assert set(undone.files) == set(done.change.files)


async def test_objects_deleted_together_do_not_count_as_references(service: SolutionService, clerk: Caller) -> None:
    """A relation without references needs no force."""
    await service.open_relation(clerk, BOOKS)

    done = await service.delete_relations(clerk, ["books_to_publishers", "books_to_publishers"])

    assert done.names == ("books_to_publishers",)
    assert done.change.action == "deleted"


async def test_a_broken_file_is_named_and_never_written(
    service: SolutionService, clerk: Caller, plain: WorkspaceBuilder
) -> None:
    """With line and column; its name is taken."""
    file = plain.write("shop_data/relations/torn.rel", b"name:\n<<<<<<< HEAD\n")

    for call in (
        service.open_relation(clerk, RelationSpec(name="torn", **_fields(BOOKS))),
        service.update_relation(clerk, "torn", RelationChanges(comment="x")),
        service.delete_relations(clerk, ["torn"], force=True),
    ):
        with pytest.raises(BrokenFile) as refused:
            await call
        assert refused.value.line == 2

    assert file.read_bytes() == b"name:\n<<<<<<< HEAD\n"
    listing = await service.list_relations(clerk, "current")
    assert [(one.path, one.line) for one in listing.broken] == [("shop_data/relations/torn.rel", 2)]


async def test_lists_show_a_scope_in_pages(service: SolutionService, clerk: Caller) -> None:
    """By project and name, in words and as data; a cursor belongs to its list."""
    current = await service.list_relations(clerk, "current")
    everything = await service.list_relations(clerk, "all")
    first = await service.list_relations(clerk, "all", limit=2)
    second = await service.list_relations(clerk, "all", limit=4, cursor=first.cursor)

    assert [one.name for one in current.objects] == [
        "authors_to_books$in_print",
        "order_lines_to_books",
        "orders_to_customers",
        "orders_to_order_lines",
    ]
    assert everything.objects[0].summary.endswith("left outer; global")
    assert first.objects + second.objects == everything.objects
    assert (first.total, second.cursor) == (5, "")
    assert current.objects[2].facts["items"][0]["primary"] == "customer_id"
    with pytest.raises(InvalidInput, match="another list or question"):
        await service.list_relations(clerk, "modules", cursor=first.cursor)
    for wrong in ({"limit": 0}, {"limit": 1001}, {"cursor": "öä"}, {"scope": "here"}):
        with pytest.raises(InvalidInput):
            await service.list_relations(clerk, **wrong)  # type: ignore[arg-type]


async def test_a_relation_elsewhere_is_found_there(
    service: SolutionService, clerk: Caller, plain: WorkspaceBuilder
) -> None:
    """In a module, in another solution; if several have it, one must be named."""
    plain.relation("backoffice", Relation("audits", "db:/shop/books", "db:/shop/reviews", ()))
    plain.relation("bookshop", Relation("audits", "db:/shop/books", "db:/shop/reviews", ()))
    plain.table("shop", "audits", [Column("id", key=True)])

    found = await service.open_relation(clerk, RelationSpec(name="books$wanted"))

    assert found.project == "bookshop"
    assert found.notes == ("It is in 'bookshop', which 'shop_data' does not use.",)
    with pytest.raises(InvalidInput, match="'backoffice', 'bookshop'"):
        await service.open_relation(clerk, RelationSpec(name="audits"))
    said = await service.open_relation(clerk, RelationSpec(name="audits", solution="backoffice"))
    assert said.project == "backoffice"


ENUMERATION = (
    '/**\n * @enum\n * @properties={typeid:35,uuid:"5B0E0B52-7C0B-4B8C-9F7B-0C1D2E3F4A5B",variableType:-4}\n */\n'
    "var kind = {a: 1, b: 2};\n"
)


@pytest.mark.parametrize("primary", ["scopes.lists.kind.a", "scopes.lists.kind"])
async def test_an_item_may_be_a_member_of_an_enumeration(
    service: SolutionService, clerk: Caller, plain: WorkspaceBuilder, primary: str
) -> None:
    """Created, given again unchanged, and changed to another."""
    plain.write("shop_data/lists.js", ENUMERATION)
    spec = replace(BOOKS, name="kinds", items=(RelationItem(primary, "publisher_id"),))

    made = await service.open_relation(clerk, spec)
    again = await service.open_relation(clerk, spec)
    other = (RelationItem("scopes.lists.kind.b", "publisher_id"),)
    changed = await service.update_relation(clerk, "kinds", RelationChanges(items=other))

    assert on_disk(made.place.file).items[0].primary == "scopes.lists.kind.b"
    assert (again.change.action, again.relation) == ("unchanged", made.relation)
    assert changed.relation.items[0].uuid == made.relation.items[0].uuid
    assert [note for note in made.notes if "kind" in note] == []


async def test_an_unknown_scope_is_refused_with_the_nearest(
    service: SolutionService, clerk: Caller, plain: WorkspaceBuilder
) -> None:
    """Like an unknown column; what a relation already contains may stay."""
    plain.write("shop_data/lists.js", ENUMERATION)
    spec = replace(BOOKS, name="kinds", items=(RelationItem("scopes.list.kind.a", "publisher_id"),))

    with pytest.raises(InvalidInput, match="no scope 'list'") as refused:
        await service.open_relation(clerk, spec)
    made = await service.open_relation(clerk, replace(spec, items=(RelationItem("scopes.lists.kind.a", "name"),)))
    (plain.root / "shop_data" / "lists.js").unlink()
    kept = await service.update_relation(clerk, "kinds", RelationChanges(items=made.relation.items, comment="old"))

    assert "scopes.lists" in refused.value.hint
    assert kept.relation.comment == "old"


async def test_a_scope_that_a_missing_module_may_have_is_noted(service: SolutionService, clerk: Caller) -> None:
    """The workspace lacks the module `reports`, which `backoffice` uses."""
    spec = replace(BOOKS, name="kinds", items=(RelationItem("scopes.charts.kind", "publisher_id"),))

    made = await service.open_relation(clerk, replace(spec, solution="backoffice", confirm=True))

    assert any("'charts' was not checked" in note and "'reports'" in note for note in made.notes)


FORM_SCRIPT = (
    '/**\n * @properties={typeid:24,uuid:"0E4A1B66-3F0C-4D51-8A77-1B2C3D4E5F60"}\n */\nfunction to_publisher() {}\n'
)


async def test_the_name_of_a_method_of_a_form_on_the_table_is_refused(
    service: SolutionService, clerk: Caller, plain: WorkspaceBuilder
) -> None:
    """In the form's script it would mean the method; forms that extend one on the table count, others do not."""
    base = plain.form("shop_screens", "base", [], dataSource="db:/shop/books")
    parent = str(read_document(base.read_bytes()).get("uuid"))
    plain.form("shop_screens", "book", [], extendsID=parent)
    plain.write("shop_screens/forms/book.js", FORM_SCRIPT)
    plain.form("shop_screens", "shelf", [], dataSource="db:/shop/shelves")
    plain.write("shop_screens/forms/shelf.js", FORM_SCRIPT.replace("to_publisher", "of_shelf"))

    for name in ("to_publisher", "TITLE"):
        with pytest.raises(Conflict, match=r"form 'book'|column 'title'"):
            await service.open_relation(clerk, replace(BOOKS, name=name))
    made = await service.open_relation(clerk, replace(BOOKS, name="of_shelf"))
    with pytest.raises(Conflict, match="form 'book' on shop/books has a method"):
        await service.rename_relation(clerk, "of_shelf", "to_publisher")

    assert made.relation.name == "of_shelf"
