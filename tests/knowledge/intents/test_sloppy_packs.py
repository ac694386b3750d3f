"""Packs as people really write them, and as somebody would who means harm."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.knowledge.intents.test_reader import written
from thresher.core import InvalidInput
from thresher.knowledge.intents.files import decoded
from thresher.knowledge.intents.front_matter import Unreadable, is_name, name_of, parsed, split
from thresher.knowledge.intents.models import Pack
from thresher.knowledge.intents.reader import described_lines, read_pack

PLAIN = "---\nname: notes\ndescription: Take notes\n---\nWrite it down.\n"


def read(folder: Path, text: str | bytes) -> tuple[Pack, str]:
    """A pack `notes` of this text, and all that was mended."""
    (folder / "notes").mkdir()
    octets = text if isinstance(text, bytes) else text.encode()
    (folder / "notes/SKILL.md").write_bytes(octets)
    pack, problems = read_pack(folder / "notes", "user")
    assert all(problem.severity == "warning" for problem in problems)
    return pack, " ".join(problem.message for problem in problems)


@pytest.mark.parametrize(
    ("text", "mended"),
    [
        (PLAIN, ""),
        ("\ufeff" + PLAIN, ""),
        ("\n\n" + PLAIN, ""),
        (PLAIN.replace("\n", "\r\n"), ""),
        (PLAIN.replace("---", "--- "), ""),
        (PLAIN.replace("---\nWrite", "...\nWrite"), ""),
        (PLAIN.encode("utf-16"), "UTF-16-LE"),
        (PLAIN.encode("utf-16-be"), "UTF-16-BE"),
        (PLAIN.replace("Write", "\0Wri\0te"), "NUL"),
        (PLAIN.replace("---\nWrite", "\nWrite"), "closes the front matter"),
        (PLAIN.replace("---\nWrite", "# Notes\nWrite"), "closes the front matter"),
        (PLAIN.replace("Take notes", "Take notes: short, and: clear"), "read line by line"),
        (PLAIN.replace("description:", "description:\t"), ""),
        (PLAIN.replace("name: notes\n", ""), "has no name"),
        (PLAIN.replace("name: notes", "name: Notes App!"), "'notes-app' is used"),
        (PLAIN.replace("name: notes", "name: ../../etc/passwd"), "'etc-passwd' is used"),
        (PLAIN.replace("name: notes", 'name: "a\\u0007b\\nc"'), "'a-b-c' is used"),
        (PLAIN.replace("name: notes", "name: \u7b14\u8bb0"), "'notes' is used"),
        (PLAIN.replace("name: notes", "name: other"), "not that of its folder"),
        (PLAIN.replace("name: notes", f"name: {'n' * 65}"), "is used"),
        (PLAIN.replace("description: Take notes\n", ""), "has no description"),
        (PLAIN.replace("Take notes", "word " * 300), "more than 1,024"),
        (PLAIN.replace("---\nWrite", f"compatibility: {'c' * 501}\n---\nWrite"), "more than 500"),
        (PLAIN.replace("---\nWrite", "metadata:\n  a: {b: c}\n---\nWrite"), "metadata 'a'"),
        (PLAIN.replace("---\nWrite", "metadata: none\n---\nWrite"), "metadata is not a list"),
        ("Write it down.\n", "no front matter"),
        (PLAIN.encode().replace(b"it", b"it \xe9\xff"), "Windows-1252"),
    ],
)
def test_sloppy_text_is_read_and_corrections_are_reported(tmp_path: Path, text: str | bytes, mended: str) -> None:
    """The rules come through; a word of what was wrong, and none where nothing was."""
    pack, said = read(tmp_path, text)

    assert pack.rules.endswith("down.")
    assert is_name(pack.name)
    assert pack.description
    assert (mended in said) if mended else said == ""


def test_other_files_may_be_sloppy_too(tmp_path: Path) -> None:
    """Queries that are no JSON or have other fields, endless lines, a file of rules in small letters."""
    folder = written(
        tmp_path / "notes",
        skill_dot_md=PLAIN,
        examples_dot_txt=f"\ufefftake a note\r\n{'x' * 1_001}\n# comment\n",
        not_examples_dot_txt="\n\n",
        evals__eval_queries_dot_json='{"queries": [{"query": "a", "should_trigger": "yes"}, 3, {"query": "b", '
        '"should_trigger": true}]}',
    )

    pack, problems = read_pack(folder, "user")

    assert pack.examples == ("take a note",)
    assert [query.query for query in pack.evals] == ["b"]
    assert len(problems) == 3


@pytest.mark.parametrize("text", ["[" * 5_000, '{"query":' * 5_000, "null", '"x"', "[[]]", "{}", "\0", "[1e999]"])
def test_queries_that_are_none_are_left_out(tmp_path: Path, text: str) -> None:
    """Whatever the file holds, the pack is read."""
    folder = written(tmp_path / "notes", SKILL_dot_md=PLAIN, evals__eval_queries_dot_json=text)

    assert read_pack(folder, "user")[0].evals == ()


def test_a_hundred_thousand_lines_are_cut(tmp_path: Path) -> None:
    """The first ten thousand distinct ones are used, and a warning says so."""
    lines = "\n".join(f"l{number}" for number in range(100_000))
    folder = written(tmp_path / "notes", SKILL_dot_md=PLAIN, examples_dot_txt=lines)

    pack, problems = read_pack(folder, "user")

    assert len(pack.examples) == 10_000
    assert [problem.message for problem in problems] == [
        "examples.txt: only the first 10,000 of 100,000 lines are used."
    ]


@pytest.mark.parametrize(
    "yaml",
    [
        "a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]",
        "a: !!python/object/apply:os.system ['touch /tmp/x']",
        "a: !!binary aGVsbG8=",
        "<<: *a",
        "a: " + "[" * 1_000,
        "a: " + "{b: " * 100,
        "x: y\n" * 4_000,
        "a: 'unclosed",
        "a: b: c",
        "\t- a",
        "? [a, b]\n: c\n? {d: e}\n: *f",
        "%YAML 9.9\n---\na: b",
        "a: \x07",
        "@at: `tick`",
    ],
)
def test_yaml_that_would_build_something_is_refused(yaml: str) -> None:
    """No anchors, no tags, no depth, no flood: such front matter is read line by line instead."""
    begin = time.process_time()
    with pytest.raises(Unreadable):
        parsed(yaml)

    assert isinstance(split(f"---\n{yaml}\n---\nbody").fields, dict)
    assert time.process_time() - begin < 1


def test_values_are_text_as_it_stands() -> None:
    """Nothing becomes a number, a date or a truth."""
    value = parsed("version: 1.0\nday: 2026-01-02\non: yes\nnone: ~\nlist: [1, 2]\nfolded: >\n  a\n  b\n")

    assert value == {
        "version": "1.0", "day": "2026-01-02", "on": "yes", "none": "", "list": ["1", "2"], "folded": "a b\n"
    }  # fmt: skip


def test_front_matter_without_end_does_not_eat_the_body() -> None:
    """A heading or a plain sentence ends it."""
    matter = split("---\nname: a\ndescription: b\n  goes on\n\nThe rules begin: here.\n---\nMore.")

    assert matter.fields["name"] == "a"
    assert "More." in matter.body


def test_a_line_of_dashes_in_the_body_stays() -> None:
    """Only the first two fences are front matter."""
    assert split("---\nname: a\n---\nOne\n\n---\n\nTwo").body == "One\n\n---\n\nTwo"


@pytest.mark.parametrize("octets", [b"", b"\xff\xfe", b"\0", b"\0\0\0\0", b"\xef\xbb\xbf", b"\xff", b"a\0b\0c\0d"])
def test_any_octets_become_text(octets: bytes) -> None:
    """Text that JSON and a database can hold."""
    text, _ = decoded(octets)

    assert "\0" not in text
    assert text.encode().decode() == text


@pytest.mark.parametrize(
    "text", ["", "../..", "\u7b14\u8bb0", "A B", "-", "x" * 500, "a--b", "PDFTools", "\ud800", "\x1b[31m"]
)
def test_any_text_yields_a_name(text: str) -> None:
    """The same one each time."""
    assert is_name(name_of(text))
    assert name_of(text) == name_of(text)


def test_a_pack_that_is_nothing_is_refused(tmp_path: Path) -> None:
    """Neither a folder nor a rule file, or one that is not there."""
    (tmp_path / "a.txt").write_text("x")

    for path in (tmp_path / "a.txt", tmp_path / "gone", tmp_path / "gone.mdc"):
        with pytest.raises(InvalidInput):
            read_pack(path, "user")


@pytest.mark.parametrize(
    ("description", "lines", "not_lines"),
    [
        ("", (), ()),
        ("Helps with PDFs.", ("Helps with PDFs",), ()),
        ("Use this skill when the user wants to plan a trip, or asks for a hotel.", ("plan a trip", "a hotel"), ()),
        ('Triggers on phrases like "plan a trip", "book a hotel".', ("plan a trip", "book a hotel"), ()),
        ("Use when users want to: (1) plan a trip, (2) book a hotel.", ("plan a trip", "book a hotel"), ()),
        (
            "Plans trips. Do NOT use for visas (use passports) or weather.",
            ("Plans trips",),
            ("visas (use passports) or weather", "visas", "weather"),
        ),
        ("Keywords: trips, hotels, trains", ("trips", "hotels", "trains"), ()),
        (
            "Use when the user mentions day trips, cheap hotels, night trains, or boats.",
            ("day trips, cheap hotels, night trains, or boats", "day trips", "cheap hotels", "night trains"),
            (),
        ),
    ],
)
def test_descriptions_yield_lines(description: str, lines: tuple[str, ...], not_lines: tuple[str, ...]) -> None:
    """What is done, when to use it, what is said in quotation marks, and what it is not for."""
    assert described_lines(description) == (lines, not_lines)


@pytest.mark.parametrize(
    "piece", ["when ", "a, ", '"', "use when user ", " - ", "or when ", "(1) ", "w", "the ", "'", "\n- "]
)
def test_descriptions_are_read_in_bounded_time(piece: str) -> None:
    """A description of eight thousand characters of what patterns like least."""
    begin = time.process_time()

    described_lines(piece * 8_000)

    assert time.process_time() - begin < 1
