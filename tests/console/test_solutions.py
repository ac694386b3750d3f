"""Solutions on their pages: every change is shown before it is written, agreed to where it must be, and taken back."""

from __future__ import annotations

import html
import re
import secrets
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from pydantic import SecretStr

from tests.api.serving import Served, served
from tests.console.person import Person, person, said
from tests.support import Databases
from tests.support.servoy_workspace import bookshop
from thresher.core import Settings

BASE = "/knowledge/solutions"
RELATION = f"{BASE}/relations/orders_to_customers?solution=shop_data"


@pytest.fixture(scope="module")
async def product(databases: Databases, open_folder: Path) -> AsyncIterator[Served]:
    """The product, shared by all tests of this module."""
    folder, name = open_folder / secrets.token_hex(4), await databases.create()
    folder.mkdir()
    url = SecretStr(databases.url(name))
    settings = Settings(data_dir=folder, allow_root=True, database_url=url, home_packs="off", workers=0)
    async with served(settings) as product:
        yield product
    await databases.drop(name)


@pytest.fixture
async def shop(owner: Person, tmp_path: Path) -> AsyncIterator[Path]:
    """A workspace, known as `shop`, where `shop_data` is active."""
    root = tmp_path / "shop"
    bookshop(root, "json")
    await owner.see(BASE)
    await owner.do(BASE, path=str(root))
    await owner.do(f"{BASE}/active", active="shop_data", workspace="shop")
    yield root
    await owner.see(f"{BASE}/workspace/shop")
    await owner.do(f"{BASE}/workspace/shop/remove", confirm="shop")


def fields(page: str) -> dict[str, str]:
    """The fields of the first form of the page's own, as a browser sends them."""
    form = page.partition("<main")[2].partition('<form method="post" action="/knowledge/solutions/change/')[2]
    form = form.partition("</form>")[0]
    found = re.findall(r'<input[^>]*name="([^"]+)"[^>]*value="([^"]*)"', form)
    found += re.findall(r'<textarea[^>]*name="([^"]+)"[^>]*>(.*?)</textarea>', form, re.DOTALL)
    for name, options in re.findall(r'<select[^>]*name="([^"]+)">(.*?)</select>', form, re.DOTALL):
        chosen = re.search(r"<option[^>]* selected>([^<]*)", options)
        found.append((name, chosen[1] if chosen else ""))
    return {name: html.unescape(value) for name, value in found if name != "csrf"}


async def written(owner: Person, verb: str, **form: str) -> str:
    """Send a form, agree to what it shows, and return the page after it."""
    answer = await owner.send(f"{BASE}/change/{verb}", **form)
    assert answer.status_code == 200, said(answer.text)
    assert "Nothing is written yet." in said(answer.text), said(answer.text)
    owner.last = answer.text
    return await owner.do(f"{BASE}/change/{verb}", **fields(answer.text))


async def test_without_a_workspace_every_page_says_what_to_do(owner: Person) -> None:
    """The form that adds one, and the command."""
    page = await owner.see(BASE)

    assert 'class="empty"' in page
    assert "thresher solutions add" in said(page)
    for kind in ("relations", "value-lists"):
        assert "Add a workspace" in said(await owner.see(f"{BASE}/{kind}"))


async def test_a_workspace_is_shown_with_its_solutions(owner: Person, shop: Path) -> None:
    """What it uses, what is missing, where one works."""
    listed = said(await owner.see(BASE))
    page = said(await owner.see(f"{BASE}/workspace/shop"))

    assert str(shop) in listed
    assert "missing: reports" in page
    assert "active" in page
    assert "None were made here." in page


@pytest.mark.parametrize("path", ["relative", "/nowhere/at/all", "/etc", "<script>alert(1)</script>"])
async def test_what_is_no_workspace_is_refused(owner: Person, path: str) -> None:
    """With what is wrong."""
    await owner.see(BASE)

    answer = await owner.send(BASE, path=path)

    assert answer.status_code == 422
    assert "<script>alert" not in answer.text


async def test_objects_are_listed_by_scope_and_words(owner: Person, shop: Path) -> None:
    """Nothing found is said, with where to look."""
    current = said(await owner.see(f"{BASE}/relations?scope=current"))
    everything = said(await owner.see(f"{BASE}/relations?scope=all"))
    found = said(await owner.see(f"{BASE}/relations?scope=all&q=customers"))
    none = said(await owner.see(f"{BASE}/value-lists?q=%3Cb%3E"))

    assert "orders_to_customers" in current
    assert "books$wanted" not in current
    assert "books$wanted" in everything
    assert "orders_to_customers" in found
    assert "books$wanted" not in found
    assert "None with these words" in none
    await owner.see(f"{BASE}/relations?scope=nonsense")
    await owner.see(f"{BASE}/relations?cursor=nonsense", 422)


