"""Reading one folder or file into a pack."""

from __future__ import annotations

from pathlib import Path

import pytest

from thresher.core import InvalidInput
from thresher.knowledge.intents.models import EvalQuery
from thresher.knowledge.intents.reader import read_pack

RELATIONS = """---
name: relations
description: Make, change and delete relations. Use when the user speaks of links between records.
license: Apache-2.0
compatibility: Thresher
metadata:
  version: 1.0
  servers: crm, erp
  keywords: relation, foreign key
  variables: "true"
  off_topic: I only make relations.
allowed-tools: Read Bash(git add:*), make_relation
---

# Goal

Make a relation in {{PROJECT_NAME}}.
"""


def written(folder: Path, **files: str) -> Path:
    """A folder with these files; `__` in a name is a slash, `_dot_` a dot."""
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_dot_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def test_a_pack_is_read_whole(tmp_path: Path) -> None:
    """Front matter, body, training lines, negatives, queries and code."""
    folder = written(
        tmp_path / "relations",
        SKILL_dot_md=RELATIONS,
        examples_dot_txt="# terse\nmake a relation\n\n  link   orders to customers \nmake a relation\n",
        not_examples_dot_txt="who is related to whom\n",
        evals__eval_queries_dot_json='[{"query": "join the tables", "should_trigger": true}]',
        tools_dot_py="raise RuntimeError('reading must not run this')\n",
    )

    pack, problems = read_pack(folder, "user")

    assert problems == ()
    assert (pack.name, pack.form, pack.origin, pack.path) == ("relations", "pack", "user", folder)
    assert pack.rules == "# Goal\n\nMake a relation in {{PROJECT_NAME}}."
    assert pack.examples == ("make a relation", "link orders to customers")
    assert pack.not_examples == ("who is related to whom",)
    assert pack.evals == (EvalQuery("join the tables", should_trigger=True),)
    assert pack.servers == ("crm", "erp")
    assert pack.keywords == ("relation", "foreign key")
    assert pack.metadata["version"] == "1.0"
    assert pack.fills_variables
    assert pack.allowed_tools == ("Read", "Bash(git add:*)", "make_relation")
    assert pack.code == folder / "tools.py"
    assert [file.path for file in pack.files] == [
        "SKILL.md",
        "evals/eval_queries.json",
        "examples.txt",
        "not_examples.txt",
        "tools.py",
    ]


def test_any_change_of_any_file_changes_the_digest(tmp_path: Path) -> None:
    """Content, a new file, a new name: each is another pack to trust."""
    folder = written(tmp_path / "relations", SKILL_dot_md=RELATIONS, tools_dot_py="a = 1\n")
    digests = [read_pack(folder, "user")[0].digest]

    written(folder, tools_dot_py="a = 2\n")
    digests.append(read_pack(folder, "user")[0].digest)
    (folder / "tools.py").rename(folder / "other.py")
    digests.append(read_pack(folder, "user")[0].digest)
    written(folder, references__more_dot_md="more")
    digests.append(read_pack(folder, "user")[0].digest)

    assert len(set(digests)) == 4


def test_a_foreign_skill_trains_on_its_description_and_queries(tmp_path: Path) -> None:
    """Without examples.txt, what the description and the queries say are the lines."""
    folder = written(
        tmp_path / "pdf-processing",
        SKILL_dot_md="---\nname: pdf-processing\ndescription: Extracts text from PDF files. Use when the user mentions "
        "forms or when merging documents. Do not use for Word files.\n---\nOpen the file.",
        evals__eval_queries_dot_json='[{"query": "fill this form", "should_trigger": true},'
        ' {"query": "write a letter", "should_trigger": false}]',
    )

    pack, problems = read_pack(folder, "user")

    assert problems == ()
    assert pack.form == "skill"
    assert pack.examples == ("Extracts text from PDF files", "forms", "merging documents", "fill this form")
    assert pack.not_examples == ("Word files", "write a letter")


def test_a_cursor_rule_is_read_as_its_writers_write_it(tmp_path: Path) -> None:
    """Patterns without quotation marks and with commas are no YAML, and no reason for a word."""
    path = tmp_path / "typescript.mdc"
    path.write_text(
        "---\ndescription: TypeScript style\nglobs: **/*.ts,src/**/*.{tsx,jsx}\nalwaysApply: false\n---\nUse const.\n"
    )

    pack, problems = read_pack(path, "project")

    assert problems == ()
    assert (pack.name, pack.form, pack.always) == ("typescript", "cursor", False)
    assert pack.globs == ("**/*.ts", "src/**/*.{tsx,jsx}")
    assert (pack.rules, pack.examples) == ("Use const.", ("TypeScript style",))


def test_a_copilot_instruction_is_read(tmp_path: Path) -> None:
    """`applyTo` holds patterns; one that means every file means every message."""
    some, every = tmp_path / "python.instructions.md", tmp_path / "house.instructions.md"
    some.write_text("---\napplyTo: '**/*.py, **/*.pyi'\ndescription: 'Python style'\n---\nType everything.")
    every.write_text('---\napplyTo: "**"\n---\n# House rules\n\nBe brief.')

    (first, _), (second, _) = read_pack(some, "project"), read_pack(every, "project")

    assert (first.name, first.globs, first.always) == ("python", ("**/*.py", "**/*.pyi"), False)
    assert (second.name, second.always, second.examples) == ("house", True, ())
    assert second.description == "House rules. Be brief."


def test_a_folder_without_rules_is_refused(tmp_path: Path) -> None:
    """There is nothing to use, and the message says so."""
    with pytest.raises(InvalidInput, match=r"no SKILL\.md"):
        read_pack(written(tmp_path / "empty", README_dot_md="hello"), "user")
