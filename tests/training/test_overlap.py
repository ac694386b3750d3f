"""Training lines that are too like a benchmark line are found: equal ones, long equal runs, near ones by vector."""

from __future__ import annotations

import numpy as np
import pytest

from training import overlap
from training.overlap import RUN, allowed, copies, nearest_pairs, normal, training_lines


def test_case_punctuation_and_digits_do_not_tell_lines_apart() -> None:
    """Invented values differ where people ask the same."""
    assert normal("Wake me at 07:30, please!") == normal("wake me at 6:15 please").replace("0 00", "00 00")
    assert normal("?!") == ""


def test_equal_lines_and_long_runs_are_copies() -> None:
    """A run one word shorter is not."""
    words = [f"w{chr(97 + n)}" for n in range(RUN)]
    others = {"what time is it": "one", " ".join(["so", *words, "then"]): "two"}
    lines = ["what time is it", "what time was it", " ".join([*words, "again"]), " ".join([*words[1:], "again"])]
    found = copies(lines, others)

    assert [(one.line, one.origin, one.why) for one in found] == [
        (lines[0], "one", "equal"),
        (lines[2], "two", f"{RUN} words in a row"),
    ]


def test_the_nearest_line_decides_about_near_copies(monkeypatch: pytest.MonkeyPatch) -> None:
    """From the threshold on, nearest first."""
    monkeypatch.setattr(overlap, "NEAR", 0.9)
    known = np.eye(3, dtype=np.float32)
    vectors = np.array([[0.95, 0.3, 0.0], [0.6, 0.6, 0.5], [0.0, 0.0, 1.0]], np.float32)
    found = nearest_pairs(vectors, known, ["a", "b", "c"], ["x", "y", "z"], {"x": "one", "y": "two", "z": "three"})

    assert [(one.line, one.other, one.origin, one.why) for one in found] == [
        ("c", "z", "three", "1.000"),
        ("a", "x", "one", "0.950"),
    ]


def test_lines_that_may_stay_are_lines_of_the_data() -> None:
    """A line that has gone is not kept in the list."""
    assert allowed() <= set(training_lines())
