"""Files of an evaluation are read whole or refused with the line that is wrong."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from thresher.core import InvalidInput
from thresher.evaluation.tools import read_pool, read_questions

POOL = """[
{"server": "git", "name": "log"},

{"server": "time", "name": "now", "description": "Clock", "inputSchema": {"type": "object"}}
]"""


def written(folder: Path, text: str | bytes) -> Path:
    """A file with this content."""
    path = folder / "file"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_a_pool_is_read_in_order(tmp_path: Path) -> None:
    """Description and schema may be missing."""
    tools = read_pool(written(tmp_path, POOL))

    assert [(tool.key, tool.description, dict(tool.input_schema)) for tool in tools] == [
        ("git/log", "", {}),
        ("time/now", "Clock", {"type": "object"}),
    ]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "line 1: a list was expected"),
        ("{}", "line 1: a list was expected"),
        ("[]", "holds no tools"),
        ('[\n{"server": "a", "name": "b"},\n{"server": "a", "name"', "line 3: not valid JSON"),
        ('[\n{"server": "a", "name": "b"}\n{"server": "a"}]', "line 3: a comma or the end"),
        ('[\n{"server": "a", "name": "b"}\n', "line 3: a comma or the end"),
        ('[{"server": "a", "name": "b"}]\n x', "something follows the list"),
        ("[\n1]", "line 2: not a JSON object"),
        ('[\n\n{"server": "", "name": "b"}]', 'line 3: "server" must be text'),
        ('[{"server": "a", "name": 3}]', '"name" must be text'),
        ('[{"server": "a", "name": "b", "description": 3}]', '"description" must be text'),
        ('[{"server": "a", "name": "b", "inputSchema": "x"}]', '"inputSchema" must be an object'),
        (b"\xff\xfe\x00", "not UTF-8"),
        ("[" * 100_000, "not valid JSON"),
    ],
)
def test_a_wrong_pool_is_refused_with_its_line(tmp_path: Path, text: str | bytes, problem: str) -> None:
    """The message names what is wrong, the hint the shape."""
    with pytest.raises(InvalidInput, match=problem) as caught:
        read_pool(written(tmp_path, text))

    assert caught.value.hint


def test_queries_are_read_with_their_lines(tmp_path: Path) -> None:
    """Blank lines are skipped; an empty `relevant` says that no tool fits."""
    lines = [{"query": "what time", "relevant": ["time/now"]}, {"query": "x", "queries": ["a", "b"], "relevant": []}]
    questions = read_questions(written(tmp_path, json.dumps(lines[0]) + "\n\n" + json.dumps(lines[1]) + "\n"))

    assert [(q.text, q.phrases, q.relevant, q.line) for q in questions] == [
        ("what time", (), frozenset({"time/now"}), 1),
        ("x", ("a", "b"), frozenset(), 3),
    ]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "holds no queries"),
        ('{"query": "a", "relevant": []}\n{', "line 2: not valid JSON"),
        ("[1]", "line 1: not a JSON object"),
        ('{"relevant": []}', '"query" must be text'),
        ('{"query": "  ", "relevant": []}', '"query" must be text'),
        ('{"query": "a"}', '"relevant" is missing'),
        ('{"query": "a", "relevant": "x/y"}', '"relevant" must be a list'),
        ('{"query": "a", "queries": [1], "relevant": []}', '"queries" must be a list'),
    ],
)
def test_wrong_queries_are_refused_with_their_line(tmp_path: Path, text: str, problem: str) -> None:
    """The message names what is wrong."""
    with pytest.raises(InvalidInput, match=problem):
        read_questions(written(tmp_path, text))


def test_only_line_breaks_end_a_query(tmp_path: Path) -> None:
    """JSON allows the separators of Unicode inside a text."""
    line = json.dumps({"query": "a\u2028b\u0085c", "relevant": []}, ensure_ascii=False)

    questions = read_questions(written(tmp_path, f"{line}\r\n{line}\n"))

    assert [question.line for question in questions] == [1, 2]


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    """The message has the path."""
    with pytest.raises(InvalidInput, match="nowhere"):
        read_pool(tmp_path / "nowhere")
