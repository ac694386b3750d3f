"""`thresher apis`: what its commands print, and their exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Command
from tests.support.tracker import TRACKER


@pytest.fixture
def tracker(tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A description, added under the name `tracker` by its relative path."""
    path = tmp_path / "tracker.yaml"
    path.write_text(TRACKER.replace("Add a watcher", r'"[bold]Add[/bold] a watcher \e[2J"'), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    command("apis", "remove", "tracker")
    ended = command("apis", "add", "tracker", "tracker.yaml", "--display", "Bug tracker", "--alias", "bugs")
    assert ended.code == 0, ended.out + ended.err
    assert "Bug tracker" in ended.out
    return path


def test_an_api_is_added_asked_judged_and_removed(command: Command, tracker: Path) -> None:
    """Text is printed as it is, but for what a terminal would obey."""
    listed = command("apis", "list")
    found = command("apis", "search", "add a watcher to an issue")
    tags = command("apis", "search", "-a", "tracker")
    best = command("apis", "search", "add a watcher to an issue", "-n", "1", "--json").json["endpoints"][0]
    by_id = command("apis", "show", best["id"])
    by_path = command("apis", "show", "POST", "/issues/PAY-1/watchers", "-a", "bugs")
    by_path_alone = command("apis", "show", "/users/7")
    by_name = command("apis", "show", "createIssue", "-b", "600")
    usage = command("apis", "usage", "-r", "1d")
    speed = command("apis", "usage", "--metric", "latency")
    improve = command("apis", "improve", "tracker", "-n", "3")
    off = command("apis", "disable", "tracker")
    on = command("apis", "enable", "tracker")
    synced = command("apis", "sync", "tracker")
    doctor = command("doctor")
    removed = command("apis", "remove", "tracker")
    after = command("apis", "list")

    shown = (by_id, by_path, by_path_alone, by_name)
    ended = (listed, found, tags, *shown, usage, speed, improve, off, on, synced, removed, after)
    assert [one for one in ended if one.code] == []
    assert all(word in listed.out for word in ("tracker", "ready", "bugs", "tracker.yaml"))
    assert "[bold]Add[/bold] a watcher <U+001B>[2J" in found.out
    assert all(word in tags.out for word in ("Issues", "Users", "Tickets and what belongs to them."))
    assert best["path"] == "/issues/{key}/watchers"
    assert "\x1b" not in by_id.out
    assert best["id"] in by_path.out
    assert "GET /users/{id}" in by_path_alone.out
    assert "of 600 tokens" in by_name.out
    assert "searches:" in usage.out
    assert "searches:" not in speed.out
    assert "of 100" in improve.out
    assert "thresher apis improve --endpoint ID" in improve.out
    assert "more: --cursor" in improve.out
    assert "thresher apis enable tracker" in off.out
    assert "ready" in on.out
    assert "5" in synced.out
    assert "apis" in doctor.out
    assert "Removed tracker." in removed.out
    assert "thresher apis add" in after.out


def test_an_api_is_named_by_its_description(command: Command, tracker: Path) -> None:
    """One source needs no name, nor do several that look like paths; a name before a source stays a name."""
    other = tracker.with_name("other.yaml")
    other.write_text(tracker.read_text("utf-8").replace("title: ", "title: Second ", 1), encoding="utf-8")
    added = command("apis", "add", "other.yaml", "--json").json
    clash = command("apis", "add", str(other), "./other.yaml")
    named = command("apis", "add", "other.yml", "other.yaml", "--json").json
    for one in (added, named):
        command("apis", "remove", one["name"])

    assert added["name"].startswith("second-")
    assert added["display_name"].startswith("Second ")
    assert clash.code != 0
    assert "version label" in clash.err
    assert named["name"] == "other.yml"


def test_findings_and_patches_are_made_for_files(command: Command, tracker: Path) -> None:
    """A page, an overlay and a diff go to standard output as they are, and nothing else does."""
    page = command("apis", "improve", "tracker", "--format", "markdown")
    overlay = command("apis", "improve", "tracker", "--patch", "overlay")
    diff = command("apis", "improve", "tracker", "--patch", "diff")
    same = command("apis", "improve", "tracker", "--format", "json", "-t", "clarity", "-s", "warning")

    assert page.out.startswith("# ")
    assert json.loads(overlay.out)["overlay"] == "1.0.0"
    assert diff.out.startswith("--- ")
    assert {one["kind"] for one in json.loads(same.out)["findings"]} <= {"clarity"}


def test_what_is_wrong_ends_with_a_code_of_its_own(command: Command, tracker: Path, tmp_path: Path) -> None:
    """In one line with a way out."""
    (tmp_path / "broken.yaml").write_text("just: words\n", encoding="utf-8")
    codes = {
        2: [
            ("add", "a b", "tracker.yaml"),
            ("add", "broken", "broken.yaml"),
            ("search", "x", "--cursor", "y"),
            ("search", "x", "-n", "0"),
            ("usage", "--metric", "mood"),
        ],
        3: [
            ("add", "absent", "absent.yaml"),
            ("show", "op_000000000000"),
            ("show", "createIsue"),
            ("sync", "nobody"),
            ("improve", "nobody"),
            ("search", "x", "-a", "nobody"),
        ],
        4: [("add", "tracker", "tracker.yaml")],
    }
    for code, commands in codes.items():
        for arguments in commands:
            ended = command("apis", *arguments)

            assert ended.code == code, (arguments, ended)
            assert ended.out == ""
            assert "Traceback" not in ended.err


def test_where_every_api_is_switched_off_the_way_out_is_to_enable_one(command: Command, tracker: Path) -> None:
    """A search that could look at nothing says so, and so does an operation that is there."""
    command("apis", "disable", "tracker")

    searched = command("apis", "search", "comments of an issue")
    shown = command("apis", "show", "POST", "/issues")
    command("apis", "enable", "tracker")

    assert "thresher apis enable tracker" in searched.out
    assert "'tracker' is switched off" in shown.err
    assert shown.code == 3


def test_a_description_without_operations_is_said_to_have_none(command: Command, tmp_path: Path) -> None:
    """It is accepted, as paths may follow; the command says why nothing can be found."""
    path = tmp_path / "bare.yaml"
    path.write_text("openapi: 3.0.3\ninfo: {title: Bare, version: '1'}\npaths: {}\n", encoding="utf-8")

    added = command("apis", "add", "bare", str(path))
    command("apis", "remove", "bare")

    assert added.code == 0
    assert "v1 has no operations" in added.out


def test_a_word_too_much_is_refused(command: Command) -> None:
    """It would be taken for a part of the path, and mean another operation."""
    ended = command("apis", "show", "GET", "/users/7", "extra")

    assert ended.code == 2
    assert "not one operation" in " ".join(ended.err.split())
