"""`thresher tools words` and `thresher tools rewrites` on a running daemon."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Command
from tests.support.product import ListedServer, listed


@pytest.fixture
def chest(command: Command, tmp_path: Path) -> ListedServer:
    """A server with two tools, in the catalogue."""
    server = ListedServer.at(tmp_path, "chest", listed("open", "Opens a chest."), listed("close", "Handles things."))
    added = command("servers", "add", "chest", "--command", server.config.command, "--", *server.config.args)
    assert added.code == 0, added
    return server


def test_words_are_added_listed_matched_and_removed(command: Command, chest: ListedServer) -> None:
    """Each command shows the words; the search says that they matched."""
    added = command("tools", "words", "add", "chest_open", "zorbify the lid", "ping")
    found = command("tools", "find", "please zorbify the lid")
    one = command("tools", "words", "list", "chest_open")
    left = command("tools", "words", "remove", "chest_open", "ping", "--json").json
    none = command("tools", "words", "remove", "chest_open")

    assert "zorbify the lid" in added.out
    assert "your words: " in found.out
    assert "ping" in one.out
    assert left == {"name": "chest_open", "server": "chest", "words": ["zorbify the lid"], "there": True}
    assert "no words" in none.out
    assert command("servers", "remove", "chest").code == 0


def test_wrong_words_and_names_end_with_their_code(command: Command, chest: ListedServer) -> None:
    """Bad input with 2, what is not there with 3; nothing is stored."""
    assert command("tools", "words", "add", "chest_open", "the").code == 2
    assert command("tools", "words", "add", "chest_open").code == 2
    assert command("tools", "words", "add", "chest_nothing", "ping").code == 3
    assert command("tools", "words", "remove", "chest_open", "ping").code == 3
    assert command("tools", "rewrites", "apply", "chest_open", "-d", " ").code == 2
    assert command("tools", "rewrites", "remove", "chest_open").code == 3
    assert command("tools", "words", "list", "--json").json == []
    assert command("servers", "remove", "chest").code == 0


def test_a_proposal_is_applied_dropped_and_removed(command: Command, chest: ListedServer) -> None:
    """`tools improve` says how; the refresh that brings another definition names the rewrite."""
    report = command("tools", "improve", "chest").out
    applied = command("tools", "rewrites", "apply", "chest_close").out
    shown = command("tools", "show", "chest_close").out
    chest.lists(listed("open", "Opens a chest."), listed("close", "Handles stuff."))
    command("servers", "set", "chest", "--auto-approve")
    refreshed = command("servers", "refresh", "chest").out
    dropped = command("tools", "rewrites", "list").out
    removed = command("tools", "rewrites", "remove", "chest_close")

    assert "thresher tools rewrites apply NAME" in report
    assert "Close in chest" in applied
    assert ("Handles things." in shown, "Close in chest" in shown) == (True, False)
    assert "Rewrites that are not used, since the definitions have changed: chest_close." in refreshed
    assert "not used: its definition has changed" in dropped
    assert removed.code == 0
    assert command("tools", "rewrites", "list", "--json").json == []
    assert command("servers", "remove", "chest").code == 0


def test_an_approval_names_the_rewrite_that_it_drops(command: Command, chest: ListedServer) -> None:
    """The person who approves the new definition reads it."""
    command("tools", "rewrites", "apply", "chest_open")
    chest.lists(listed("open", "Opens a chest with a key."), listed("close", "Handles things."))
    command("servers", "refresh", "chest")
    during = command("tools", "rewrites", "list").out
    approved = command("tools", "approve", "--all", "--yes")

    assert "not used" not in during
    assert "Rewrites that are not used, since the definitions have changed: chest_open." in approved.out
    command("tools", "rewrites", "remove", "chest_open")
    assert command("servers", "remove", "chest").code == 0


def test_words_of_a_server_that_is_gone_are_listed_as_such(command: Command, chest: ListedServer) -> None:
    """By server and tool, by which they can be removed."""
    command("tools", "words", "add", "chest_open", "ping")
    command("servers", "remove", "chest")
    away = command("tools", "words", "list").out
    removed = command("tools", "words", "remove", "chest/open")

    assert "chest/open  not there now" in away
    assert removed.code == 0
    assert command("tools", "words", "list", "--json").json == []
