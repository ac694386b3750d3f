"""`thresher solutions`: what it prints, what it writes, and its exit codes."""

from __future__ import annotations

import io
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import Command
from tests.daemon.home import Home
from tests.support.servoy_workspace import bookshop


@pytest.fixture(scope="module")
def home(own_home: Home) -> Home:
    """A home of this module's own: its servers and connections are the only ones."""
    return own_home


@pytest.fixture(params=["classic", "json"])
def folder(request: pytest.FixtureRequest, tmp_path: Path, command: Command) -> Iterator[Path]:
    """A workspace, known under the name `shop`, where `bookshop` is the active solution."""
    root = tmp_path / "shop"
    bookshop(root, request.param)
    ended = command("solutions", "add", str(root))
    assert ended.code == 0, ended.out + ended.err
    assert command("solutions", "use", "bookshop", "-w", "shop").code == 0
    yield root
    command("solutions", "remove", "shop")


def bytes_of(folder: Path) -> dict[str, bytes]:
    """Every file below a folder."""
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def test_a_workspace_is_known_shown_and_forgotten(
    command: Command, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a relative path too; nothing of it is changed."""
    before = bytes_of(folder)
    monkeypatch.chdir(folder.parent)
    again = command("solutions", "add", "shop", "--replace")
    listed = command("solutions", "list")
    shown = command("solutions", "show", "shop")
    context = command("solutions", "context")
    data = command("solutions", "list", "--json").json
    removed = command("solutions", "remove", "shop")
    gone = command("solutions", "show", "shop")
    nowhere = command("solutions", "add", "nothing-here")

    assert [one.code for one in (again, listed, shown, context, removed, gone, nowhere)] == [0, 0, 0, 0, 0, 3, 2]
    assert all(word in listed.out for word in ("shop", "servoy", str(folder)))
    assert all(word in shown.out for word in ("bookshop", "shop_data", "missing: reports", "notes_db"))
    assert "bookshop  in shop  (chosen)" in context.out
    assert [(one["name"], one["path"]) for one in data] == [("shop", str(folder))]
    assert "its files are unchanged" in removed.out
    assert bytes_of(folder) == before


def test_a_relation_is_made_changed_renamed_deleted_and_brought_back(command: Command, folder: Path) -> None:
    """Columns that were not given are found, with reasons; each change can be undone."""
    before = bytes_of(folder)
    made = command("solutions", "open-relation", "-p", "shop/books", "-f", "shop/authors", "--allow-creation")
    data = command("solutions", "open-relation", "books_to_authors", "--json").json
    updated = command("solutions", "update-relation", "books_to_authors", "--initial-sort", "last_name asc")
    renamed = command("solutions", "rename-relation", "books_to_authors", "books_to_writers")
    deleted = command("solutions", "delete-relations", "books_to_writers")
    after = bytes_of(folder)
    backups = command("solutions", "backups", "--json").json
    undone = command("solutions", "undo", backups[0]["id"])
    listed = command("solutions", "relations", "--scope", "current")

    ended = (made, updated, renamed, deleted, undone, listed)
    assert [one.code for one in ended] == [0] * len(ended), [one.err for one in ended]
    assert "created  books_to_authors  in bookshop" in made.out
    assert "author_id = author_id" in made.out
    assert "why these columns" in made.out
    assert "bookshop/relations/books_to_authors.rel:1" in made.out
    assert "vscode://file/" in made.out
    assert [(one["primary"], one["foreign"]) for one in data["relation"]["items"]] == [("author_id", "author_id")]
    assert (data["relation"]["allow_creation"], data["change"]["id"]) == (True, "")
    assert "initial sort: last_name asc" in updated.out
    assert "books_to_writers" in renamed.out
    assert "thresher solutions undo" in deleted.out
    assert after == before
    assert len(backups) == 4
    assert "books_to_writers" in listed.out


@pytest.mark.parametrize(
    ("arguments", "kind", "shown"),
    [
        (("--value", "Open|1", "--value", "Done|2"), "custom", "Open | 1"),
        (
            ("-d", "shop/customers", "--display-column", "full_name", "--return-column", "customer_id"),
            "table",
            "full_name",
        ),
        (("-r", "orders_to_order_lines", "--display-column", "line_no"), "related", "orders_to_order_lines"),
        (("-m", "scopes.globals.years", "--add-empty", "always"), "global method", "an empty value"),
    ],
    ids=["custom", "table", "related", "method"],
)
def test_a_value_list_of_every_kind_is_made_and_deleted(
    command: Command, folder: Path, arguments: tuple[str, ...], kind: str, shown: str
) -> None:
    """And changed in between."""
    before = bytes_of(folder)
    made = command("solutions", "open-value-list", "mine", *arguments)
    data = command("solutions", "open-value-list", "mine", "--json").json
    listed = command("solutions", "value-lists", "-s", "current")
    updated = command("solutions", "update-value-list", "mine", "--comment", "[bold]of ours[/bold]")
    renamed = command("solutions", "rename-value-list", "mine", "ours")
    deleted = command("solutions", "delete-value-lists", "ours")

    ended = (made, listed, updated, renamed, deleted)
    assert [one.code for one in ended] == [0] * len(ended), [one.err for one in ended]
    assert shown in made.out
    assert data["value_list"]["kind"] == kind
    assert "mine" in listed.out
    assert "comment: [bold]of ours[/bold]" in updated.out
    assert bytes_of(folder) == before


def test_what_is_wrong_ends_with_a_code_and_writes_nothing(command: Command, folder: Path) -> None:
    """One line that says what, and no traceback."""
    before = bytes_of(folder)
    codes = {
        2: [
            ("open-relation", "-p", "shop/books"),
            ("open-relation", "x", "-p", "shop/books", "-f", "shop/nothing", "-i", "author_id = x"),
            ("open-relation", "x", "-p", "shop/books", "-f", "shop/authors", "-i", "author = author_id"),
            ("open-relation", "x", "-p", "shop/books", "-f", "shop/authors", "-i", "nonsense"),
            ("open-relation", "x", "-p", "shop/books", "-f", "shop/authors", "--primary-column", "author_id"),
            ("open-relation", "x", "-p", "shop/books", "-f", "shop/authors", "--join-type", "outer"),
            ("open-relation", "x", "-p", "shop/transfers", "-f", "shop/shelves"),
            ("open-relation", "in", "-p", "shop/books", "-f", "shop/authors"),
            ("open-value-list", "x", "-d", "shop/customers", "--display-column", "nam"),
            ("open-value-list", "x", "-m", "scopes.globals.nothing"),
            ("open-value-list", "x", "--value", "a", "-r", "orders_to_customers"),
            ("update-relation", "books$wanted"),
            ("relations", "--limit", "0"),
        ],
        3: [
            ("update-relation", "nothing", "--comment", "x"),
            ("delete-value-lists", "nothing"),
            ("rename-relation", "nothing", "more"),
            ("use", "nothing"),
            ("undo", "nothing"),
        ],
        4: [
            ("open-relation", "orders_to_customers", "-p", "shop/orders", "--join-type", "inner"),
            ("delete-relations", "orders_to_customers", "--confirm"),
            ("update-relation", "orders_to_customers", "--comment", "x"),
            ("rename-value-list", "years", "stars"),
        ],
    }
    for code, commands in codes.items():
        for arguments in commands:
            ended = command("solutions", *arguments)

            assert ended.code == code, (arguments, ended)
            assert ended.out == ""
            assert "Traceback" not in ended.err
    assert bytes_of(folder) == before


def test_a_live_server_stands_before_column_information(command: Command, folder: Path) -> None:
    """While it is connected under the server's name; afterwards the workspace's own information is used again."""
    live = folder.parent / "live.sqlite"
    connection = sqlite3.connect(live)
    connection.executescript(
        "CREATE TABLE authors (author_id INTEGER PRIMARY KEY); CREATE TABLE books (wrote INTEGER);"
    )
    connection.close()
    before = {one["name"]: one["dialect"] for one in command("db", "list", "--json").json}
    refused = command("db", "query", "shop", "SELECT 1")
    added = command("db", "add", "shop", "--url", f"sqlite:///{live}")
    asked = command("db", "query", "shop", "SELECT 1")
    removed = command("db", "remove", "shop")
    after = {one["name"]: one["dialect"] for one in command("db", "list", "--json").json}
    kept = command("db", "remove", "shop")

    assert before == after == {"shop": "servoy", "notes_db": "servoy"}
    assert (added.code, asked.code, removed.code) == (0, 0, 0), (added.err, asked.err, removed.err)
    assert refused.code != 0
    assert "thresher db add shop" in refused.err
    assert kept.code != 0
    assert "comes from the workspace" in kept.err


class Typed(io.StringIO):
    """What a person types."""

    def isatty(self) -> bool:
        """A person looks."""
        return True


def test_a_person_is_asked_before_another_solution_is_changed(
    command: Command, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where one looks; a program says `--confirm`."""
    before = bytes_of(folder)
    arguments = ("solutions", "update-value-list", "rooms", "--comment", "Of the house")
    monkeypatch.setattr("sys.stdin", Typed("n\n"))
    refused = command(*arguments)
    program = command(*arguments, "--json")
    untouched = bytes_of(folder)
    monkeypatch.setattr("sys.stdin", Typed("y\n"))
    agreed = command(*arguments)
    monkeypatch.setattr("sys.stdin", io.StringIO())
    nobody = command("solutions", "update-value-list", "rooms", "--comment", "")
    told = command("solutions", "update-value-list", "rooms", "--comment", "", "--confirm")

    assert (program.code, program.json["error"]["code"]) == (4, "unconfirmed")
    assert (refused.code, agreed.code, nobody.code, told.code) == (130, 0, 4, 0), (agreed.err, told.err)
    assert "shop_data" in refused.err
    assert "Of the house" in agreed.out
    assert untouched == bytes_of(folder) == before


def test_a_broken_file_is_named_and_left_alone(command: Command, folder: Path) -> None:
    """In lists, by the doctor, and when it is named."""
    file = folder / "bookshop" / "relations" / "books$wanted.rel"
    file.write_bytes(b"<<<<<<< HEAD\n" + file.read_bytes() + b"\n=======\n>>>>>>> theirs\n")
    broken = file.read_bytes()
    listed = command("solutions", "relations")
    shown = command("solutions", "show", "shop")
    updated = command("solutions", "update-relation", "books$wanted", "--comment", "x", "--json")
    doctor = command("doctor", "--json")

    assert "books$wanted.rel:1" in listed.out
    assert "books$wanted.rel:1" in shown.out
    assert (updated.code, updated.json["error"]["code"]) == (2, "broken_file")
    (check,) = (one for one in doctor.json if one["name"] == "solutions")
    assert check["state"] == "warning"
    assert "books$wanted.rel:1" in check["detail"]
    assert file.read_bytes() == broken


def test_files_are_checked_without_a_daemon(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of a workspace come back as they are; what would not is named, and ends with a code."""
    builder = bookshop(tmp_path / "shop")
    monkeypatch.setenv("THRESHER_DATA_DIR", str(tmp_path / "none"))
    good = command("solutions", "check", "--round-trip", str(tmp_path / "shop"), "--json")
    told = command("solutions", "check", "--round-trip", str(tmp_path / "shop"))
    builder.write("bookshop/relations/odd.rel", b'name : "odd" ,\ntypeid:22')
    builder.write("bookshop/relations/cut.rel", b'name:"cut')
    bad = command("solutions", "check", "--round-trip", str(tmp_path / "shop"), "--json")
    shown = command("solutions", "check", "--round-trip", str(tmp_path / "shop"))
    absent = command("solutions", "check", "--round-trip", str(tmp_path / "absent"))

    assert (good.code, good.json["differ"], good.json["differing"], good.json["broken"]) == (0, 0, [], [])
    assert good.json["files"] > 20
    assert f"{good.json['files']} of {good.json['files']} files come back byte for byte" in told.out
    assert (bad.code, bad.json["differ"], shown.code, absent.code) == (1, 1, 1, 3)
    assert bad.json["differing"] == ["bookshop/relations/odd.rel"]
    assert [one["path"] for one in bad.json["broken"]] == ["bookshop/relations/cut.rel"]
    assert "differs: bookshop/relations/odd.rel" in shown.out
    assert not (tmp_path / "none").exists()
