"""Whatever stands in the files of a pack, reading ends in a pack or in a message."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.knowledge.intents.test_reader import written
from thresher.core import InvalidInput
from thresher.knowledge.intents.files import decoded, digest_of
from thresher.knowledge.intents.front_matter import is_name, name_of, split
from thresher.knowledge.intents.globs import fits, globs_of
from thresher.knowledge.intents.models import PackProblem
from thresher.knowledge.intents.reader import described_lines, read_pack
from thresher.scanner import scan_rules

PIECES = """---|name: a|name:|description: b: c|metadata:|  key: value|- item|\t- x|&a *a|{|]|globs: **/*.ts
description: >|  folded|# heading||!!python/none|'|key: \\||...|a: b # c"""
MATTER = st.lists(st.sampled_from(PIECES.replace("\n", "|").split("|")), max_size=12).map("\n".join)
ODD = st.text(alphabet=st.characters(codec="utf-8"), max_size=200)


@given(MATTER | ODD)
def test_any_text_is_split(text: str) -> None:
    """Values are text, lists and mappings of text, and so fit into JSON."""
    matter = split(f"---\n{text}")

    assert json.dumps(matter.fields)
    assert matter.body == matter.body.strip()


@given(st.binary(max_size=200))
def test_any_octets_are_decoded(octets: bytes) -> None:
    """Without NUL, carriage return or lone surrogate."""
    text, _ = decoded(octets)

    assert not set("\0\r") & set(text)
    assert text.encode().decode() == text


@given(ODD, st.text(max_size=20))
def test_any_words_are_taken(text: str, name: str) -> None:
    """Descriptions, names and patterns of any sort, and any text under the scanner."""
    positive, negative = described_lines(text)

    assert all(line.strip() for line in (*positive, *negative))
    assert is_name(name_of(name))
    assert isinstance(any(fits(glob, "a/b") for glob in globs_of(text)), bool)
    assert all(finding.why for finding in scan_rules(text))


@settings(max_examples=30)
@given(st.binary(max_size=300), st.binary(max_size=60), st.binary(max_size=60))
def test_any_files_are_read(
    tmp_path_factory: pytest.TempPathFactory, rules: bytes, lines: bytes, queries: bytes
) -> None:
    """A pack that JSON can hold, or a message with a hint."""
    folder = tmp_path_factory.mktemp("any")
    (folder / "evals").mkdir()
    for name, octets in (("SKILL.md", rules), ("examples.txt", lines), ("evals/eval_queries.json", queries)):
        (folder / name).write_bytes(octets)
    try:
        pack, problems = read_pack(folder, "user")
    except InvalidInput as error:
        pack, problems = None, (PackProblem(folder, error.message, error.hint, "warning"),)

    assert pack is None or json.dumps([pack.name, pack.rules, pack.examples, pack.description]).isascii()
    assert all(problem.message and problem.severity == "warning" for problem in problems)


def test_a_file_that_is_written_while_it_is_read_agrees_with_its_hash(tmp_path: Path) -> None:
    """Text and digest come from one reading: what is approved is what was taken apart."""
    texts = {f"---\nname: moving\ndescription: d{n}\n---\n{str(n) * 50_000}": n for n in range(3)}
    folder = written(tmp_path / "moving", SKILL_dot_md=next(iter(texts)))
    stop = threading.Event()

    def write() -> None:
        while not stop.is_set():
            for text in texts:
                (tmp_path / "next").write_text(text)
                (tmp_path / "next").replace(folder / "SKILL.md")

    writer = threading.Thread(target=write)
    writer.start()
    try:
        packs = [read_pack(folder, "user")[0] for _ in range(20)]
    finally:
        stop.set()
        writer.join()

    by_digest = {pack.digest: pack.rules for pack in packs}
    assert all(by_digest[pack.digest] == pack.rules and digest_of(pack.files) == pack.digest for pack in packs)
    assert {len(pack.rules) for pack in packs} == {50_000}
