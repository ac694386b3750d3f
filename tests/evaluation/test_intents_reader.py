"""Lines of an evaluation of intents are read whole or refused with the line that is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from thresher.core import InvalidInput
from thresher.evaluation.intents import read_tests, read_training


def written(folder: Path, text: str | bytes) -> Path:
    """A file with this content."""
    path = folder / "lines.jsonl"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_test_lines_have_one_intent_several_or_none(tmp_path: Path) -> None:
    """Blank lines, a byte order mark and unknown fields are ignored."""
    text = (
        '\ufeff{"text": "where is my card", "intent": "card", "id": 7}\n\n'
        '{"text": "card and pin", "intent": ["card", "pin", "card"]}\r\n'
        '{"text": "sing", "intent": null}\n{"text": "dance", "intent": []}'
    )

    lines = [(line.text, line.intents, line.line) for line in read_tests(written(tmp_path, text))]

    assert lines == [
        ("where is my card", ("card",), 1),
        ("card and pin", ("card", "pin"), 3),
        ("sing", (), 4),
        ("dance", (), 5),
    ]


def test_a_separator_inside_a_text_ends_no_line(tmp_path: Path) -> None:
    """JSON allows U+2028 unescaped."""
    (line,) = read_tests(written(tmp_path, '{"text": "one\u2028two", "intent": "a"}'))

    assert line.text == "one\u2028two"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "holds no lines"),
        ('{"text": "a", "intent": "x"}\n{', "line 2: not valid JSON"),
        ("[" * 100_000, "line 1: not valid JSON"),
        ("[]", "line 1: not a JSON object"),
        ('{"intent": "x"}', '"text" must be text'),
        ('{"text": " ", "intent": "x"}', '"text" must be text'),
        ('{"text": "a"}', '"intent" is missing'),
        ('{"text": "a", "intent": 7}', '"intent" must be a name'),
        ('{"text": "a", "intent": ""}', '"intent" must be a name'),
        ('{"text": "a", "intent": ["x", null]}', '"intent" must be a name'),
        ('{"text": "' + "a" * 100_001 + '", "intent": "x"}', "longer than 100000 characters"),
        (b"\xff\xfe\x00", "not UTF-8"),
    ],
)
def test_a_wrong_line_is_refused_with_its_number(tmp_path: Path, text: str | bytes, problem: str) -> None:
    """The message names what is wrong, the hint the shape."""
    with pytest.raises(InvalidInput, match=problem) as caught:
        read_tests(written(tmp_path, text))

    assert caught.value.hint


def test_a_training_line_has_one_intent_at_most(tmp_path: Path) -> None:
    """Null is a message that asks for none of them."""
    good = read_training(written(tmp_path, '{"text": "a", "intent": "x"}\n{"text": "b", "intent": null}'))

    assert [line.intents for line in good] == [("x",), ()]
    with pytest.raises(InvalidInput, match="line 1: a training line has one intent"):
        read_training(written(tmp_path, '{"text": "a", "intent": ["x", "y"]}'))
    with pytest.raises(InvalidInput, match="names no intent"):
        read_training(written(tmp_path, '{"text": "a", "intent": null}'))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    """With the system's reason."""
    with pytest.raises(InvalidInput, match=r"gone\.jsonl cannot be read: No such file"):
        read_training(tmp_path / "gone.jsonl")
