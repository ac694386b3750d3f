"""The folder of a new pack."""

from __future__ import annotations

from pathlib import Path

import pytest

from thresher.core import Conflict, InvalidInput
from thresher.knowledge.intents import lint, new_pack, read_pack, subject_at
from thresher.knowledge.intents.rule_book import SECTIONS


def test_a_new_pack_is_read_and_every_section_is_still_empty(tmp_path: Path) -> None:
    """Nothing but what the author has to write is reported, and the guide says what."""
    folder = new_pack(
        "new-links", tmp_path / "skills", description='Link "records": use when they belong together, or do not.'
    )

    pack, problems = read_pack(folder, "user")
    findings = lint(subject_at([folder]))

    assert problems == ()
    assert (pack.name, pack.form, pack.findings) == ("new-links", "pack", ())
    assert pack.description == 'Link "records": use when they belong together, or do not.'
    assert pack.fills_variables
    assert [item.message for item in findings if item.check == "empty-section"] == [
        f"The section '{section.title}' is empty." for section in SECTIONS
    ]
    assert {item.check for item in findings} == {"empty-section", "few-lines", "no-off-topic"}
    assert sorted(file.path for file in pack.files) == [
        "SKILL.md",
        "evals/eval_queries.json",
        "examples.txt",
        "not_examples.txt",
    ]


def test_a_new_pack_may_have_code(tmp_path: Path) -> None:
    """Code that Python accepts."""
    folder = new_pack("links", tmp_path, code=True)

    compile((folder / "tools.py").read_text(), "tools.py", "exec")
    pack, _ = read_pack(folder, "user")

    assert pack.code == folder / "tools.py"
    assert "short-description" in {item.check for item in lint(subject_at([folder]))}


@pytest.mark.parametrize("name", ["", "Links", "a--b", "-a", "a/b", "..", "x" * 65, "grün"])
def test_a_name_that_is_none_is_refused(tmp_path: Path, name: str) -> None:
    """With one that would do, and nothing is written."""
    with pytest.raises(InvalidInput) as refused:
        new_pack(name, tmp_path)

    assert "Take '" in refused.value.hint
    assert list(tmp_path.iterdir()) == []


def test_what_is_there_is_left_alone(tmp_path: Path) -> None:
    """A file, a folder, a link that leads nowhere."""
    (tmp_path / "file").write_text("mine")
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")

    for name in ("file", "folder", "link"):
        with pytest.raises(Conflict):
            new_pack(name, tmp_path)

    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder", "link"]


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    """Nothing is left behind."""
    (tmp_path / "file").write_text("")

    with pytest.raises(InvalidInput, match="cannot be written"):
        new_pack("links", tmp_path / "file" / "skills")
