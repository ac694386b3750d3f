"""Relations that somebody declared are inferred again, column for column, when their files are gone."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from benchmarks.solutions import declared_pairs, trials, without_relations
from tests.support.product import opened
from tests.support.servoy_workspace import CHAR, NUMBER, TEXT, Column, WorkspaceBuilder, sample_workspaces
from thresher.core import Settings, Tenant
from thresher.embedding import Encoder, open_encoder
from thresher.knowledge.solutions import ServoyWorkspace
from thresher.services import Services
from thresher.servoy import Dialect, Relation, RelationItem
from thresher.store import Database

TABLES = {
    "genres": [Column("genreid", key=True), Column("genrename", TEXT, length=40)],
    "members": [Column("memberid", CHAR, key=True, length=5), Column("fullname", TEXT, length=80)],
    "librarians": [Column("librarianid", key=True), Column("lastname", TEXT, length=40), Column("reportsto")],
    "loan_details": [
        Column("loanid", key=True, points_to="loans"),
        Column("bookid", key=True, points_to="books"),
        Column("copies"),
    ],
    "loans": [
        Column("loanid", key=True),
        Column("memberid", CHAR, length=5, points_to="members"),
        Column("librarianid", points_to="librarians"),
        Column("sendvia"),
        Column("sendname", TEXT, length=40),
        Column("postage"),
    ],
    "books": [
        Column("bookid", key=True),
        Column("title", TEXT, length=40),
        Column("genreid", points_to="genres"),
        Column("publisherid", points_to="publishers"),
        Column("unitsonloan"),
        Column("price", NUMBER),
    ],
    "senders": [Column("senderid", key=True), Column("firm", TEXT, length=40)],
    "publishers": [Column("publisherid", key=True), Column("firm", TEXT, length=40)],
}
PAIRS = """
genres genreid > books genreid
members memberid > loans memberid
librarians librarianid > loans librarianid
loan_details loanid > loans loanid
loan_details bookid > books bookid
loans memberid > members memberid
loans librarianid > librarians librarianid
loans loanid > loan_details loanid
books genreid > genres genreid
books bookid > loan_details bookid
books publisherid > publishers publisherid
senders senderid > loans sendvia
publishers publisherid > books publisherid
books bookid > mem:book_totals bookid
mem:book_totals bookid > books bookid
"""


@pytest.fixture(scope="session")
async def encoder() -> AsyncIterator[Encoder]:
    """The packaged encoder, shared by all tests of this process."""
    encoder = open_encoder(Settings())
    yield encoder
    await encoder.close()


@pytest.fixture
async def services(database: Database, tenant: Tenant, settings: Settings, encoder: Encoder) -> AsyncIterator[Services]:
    """Services of a fresh tenant."""
    async with opened(database, tenant, settings, encoder) as services:
        yield services


def lending(root: Path, dialect: Dialect) -> Path:
    """A lending library: keys that are told, one whose column is called after a verb, and a table in memory."""
    builder = WorkspaceBuilder(root, dialect)
    for name, columns in TABLES.items():
        builder.table("lending", name, columns)
    builder.project("library")
    builder.memory_table("library", "book_totals", [Column("bookid", key=True), Column("loan_count")])
    for line in PAIRS.strip().splitlines():
        primary, one, _, foreign, other = line.split()
        sources = [name if name.startswith("mem:") else f"db:/lending/{name}" for name in (primary, foreign)]
        name = f"{primary}_to_{foreign}".replace("mem:", "")
        builder.relation("library", Relation(name, sources[0], sources[1], (RelationItem(one, other),)))
    wanted = RelationItem("LITERAL:0", "postage", "!=")
    builder.relation("library", Relation("loans$sent", "db:/lending/loans", "db:/lending/loans", (wanted,)))
    builder.relation("library", Relation("loans$all", "db:/lending/loans", "db:/lending/loans"))
    return root


@pytest.mark.parametrize("dialect", ["classic", "json"])
@pytest.mark.parametrize("keys", [True, False], ids=["keys told", "no key told"])
async def test_every_declared_pair_is_inferred_again(
    services: Services, tmp_path: Path, dialect: Dialect, keys: bool
) -> None:
    """Fifteen of fifteen, with a reason and evidence for each; without told keys by names and types alone."""
    source = lending(tmp_path / "source", dialect)
    pairs = declared_pairs(ServoyWorkspace(source))
    copy = without_relations(source, tmp_path / "copy", keys=keys)
    await services.solutions.add_workspace(services.caller, str(copy), "lending")

    tried = await trials(services, services.caller, pairs)

    assert len(pairs) == 15
    assert [(one.primary, one.foreign, one.inferred) for one in tried if not one.equal] == []
    assert all((one.evidence and "(integer)" in one.reason) or "(char(5))" in one.reason for one in tried)
    told = sum("declares" in one.reason for one in tried)
    assert told == (12 if keys else 0)


@pytest.mark.bench_data
@pytest.mark.parametrize("keys", [True, False], ids=["keys told", "no key told"])
async def test_every_declared_pair_of_a_real_workspace_is_inferred_again(
    services: Services, tmp_path: Path, keys: bool
) -> None:
    """The Northwind examples: fifteen of fifteen."""
    source = sample_workspaces() / "example-solutions"
    pairs = declared_pairs(ServoyWorkspace(source.resolve()))
    copy = without_relations(source, tmp_path / "copy", keys=keys)
    await services.solutions.add_workspace(services.caller, str(copy), "examples")

    tried = await trials(services, services.caller, pairs)

    assert len(pairs) == 15
    assert [(one.primary, one.foreign, one.inferred) for one in tried if not one.equal] == []
    assert all(one.evidence for one in tried)