async def test_a_relation_is_changed_after_its_difference_was_shown(owner: Person, shop: Path) -> None:
    """One property; the form has all others as they are, and they stay."""
    file = shop / "shop_data" / "relations" / "orders_to_customers.rel"
    before = file.read_bytes()
    form = fields(await owner.see(RELATION))
    assert form["primary_datasource"] == "db:/shop/orders"
    assert form["join_type"] == "left outer"

    answer = await owner.send(f"{BASE}/change/update_relation", **form | {"comment": "who <b>ordered</b>"})
    assert "+" in said(answer.text)
    assert "who &lt;b&gt;ordered&lt;/b&gt;" in answer.text
    assert file.read_bytes() == before
    owner.last = answer.text
    page = await owner.do(f"{BASE}/change/update_relation", **fields(answer.text))

    assert "Written: 1 file." in said(page)
    assert fields(page)["comment"] == "who <b>ordered</b>"
    assert len(file.read_bytes().splitlines()) == len(before.splitlines()) + 1


async def test_an_emptied_property_is_taken_away(owner: Person, shop: Path) -> None:
    """A comment that is empty is none."""
    form = fields(await owner.see(RELATION))
    page = await written(owner, "update_relation", **form | {"comment": "x"})

    page = await written(owner, "update_relation", **fields(page) | {"comment": ""})

    assert fields(page)["comment"] == ""
    assert b"comment" not in (shop / "shop_data" / "relations" / "orders_to_customers.rel").read_bytes()


async def test_a_form_that_changes_nothing_says_so(owner: Person, shop: Path) -> None:
    """In the form, with nothing written."""
    form = fields(await owner.see(RELATION))

    answer = await owner.send(f"{BASE}/change/update_relation", **form)

    assert answer.status_code == 422
    assert "Nothing was changed in the form." in said(answer.text)


@pytest.mark.parametrize(
    ("field", "value", "why"),
    [
        ("primary_datasource", "shop/nowhere", "nowhere"),
        ("items", "not json", "items is not JSON"),
        ("items", '[{"primary": "nothing", "foreign": "customer_id"}]', "nothing"),
        ("join_type", "sideways", "join_type"),
        ("initial_sort", "nothing asc", "nothing"),
    ],
)
async def test_a_wrong_property_is_named_in_the_form(
    owner: Person, shop: Path, field: str, value: str, why: str
) -> None:
    """What was written stays in the form."""
    form = fields(await owner.see(RELATION))

    answer = await owner.send(f"{BASE}/change/update_relation", **form | {field: value})

    assert answer.status_code == 422
    assert why in said(answer.text)
    assert field == "join_type" or fields(answer.text)[field] == value


async def test_outside_of_the_active_solution_somebody_agrees_first(owner: Person, shop: Path) -> None:
    """The page says what it touches; the difference follows."""
    await owner.do(f"{BASE}/active", active="bookshop", workspace="shop")
    form = fields(await owner.see(RELATION))

    asked = await owner.send(f"{BASE}/change/update_relation", **form | {"join_type": "inner"})
    assert asked.status_code == 200
    assert "'bookshop' is the active solution" in said(asked.text)
    assert "Nothing was written." in said(asked.text)
    owner.last = asked.text
    page = await written(owner, "update_relation", **fields(asked.text))

    assert fields(page)["join_type"] == "inner"


async def test_what_is_named_elsewhere_goes_only_if_somebody_insists(owner: Person, shop: Path) -> None:
    """The places are listed; the change is taken back by its button."""
    file = shop / "shop_data" / "relations" / "orders_to_order_lines.rel"
    before = file.read_bytes()
    await owner.see(f"{BASE}/relations/orders_to_order_lines?solution=shop_data")
    asked = await owner.send(f"{BASE}/change/delete_relations", names="orders_to_order_lines", solution="shop_data")
    shown = said(asked.text)
    assert "Nothing was deleted" in shown
    owner.last = asked.text
    given = fields(asked.text)
    assert given["force"] == "yes"

    page = await written(owner, "delete_relations", **given)
    assert "Written: 1 file." in said(page)
    assert not file.exists()
    await owner.see(f"{BASE}/relations/orders_to_order_lines?solution=shop_data", 404)
    changes = await owner.see(f"{BASE}/workspace/shop")
    change = re.search(r'name="change_id" value="([^"]+)"', changes)
    assert change
    page = await written(owner, "undo_solution_change", change_id=change[1], workspace="shop")

    assert file.read_bytes() == before
    assert "taken back" in said(await owner.see(f"{BASE}/workspace/shop"))


