"""Known answers to large results: which are delivered, and what a wrong file of questions is told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from thresher.core import InvalidInput
from thresher.evaluation import evaluate_results, read_result_cases, result_figures


def written(folder: Path, *cases: Any) -> Path:
    """A file of questions beside a list of 3,000 elements."""
    rows = [{"id": number, "name": f"item {number}", "price": number * 3} for number in range(3_000)]
    (folder / "rows.json").write_text(json.dumps(rows), encoding="utf-8")
    path = folder / "cases.jsonl"
    path.write_text("\n".join(one if isinstance(one, str) else json.dumps(one) for one in cases), encoding="utf-8")
    return path


def test_answers_are_looked_for_in_what_is_delivered(tmp_path: Path) -> None:
    """Beside what the first tokens and the first elements hold."""
    near = {"result": "rows.json", "question": "price of item 3", "answers": ['"price":9']}
    far = {"result": "rows.json", "mime": "application/json", "question": "price of item 2345", "answers": ["7035"]}
    never = {"result": "rows.json", "question": "colour of item 7", "answers": ["purple"]}
    figures = result_figures(evaluate_results(read_result_cases(written(tmp_path, near, far, never))))

    assert figures.kept_at_500 == figures.kept_at_2000 == pytest.approx(2 / 3)
    assert figures.kept_head_at_500 == figures.kept_elements_at_2000 == pytest.approx(1 / 3)
    assert (figures.budget_violations, figures.invalid_json, figures.verbatim_rate) == (0, 0, 1.0)
    assert [one["question"] for one in figures.missed] == ["colour of item 7"]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("no JSON", "line 1"),
        ({"result": "rows.json", "question": "q"}, "line 1"),
        ({"result": "rows.json", "question": "q", "answers": []}, "answers must be texts"),
        ({"result": "absent.json", "question": "q", "answers": ["a"]}, "there is no file"),
    ],
)
def test_a_wrong_line_is_named(tmp_path: Path, line: Any, told: str) -> None:
    """With what is wrong about it."""
    with pytest.raises(InvalidInput, match=told):
        read_result_cases(written(tmp_path, line))
