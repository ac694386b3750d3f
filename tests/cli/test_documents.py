"""`thresher index docs` and `thresher docs`: what they print, and their exit codes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Command
from thresher.embedding import count_tokens

LEAVE = "# Leave\n\nEverybody has thirty days of holiday.\n\n## Parents\n\nParents have [twelve] weeks of paid leave.\n"
RULES = "# Rules\n\n" + "".join(
    f"## Rule {number}\n\nTrains of class {number} may be booked.\n\n" for number in range(80)
)


@pytest.fixture
def handbook(tmp_path: Path, command: Command) -> Path:
    """A folder that is indexed under the name `handbook`."""
    folder = tmp_path / "handbook"
    folder.mkdir()
    (folder / "leave.md").write_text(LEAVE, encoding="utf-8")
    (folder / "rules.md").write_text(RULES, encoding="utf-8")
    (folder / "logo.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0")
    command("docs", "remove", "handbook")
    ended = command("index", "docs", "handbook", str(folder), "--json")
    assert ended.code == 0, ended.out + ended.err
    return folder


def test_a_folder_is_indexed_shown_asked_and_removed(command: Command, handbook: Path) -> None:
    """By a worker of the daemon's; the command waits for it, and says what was not read."""
    again = command("index", "docs", "handbook", str(handbook))
    listed = command("docs", "list", "--json").json
    shown = command("docs", "show", "handbook")
    whole = command("docs", "retrieve", "handbook", "leave of parents")
    part = command("docs", "retrieve", "handbook", "trains of class 7", "--budget", "300", "--json").json
    found = command("docs", "search", "twelve weeks", "-r", "handbook", "--limit", "1")
    page = command("docs", "read", "handbook", "leave.md", "--section", "Parents")
    removed = command("docs", "remove", "handbook")
    after = command("docs", "list")

    assert again.code == shown.code == whole.code == found.code == page.code == removed.code == 0
    assert [(one["name"], one["state"], one["documents"]) for one in listed] == [("handbook", "ready", 2)]
    assert "not read: 1 binary" in again.out
    assert "logo.png" in shown.out
    assert "Parents have [twelve] weeks of paid leave." in whole.out
    assert count_tokens(part["content"]) == part["token_count"] <= 300
    assert "handbook: leave.md, lines" in found.out
    assert "(leave.md, lines 5-7 of 7)" in page.out
    assert "Removed handbook." in removed.out
    assert "thresher index docs NAME SOURCE" in after.out


def test_a_search_chooses_the_repository_and_says_which_it_left_out(
    command: Command, handbook: Path, tmp_path: Path
) -> None:
    """Where there are several; the list says what each is about, and the model of its vectors."""
    (tmp_path / "garden.md").write_text("# Garden\n\nRoses are cut in March, above an outward bud, and never late.\n")
    command("index", "docs", "garden", str(tmp_path / "garden.md"))
    found = command("docs", "search", "when are roses cut")
    listed = command("docs", "list", "--json").json
    printed = command("docs", "list")
    command("docs", "remove", "garden")

    assert "searched: garden (fits best" in found.out
    assert "left out: handbook (" in found.out
    assert listed[0]["description"].startswith("Roses are cut in March")
    assert listed[0]["embedding_model"].startswith("thresher-small")
    assert "thresher-small-" in printed.out


def test_a_relative_path_is_relative_to_the_working_folder(
    command: Command, handbook: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The daemon has another working folder."""
    monkeypatch.chdir(handbook.parent)
    ended = command("index", "docs", "handbook", "handbook", "--json")

    assert ended.code == 0
    assert ended.json["origin"]["location"] == str(handbook.resolve())


def test_a_guide_is_printed_written_and_made_again(command: Command, handbook: Path, tmp_path: Path) -> None:
    """From a file, whose text is printed unchanged."""
    (tmp_path / "guide.md").write_text("# Ours\n\n[bold]How we work.[/bold]\n", encoding="utf-8")
    made = command("docs", "guide", "handbook", "--json").json
    written = command("docs", "guide", "handbook", "--set", str(tmp_path / "guide.md"))
    again = command("docs", "guide", "handbook", "--rebuild", "--json").json
    both = command("docs", "guide", "handbook", "--rebuild", "--set", "x")
    absent = command("docs", "guide", "handbook", "--set", str(tmp_path / "absent.md"))

    assert made["guide_by"] == again["guide_by"] == "structure"
    assert "[bold]How we work.[/bold]" in written.out
    assert both.code == absent.code == 2
    assert "absent.md cannot be read" in absent.err


def test_one_may_go_on_at_once(command: Command, handbook: Path) -> None:
    """`--no-wait` names the job to follow."""
    (handbook / "more.md").write_text("# More\n\nAnd more.\n", encoding="utf-8")
    begun = command("docs", "refresh", "handbook", "--no-wait", "--json").json
    job = command("jobs", "show", str(begun["job"]), "--wait", "--json").json
    listed = command("docs", "list", "--json").json

    assert job["state"] == "done"
    assert listed[0]["documents"] == 3


def test_a_source_that_is_gone_ends_with_an_error(command: Command, handbook: Path, tmp_path: Path) -> None:
    """The command that waited for it fails, and the last state stays."""
    handbook.rename(tmp_path / "elsewhere")
    ended = command("docs", "refresh", "handbook", "--json")
    asked = command("docs", "retrieve", "handbook", "leave of parents")
    doctor = command("doctor")

    assert ended.code == 1
    assert ended.json["state"] == "failed"
    assert ended.json["problem"]
    assert "not indexed: handbook" in doctor.out
    assert "weeks of paid leave" in asked.out


def test_wrong_words_are_told_in_one_line(command: Command) -> None:
    """With an exit code for each kind."""
    wrong = {
        3: [("docs", "show", "nobody"), ("docs", "retrieve", "nobody", "x"), ("index", "docs", "a", "/nowhere/at/all")],
        2: [("index", "docs", "a b", "/"), ("docs", "search", " "), ("docs", "retrieve", "nobody", "x", "-b", "many")],
    }
    for code, commands in wrong.items():
        for arguments in commands:
            ended = command(*arguments)

            assert ended.code == code, (arguments, ended)
            assert ended.out == ""
            assert "Traceback" not in ended.err


def test_a_folder_that_cannot_be_sent_is_refused_before_it_is_read(command: Command, tmp_path: Path) -> None:
    """It may be the home folder; a name that is not UTF-8 is shown as it can be."""
    odd, large = tmp_path / "odd", tmp_path / "large"
    for folder in (odd, large):
        folder.mkdir()
    (odd / "b\udcff.md").write_text("# B\n")
    with (large / "disk.img").open("wb") as image:
        image.truncate(65 << 20)
    unnamed = command("docs", "upload", "sent", str(odd))
    heavy = command("docs", "upload", "sent", str(large))

    assert (unnamed.code, heavy.code) == (2, 2)
    assert r"'b\udcff.md' cannot be sent" in unnamed.err
    assert "more than 64 MiB" in heavy.err