async def test_a_relation_is_made_renamed_and_listed(owner: Person, shop: Path) -> None:
    """Columns that nobody gives come from keys; a question comes back into the form."""
    await owner.see(f"{BASE}/relations/new")
    question = await owner.send(
        f"{BASE}/change/open_relation", primary_datasource="shop/transfers", foreign_datasource="shop/shelves"
    )
    assert question.status_code == 422
    assert "shop/transfers" in question.text

    page = await written(
        owner, "open_relation", name="my_orders", primary_datasource="shop/orders", foreign_datasource="shop/customers"
    )
    assert "my_orders" in said(page)
    page = await written(owner, "rename_relation", name="my_orders", new_name="our_orders", solution="shop_data")

    assert "our_orders" in said(page)
    assert (shop / "shop_data" / "relations" / "our_orders.rel").exists()
    taken = await owner.send(f"{BASE}/change/rename_relation", name="our_orders", new_name="orders_to_customers")
    assert taken.status_code == 409


async def test_values_of_a_list_are_lines(owner: Person, shop: Path) -> None:
    """Shown and stored, also with a stroke in them; hostile ones are text."""
    form = fields(await owner.see(f"{BASE}/value-lists/rooms?solution=shop_data"))
    assert form["custom_values"].splitlines() == ["Hall", "Cellar", "Attic"]
    values = 'Hall|1\r\n<script>alert(1)</script>|2\r\n{"display": "a|b", "real": "3"}'

    page = await written(owner, "update_value_list", **form | {"custom_values": values})

    assert "<script>alert" not in page
    assert fields(page)["custom_values"] == values.replace("\r\n", "\n")


async def test_what_changed_between_showing_and_writing_is_shown_again(owner: Person, shop: Path) -> None:
    """Nothing is written that was not seen."""
    form = fields(await owner.see(RELATION))
    answer = await owner.send(f"{BASE}/change/update_relation", **form | {"comment": "mine"})
    file = shop / "shop_data" / "relations" / "orders_to_customers.rel"
    file.write_bytes(file.read_bytes().replace(b"joinType", b"joinType").replace(b'"joinType":1', b'"joinType":0'))

    owner.last = answer.text
    again = await owner.send(f"{BASE}/change/update_relation", **fields(answer.text))

    assert again.status_code == 200
    assert "The files have changed meanwhile" in said(again.text)
    assert b"mine" not in file.read_bytes()


@pytest.mark.parametrize("path", ["relations/nothing", "value-lists/%3Cscript%3E", "workspace/nothing", "nonsense"])
async def test_what_is_not_there_is_not_found(owner: Person, shop: Path, path: str) -> None:
    """Looking at it makes nothing."""
    page = await owner.see(f"{BASE}/{path}", 404)

    assert "<script>" not in page
    assert not (shop / "shop_data" / "valuelists" / "<script>.val").exists()


async def test_an_unknown_change_is_refused(owner: Person, shop: Path) -> None:
    """Only changes of solutions are made here."""
    await owner.see(RELATION)

    for name in ("remove_workspace", "nothing"):
        assert (await owner.send(f"{BASE}/change/{name}", workspace="shop")).status_code == 404


@pytest.mark.parametrize(
    "path", ["", "/active", "/change/open_relation", "/change/undo_solution_change", "/workspace/shop/remove"]
)
async def test_a_form_without_its_token_is_refused(owner: Person, shop: Path, path: str) -> None:
    """Whatever it asks for."""
    answer = await owner.web.post(f"{BASE}{path}", data={"confirm": "shop", "path": "/tmp"})

    assert answer.status_code == 403


async def test_a_workspace_is_forgotten_by_its_name_alone(owner: Person, shop: Path) -> None:
    """Its files stay."""
    await owner.see(f"{BASE}/workspace/shop")

    assert (await owner.send(f"{BASE}/workspace/shop/remove", confirm="Shop")).status_code == 403
    assert (shop / "bookshop").is_dir()


async def test_others_see_and_change_nothing_of_it(product: Served, owner: Person, shop: Path) -> None:
    """A user of another tenant, with a key."""
    _, header = await product.key("others", "eve", secrets.token_hex(4))
    async with person(product) as guest:
        await guest.sign_in(header["authorization"].removeprefix("Bearer "))

        assert str(shop) not in await guest.see(BASE)
        await guest.see(f"{BASE}/workspace/shop", 404)
        await guest.see(RELATION, 404)
        answer = await guest.send(f"{BASE}/change/delete_relations", names="orders_to_customers", force="yes")
        assert answer.status_code == 404
        refused = await guest.send(BASE, path=str(shop))
        assert refused.status_code == 403
    assert (shop / "shop_data" / "relations" / "orders_to_customers.rel").exists()
