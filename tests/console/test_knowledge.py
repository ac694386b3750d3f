"""Documents, APIs and databases on their pages: happy, empty, failing, hostile, and of others."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.api.serving import Served
from tests.console.filling import filled_product
from tests.console.person import Person, person, said
from tests.support import Databases


@pytest.fixture(scope="module")
async def filled(databases: Databases, open_folder: Path) -> AsyncIterator[Served]:
    """A product with a repository, an API and a database, for all tests of this module."""
    async with filled_product(databases, open_folder) as product:
        yield product


@pytest.fixture
async def reader(filled: Served) -> AsyncIterator[Person]:
    """The owner of the filled product."""
    async with person(filled) as reader:
        yield reader


@pytest.fixture
async def guest(filled: Served) -> AsyncIterator[Person]:
    """A user of another tenant, with a key."""
    owner = await filled.app.services.database.tenant("others")
    text, _ = await filled.app.services.keys.add(owner, secrets.token_hex(4), "eve")
    async with person(filled) as guest:
        await guest.sign_in(text)
        yield guest


@pytest.mark.parametrize("kind", ["documents", "apis", "databases"])
async def test_an_empty_kind_says_what_it_is_for(product: Served, owner: Person, kind: str) -> None:
    """With the form and the command that fill it."""
    page = await owner.see(f"/knowledge/{kind}")

    assert 'class="empty"' in page
    assert "thresher " in said(page)
    assert '<form method="post"' in page


async def test_a_question_shows_what_a_model_gets_and_why(reader: Person) -> None:
    """Verbatim, with the document, its lines and the tokens."""
    page = await reader.see("/knowledge/documents/handbook?q=how+many+days+of+holiday&budget=500")

    text = said(page)
    assert "Everybody has thirty days of holiday." in text
    assert "leave.md" in text
    assert "part-1" in page
    assert "<script>alert" not in page
    assert "javascript:" not in page.partition("Guide")[2].replace("&lt;", "")


async def test_a_question_that_nothing_answers_says_so(reader: Person) -> None:
    """And what a model gets then."""
    page = said(await reader.see("/knowledge/documents/handbook?q=who+won+the+cup+in+1966"))

    assert "Nothing here fits the question" in page


@pytest.mark.parametrize("budget", ["0", "-1", "many", "999999999"])
async def test_a_wrong_budget_is_named(reader: Person, budget: str) -> None:
    """And the page stays."""
    answer = await reader.web.get(f"/knowledge/documents/handbook?q=holiday&budget={budget}")

    assert answer.status_code in (200, 422)
    assert "budget" in said(answer.text)


async def test_a_citation_opens_the_document_at_its_lines(reader: Person) -> None:
    """Each line with its number."""
    page = await reader.see("/knowledge/documents/handbook/read?path=leave.md&lines=3-3")

    assert '<ol class="lines" start="3">' in page
    assert "Everybody has thirty days of holiday." in page
    await reader.see("/knowledge/documents/handbook/read?path=../secret", 404)
    await reader.see("/knowledge/documents/handbook/read?path=leave.md&lines=x", 422)


async def test_a_repository_is_uploaded_to_guided_and_removed(filled: Served, reader: Person) -> None:
    """By forms alone; the name is asked before anything goes."""
    await reader.see("/knowledge/documents")
    files = [("files", ("a.md", b"# A\n\nApples are red.\n")), ("files", ("b.txt", b"Bananas are yellow."))]
    page = said(await reader.do("/knowledge/documents/upload", files, repository="uploads", folder="fruit"))
    assert "2 files are stored" in page

    page = said(await reader.do("/knowledge/documents/uploads/guide", by="person", text="All about **fruit**."))
    assert "All about fruit ." in page
    refused = await reader.send("/knowledge/documents/uploads/remove", confirm="upload")
    assert refused.status_code == 403
    page = said(await reader.do("/knowledge/documents/uploads/remove", confirm="uploads"))

    assert "is forgotten" in page
    assert "fruit" not in page


async def test_a_large_table_is_uploaded(reader: Person) -> None:
    """Its commas are no values of JSON, and the page takes what it says; beyond that it says that it is too much."""
    table = b"station,kelvin,height\n" + b"north,281.4,1204\n" * 300_000
    await reader.see("/knowledge/documents")

    page = said(await reader.do("/knowledge/documents/upload", {"files": ("table.csv", table)}, repository="tables"))
    assert "1 file is stored" in page
    await reader.see("/knowledge/documents")
    answer = await reader.send("/knowledge/documents/upload", {"files": ("t.csv", table * 4)}, repository="tables")

    assert answer.status_code == 413
    await reader.see("/knowledge/documents/tables")
    await reader.do("/knowledge/documents/tables/remove", confirm="tables")


async def test_an_upload_without_a_file_is_refused(reader: Person) -> None:
    """With what to do."""
    await reader.see("/knowledge/documents")

    answer = await reader.send("/knowledge/documents/upload", repository="uploads")

    assert answer.status_code == 422
    assert "No file was chosen" in answer.text


async def test_rows_are_a_table_and_a_chart(reader: Person) -> None:
    """Cells of others are text; the statement stays in its box."""
    await reader.see("/knowledge/databases/shop")
    sql = "select c.name, sum(i.total) from invoice i join customer c on c.id = i.customer_id group by 1"

    answer = await reader.send("/knowledge/databases/shop/query", sql=sql, **{"as": "rows"})

    assert answer.status_code == 200
    assert "&lt;b&gt;Ann&lt;/b&gt;" in answer.text
    assert '<rect class="bars"' in answer.text
    assert "from invoice i join" in answer.text


@pytest.mark.parametrize("sql", ["delete from invoice", "select 1; drop table invoice", "", "select * from nothing"])
async def test_a_statement_that_may_not_run_is_refused(reader: Person, sql: str) -> None:
    """It says which rule, and nothing changes."""
    await reader.see("/knowledge/databases/shop")

    answer = await reader.send("/knowledge/databases/shop/query", sql=sql, **{"as": "rows"})

    assert answer.status_code == 422
    assert 'class="note broken"' in answer.text
    page = await reader.send("/knowledge/databases/shop/query", sql="select count(*) from invoice", **{"as": "rows"})
    assert '<td class="n">3</td>' in page.text


async def test_a_csv_holds_no_formula(reader: Person) -> None:
    """A cell that a spreadsheet would run begins with an apostrophe; empty ones stay empty."""
    await reader.see("/knowledge/databases/shop")

    answer = await reader.send("/knowledge/databases/shop/query", sql="select * from customer", **{"as": "csv"})

    assert answer.headers["content-disposition"] == 'attachment; filename="shop.csv"'
    assert answer.text.splitlines() == ["id,name", "1,<b>Ann</b>", "2,'=1+1", "3,"]


async def test_a_schema_is_drawn_from_tables_and_relations(reader: Person) -> None:
    """As data for the drawing, and as lists without script."""
    page = await reader.see("/knowledge/databases/shop")

    assert '{"columns": ["customer_id"], "declared": true, "from": "invoice", "to": "customer"}' in page
    assert 'href="/knowledge/databases/shop/tables/invoice"' in page
    table = said(await reader.see("/knowledge/databases/shop/tables/invoice"))
    assert "customer_id" in table
    await reader.see("/knowledge/databases/shop/tables/nothing", 404)


async def test_the_log_shows_refusals_and_proves_itself(reader: Person) -> None:
    """Who asked what, and that nothing was changed."""
    await reader.see("/knowledge/databases/shop")
    await reader.send("/knowledge/databases/shop/query", sql="delete from customer", **{"as": "rows"})

    page = said(await reader.see("/knowledge/databases/shop/audit?refused=yes&verify=yes"))

    assert "delete from customer" in page
    assert "The log is whole" in page
    assert "allowed" not in page.partition("Statement Decision")[2]


async def test_an_operation_is_found_and_shown(reader: Person) -> None:
    """With its probability; its page holds what a model reads."""
    page = await reader.see("/knowledge/apis/tracker?q=create+an+issue")

    assert "/knowledge/apis/endpoint/op_" in page
    address = page.partition('href="/knowledge/apis/endpoint/')[2].partition('"')[0]
    assert "What a model gets" in said(await reader.see(f"/knowledge/apis/endpoint/{address}"))
    await reader.see("/knowledge/apis/endpoint/op_nothing", 404)


async def test_an_api_is_judged_and_mended(reader: Person) -> None:
    """A score with its formula, findings, and a change that keeps the contract."""
    page = said(await reader.see("/knowledge/apis/tracker?patch=diff"))

    assert "score" in page
    assert "findings" in page


async def test_a_host_is_allowed_and_taken_back(reader: Person) -> None:
    """Before that, nothing is called."""
    await reader.see("/knowledge/apis/tracker")
    page = said(await reader.do("/knowledge/apis/tracker/host", host="https://api.example.com"))
    assert "https://api.example.com" in page

    page = said(await reader.do("/knowledge/apis/tracker/disallow", host="https://api.example.com"))

    assert "nothing is called" in page


@pytest.mark.parametrize("path", ["documents/handbook", "apis/tracker", "databases/shop", "databases/shop/audit"])
async def test_another_tenant_sees_nothing(guest: Person, path: str) -> None:
    """Neither on the page nor in the list of its kind."""
    answer = await guest.web.get(f"/knowledge/{path}")

    assert answer.status_code == 404 or "No statement." in answer.text
    listed = said(await guest.see(f"/knowledge/{path.partition('/')[0]}"))
    assert path.split("/")[1] not in listed.partition("yet")[0]


@pytest.mark.parametrize(
    ("page", "path", "form"),
    [
        ("documents", "documents", {"name": "etc", "source": "/etc"}),
        ("databases", "databases", {"name": "x", "url": "sqlite:////etc/passwd"}),
        ("apis", "apis", {"sources": "/etc/passwd"}),
        ("documents", "documents/handbook/remove", {"confirm": "handbook"}),
    ],
)
async def test_a_keys_holder_reads_no_file_of_the_machine(
    guest: Person, page: str, path: str, form: dict[str, str]
) -> None:
    """What the services refuse, the pages refuse."""
    await guest.see(f"/knowledge/{page}")

    answer = await guest.send(f"/knowledge/{path}", **form)

    assert answer.status_code in (403, 404, 422), said(answer.text)
    assert "root:" not in answer.text
