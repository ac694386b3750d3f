"""The lines in a client's instructions file."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thresher.core import InvalidInput
from thresher.knowledge.intents import install_lines, remove_lines
from thresher.knowledge.intents.client_files import BEGIN, END, FILES, Client, with_lines, without_lines

CLIENTS: list[Client] = ["copilot", "cursor", "claude", "agents"]
TEXTS = [
    b"",
    b"\xef\xbb\xbf",
    b"# Rules\n",
    b"# Rules",
    b"# Rules\n\n\n",
    b"# Rules\r\n\r\nBe kind.\r\n",
    b"\xef\xbb\xbf# Rules\r\nBe kind.",
    b"one\rtwo\r",
    b"caf\xe9 in Latin-1\n",
    b"```\nopen fence",
    b" \n",
]


@pytest.mark.parametrize("client", CLIENTS)
def test_a_file_that_was_not_there_comes_and_goes(tmp_path: Path, client: Client) -> None:
    """A second time changes nothing; folders that are empty then go too."""
    created = install_lines(client, tmp_path)
    text = created.path.read_bytes()
    again = install_lines(client, tmp_path)
    removed = remove_lines(client, tmp_path)
    nothing = remove_lines(client, tmp_path)

    assert created.path == tmp_path / FILES[client]
    assert [step.did for step in (created, again, removed, nothing)] == ["created", "unchanged", "deleted", "unchanged"]
    assert b"`process_prompt`" in text
    assert text.startswith(b"---\n") == (client == "cursor")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("text", TEXTS)
def test_what_stands_outside_the_markers_stays_octet_for_octet(tmp_path: Path, text: bytes) -> None:
    """Line ends, byte order mark, encoding, a missing last line end; an empty file that was there stays."""
    path = tmp_path / "AGENTS.md"
    path.write_bytes(text)

    added = install_lines("agents", tmp_path)
    with_them = path.read_bytes()
    again = install_lines("agents", tmp_path)
    removed = remove_lines("agents", tmp_path)

    assert [step.did for step in (added, again, removed)] == ["added", "unchanged", "removed"]
    assert with_them.startswith(text)
    assert (b"\r\n## Thresher" in with_them) == (b"\r\n" in text)
    assert path.read_bytes() == text


@given(st.binary(max_size=60), st.binary(max_size=60))
def test_the_lines_are_found_wherever_they_stand(before: bytes, after: bytes) -> None:
    """Text that is written before and after them later stays, too."""
    for part in (before, after):
        if b"\0" in part or b"thresher" in part or part.startswith((b"\xff\xfe", b"\xfe\xff")):
            return
    text = with_lines(before, "f")

    longer = text + after

    assert with_lines(longer, "f") == longer
    assert without_lines(text, "f") == before
    assert without_lines(longer, "f") in (before + after, before + after.removeprefix(b"\n"))


def test_lines_of_an_older_version_are_replaced_where_they_stand(tmp_path: Path) -> None:
    """What stands around them stays."""
    path = tmp_path / "CLAUDE.md"
    path.write_bytes(b"# Mine\n\n" + BEGIN + b"\nold words\n" + END + b"\n\nMore of mine")

    updated = install_lines("claude", tmp_path)
    text = path.read_bytes()
    remove_lines("claude", tmp_path)

    assert updated.did == "updated"
    assert text.startswith(b"# Mine\n\n" + BEGIN + b"\n## Thresher\n")
    assert text.endswith(END + b"\n\nMore of mine")
    assert b"old words" not in text
    assert path.read_bytes() == b"# Mine\n\n\nMore of mine"


def test_a_file_that_was_made_for_them_and_has_grown_stays(tmp_path: Path) -> None:
    """Only the lines go; a changed head of a rule file is its owner's."""
    for client, more in (("agents", b"\nMine.\n"), ("cursor", b"\nMine.\n")):
        path = install_lines(client, tmp_path).path
        path.write_bytes(path.read_bytes() + more)

        assert remove_lines(client, tmp_path).did == "removed"
        assert path.read_bytes().endswith(b"\nMine.\n")
        assert b"process_prompt" not in path.read_bytes().split(b"---\n")[-1]


@pytest.mark.parametrize(
    "text",
    [
        BEGIN + b"\nx\n",
        b"x\n" + END + b"\n",
        END + b"\n" + BEGIN,
        (BEGIN + b"\n" + END + b"\n") * 2,
        BEGIN + b"\n" + BEGIN + b"\n" + END,
        BEGIN[:-2] + b"\nx\n" + END,
        BEGIN + b"\nx\n" + END[5:],
        "# Regeln".encode("utf-16"),
        b"a\0b",
    ],
)
def test_a_file_with_damaged_markers_is_not_touched(tmp_path: Path, text: bytes) -> None:
    """It is named, and what to do; installing and removing alike."""
    path = tmp_path / "AGENTS.md"
    path.write_bytes(text)

    for change in (install_lines, remove_lines):
        with pytest.raises(InvalidInput, match=r"AGENTS\.md") as refused:
            change("agents", tmp_path)
        assert refused.value.hint

    assert path.read_bytes() == text


def test_words_about_thresher_are_no_markers() -> None:
    """Only comments that look like ours are."""
    text = b"Note on thresher: begin with its docs.\n<!-- thresher is good -->\n"

    assert without_lines(with_lines(text, "f"), "f") == text


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    """CLAUDE.md is often a link to AGENTS.md: one file, one set of lines."""
    (tmp_path / "AGENTS.md").write_bytes(b"# Rules\n")
    (tmp_path / "CLAUDE.md").symlink_to("AGENTS.md")

    first = install_lines("claude", tmp_path)
    second = install_lines("agents", tmp_path)
    remove_lines("claude", tmp_path)

    assert (first.did, second.did) == ("added", "unchanged")
    assert (tmp_path / "CLAUDE.md").is_symlink()
    assert (tmp_path / "AGENTS.md").read_bytes() == b"# Rules\n"


def test_the_mode_of_a_file_stays(tmp_path: Path) -> None:
    """And nothing else is left beside it."""
    path = tmp_path / "AGENTS.md"
    path.write_bytes(b"x\n")
    path.chmod(0o640)

    install_lines("agents", tmp_path)

    assert path.stat().st_mode & 0o777 == 0o640
    assert list(tmp_path.iterdir()) == [path]


def test_a_place_that_is_no_file_and_a_project_that_is_no_folder_are_refused(tmp_path: Path) -> None:
    """Each with what to do."""
    (tmp_path / "AGENTS.md").mkdir()
    (tmp_path / ".github").write_text("")

    for client, project in (("agents", tmp_path), ("copilot", tmp_path), ("claude", tmp_path / "nowhere")):
        with pytest.raises(InvalidInput):
            install_lines(client, project)
