"""Packs as Agent Skills folders."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.knowledge.intents.books import WHOLE, pack_at
from thresher.core import Conflict, InvalidInput
from thresher.knowledge.intents import Pack, export_skills, read_pack
from thresher.knowledge.intents.client_files import LEDGER

FIELDS = {"name", "description", "license", "compatibility", "metadata", "allowed-tools"}


def front_matter(folder: Path) -> dict[str, Any]:
    """A skill's front matter as any YAML reader has it, checked against the specification."""
    text = (folder / "SKILL.md").read_text(encoding="utf-8")
    fields: dict[str, Any] = yaml.safe_load(text.split("---\n")[1])
    assert set(fields) <= FIELDS
    assert fields["name"] == folder.name
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", folder.name)
    assert 1 <= len(fields["description"]) <= 1024
    assert len(fields.get("compatibility", "")) <= 500
    assert all(isinstance(value, str) for value in fields.values() if value is not fields.get("metadata"))
    assert all(isinstance(part, str) for item in fields.get("metadata", {}).items() for part in item)
    return fields


def test_a_valid_pack_is_exported_as_it_is(tmp_path: Path) -> None:
    """Octet for octet, every file; a second time there is nothing to do."""
    pack = pack_at(tmp_path / "links", misses=("open it",), asked=("join a and b",), code="print()")

    first = export_skills([pack], tmp_path / "skills")
    second = export_skills([pack], tmp_path / "skills")

    target = tmp_path / "skills" / "links"
    assert (first.written, first.unchanged) == ((target,), ())
    assert (second.written, second.unchanged) == ((), (target,))
    assert {file.path for file in read_pack(target, "user")[0].files} == {file.path for file in pack.files}
    assert read_pack(target, "user")[0].digest == pack.digest
    assert front_matter(target)["metadata"]["servers"] == "crm"


def test_sloppy_and_foreign_packs_become_valid_skills(tmp_path: Path) -> None:
    """Unknown fields go into the metadata, long texts are cut, lists become text, rule files become folders."""
    sloppy = tmp_path / "My Skill"
    sloppy.mkdir()
    (sloppy / "skill.md").write_text(
        f"---\nname: My Skill\ndescription: {'very ' * 300}long\nversion: 1.0\ntags: [a, b]\n"
        f'allowed-tools: [Read, "Bash(git add:*)"]\nlicense: MIT\ncompatibility: {"c" * 600}\n---\nDo "it": well.\n'
    )
    (sloppy / "notes.md").write_text("notes")
    rule = tmp_path / "style.mdc"
    rule.write_text('---\ndescription: "Wörter: \\"so\\""\nglobs: "*.py,*.js"\n---\nUse tabs.\n', encoding="utf-8")
    packs = [read_pack(path, "user")[0] for path in (sloppy, rule)]

    export_skills(packs, tmp_path / "skills")

    skill, style = (front_matter(tmp_path / "skills" / name) for name in ("my-skill", "style"))
    assert skill["metadata"] == {"version": "1.0"}
    assert skill["allowed-tools"].startswith("Read Bash(git add")
    assert style["description"] == 'Wörter: "so"'
    assert style["metadata"] == {"globs": "*.py, *.js"}
    assert (tmp_path / "skills" / "my-skill" / "notes.md").read_text() == "notes"
    for name, pack in zip(("my-skill", "style"), packs, strict=True):
        again, problems = read_pack(tmp_path / "skills" / name, "user")
        assert problems == ()
        assert again.rules == pack.rules


def test_a_folder_of_somebody_else_stops_the_whole_export(tmp_path: Path) -> None:
    """Also one that was exported and changed since; unless overwriting is asked for."""
    packs = [pack_at(tmp_path / name) for name in ("alpha", "beta", "gamma")]
    skills = tmp_path / "skills"
    export_skills(packs[:1], skills)
    (skills / "alpha" / "SKILL.md").write_text("mine")
    (skills / "beta").mkdir()

    with pytest.raises(Conflict, match=r"alpha, .*beta") as refused:
        export_skills(packs, skills)
    untouched = (skills / "alpha" / "SKILL.md").read_text(), (skills / "gamma").exists()
    done = export_skills(packs, skills, force=True)

    assert "--force" in refused.value.hint
    assert untouched == ("mine", False)
    assert [path.name for path in done.written] == ["alpha", "beta", "gamma"]
    assert read_pack(skills / "alpha", "user")[0].digest == packs[0].digest


def test_what_was_exported_is_brought_up_to_date(tmp_path: Path) -> None:
    """Files that are gone from the pack go from the skill; others in the folder of skills stay."""
    skills = tmp_path / "skills"
    export_skills([pack_at(tmp_path / "links", misses=("open it",))], skills)
    (skills / "own").mkdir()
    (tmp_path / "links" / "not_examples.txt").unlink()
    changed = pack_at(tmp_path / "links", rules=WHOLE + "\nMore.\n")

    done = export_skills([changed], skills)

    assert [path.name for path in done.written] == ["links"]
    assert read_pack(skills / "links", "user")[0].digest == changed.digest
    assert sorted(path.name for path in skills.iterdir()) == [LEDGER, "links", "own"]


def test_a_damaged_ledger_and_a_link_are_not_trusted(tmp_path: Path) -> None:
    """What cannot be proved to be ours is somebody else's, and nothing is written through a link."""
    pack, skills = pack_at(tmp_path / "links"), tmp_path / "skills"
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    skills.mkdir()
    (skills / LEDGER).write_text("[]")
    (skills / "links").symlink_to(elsewhere)

    with pytest.raises(Conflict):
        export_skills([pack], skills)
    export_skills([pack], skills, force=True)

    assert list(elsewhere.iterdir()) == []
    assert not (skills / "links").is_symlink()


def test_a_pack_without_rules_makes_no_skill(tmp_path: Path) -> None:
    """It is named."""
    done = export_skills([pack_at(tmp_path / "empty", rules="")], tmp_path / "skills")

    assert (done.written, done.left) == ((), ("empty",))
    assert not (tmp_path / "skills").exists()


def test_a_pack_that_changes_meanwhile_is_not_exported(tmp_path: Path) -> None:
    """What is written is what was read."""
    pack: Pack = pack_at(tmp_path / "links")
    (tmp_path / "links" / "SKILL.md").write_text("other")

    with pytest.raises(Conflict, match="changed"):
        export_skills([pack], tmp_path / "skills")

    assert not (tmp_path / "skills").exists()


def test_a_target_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    """A file in the way of the folder."""
    (tmp_path / "skills").write_text("")

    with pytest.raises(InvalidInput, match="cannot be written"):
        export_skills([pack_at(tmp_path / "links")], tmp_path / "skills")
