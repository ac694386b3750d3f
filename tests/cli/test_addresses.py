"""Addresses of databases: references to passwords, files relative to the working folder."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
import typer

from thresher.cli.arguments import read_address, shows_password


@pytest.mark.parametrize(
    ("url", "shows"),
    [
        ("postgresql://me:secret@host/shop", True),
        ("postgresql://me:${SECRET}@host/shop", False),
        ("postgresql://me:${file:/run/secret}@host/shop", False),
        ("postgresql://me:pre${SECRET}@host/shop", True),
        ("postgresql://me@host:5432/shop", False),
        ("postgresql://me:@host/shop", False),
        ("postgresql://host:5432/shop?application_name=a@b", False),
        ("postgresql://host/shop?password=secret", True),
        ("postgresql://host/shop?password=${SECRET}", False),
        ("sqlite:///shop.db", False),
        ("${DATABASE}", False),
    ],
)
def test_a_password_on_the_command_line_is_noticed(url: str, shows: bool) -> None:
    """A reference to a password is not."""
    assert shows_password(url) == shows


def test_a_shown_password_is_taken_with_a_warning(capsys: pytest.CaptureFixture[str]) -> None:
    """The warning says what to do, and does not repeat it."""
    assert read_address("postgresql://me:hunter2@host/shop") == "postgresql://me:hunter2@host/shop"
    told = capsys.readouterr().err
    assert "--url -" in told
    assert "hunter2" not in told


def test_the_warning_names_the_option_that_was_given(capsys: pytest.CaptureFixture[str]) -> None:
    """Another command has the address under another name."""
    read_address("postgresql://me:hunter2@host/shop", "--database")

    assert "Use --database - and standard input, or '${NAME}'" in capsys.readouterr().err


def test_references_are_filled_and_quoted_where_a_password_stands(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A password may hold any character; elsewhere a reference is replaced as it is."""
    monkeypatch.setenv("SECRET", "p@ss/w:rd?#")
    monkeypatch.setenv("PLACE", "db.example.org:5433/shop")
    monkeypatch.setenv("WHOLE", "mysql://me:x%40y@host/shop")

    assert read_address("postgresql://me:${SECRET}@${PLACE}") == (
        "postgresql://me:p%40ss%2Fw%3Ard%3F%23@db.example.org:5433/shop"
    )
    assert read_address("${WHOLE}") == "mysql://me:x%40y@host/shop"
    assert capsys.readouterr().err == ""


def test_a_reference_that_leads_nowhere_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before anything is asked."""
    monkeypatch.delenv("SECRET", raising=False)

    with pytest.raises(typer.BadParameter, match="SECRET"):
        read_address("postgresql://me:${SECRET}@host/shop")


def test_files_are_relative_to_the_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The daemon has another working folder; absolute paths and in-memory databases are unchanged."""
    monkeypatch.chdir(tmp_path)

    assert read_address("sqlite:///music.db") == f"sqlite:///{tmp_path}/music.db"
    assert read_address("duckdb:///data/trips.duckdb?x=1") == f"duckdb:///{tmp_path}/data/trips.duckdb?x=1"
    assert read_address("sqlite:////srv/music.db") == "sqlite:////srv/music.db"
    assert read_address("sqlite:///:memory:") == "sqlite:///:memory:"


def test_an_address_comes_by_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    """One line; without one there is nothing to connect to."""
    monkeypatch.setattr("sys.stdin", io.StringIO("postgresql://me:secret@host/shop\nmore\n"))
    assert read_address("-") == "postgresql://me:secret@host/shop"

    monkeypatch.setattr("sys.stdin", io.StringIO("\n"))
    with pytest.raises(typer.BadParameter, match="no address"):
        read_address("-")


def test_without_a_terminal_the_option_is_required(monkeypatch: pytest.MonkeyPatch) -> None:
    """A script does not hang at a prompt."""
    monkeypatch.setattr("sys.stdin", io.StringIO("x"))

    with pytest.raises(typer.BadParameter, match="--url"):
        read_address(None)
