"""Reading questions about APIs, and their figures."""

from __future__ import annotations

from pathlib import Path

import pytest

from thresher.core import InvalidInput
from thresher.evaluation import ApiObservation, ApiQuestion, figures_of_apis, provider_of, read_api_questions


def test_questions_are_read_with_their_operations(tmp_path: Path) -> None:
    """Methods in any case; other keys are passed over."""
    file = tmp_path / "q.jsonl"
    file.write_text('{"query": "pets", "relevant": ["get /pets"], "style": "x"}\n', encoding="utf-8")

    assert read_api_questions(file) == [ApiQuestion("pets", frozenset({"GET /pets"}), 1)]


@pytest.mark.parametrize("line", ["", "{}", '{"query": "x"}', '{"query": "x", "relevant": ["pets"]}', '{"query": ""}'])
def test_a_wrong_line_is_refused(tmp_path: Path, line: str) -> None:
    """With what a line should look like."""
    file = tmp_path / "q.jsonl"
    file.write_text(line, encoding="utf-8")

    with pytest.raises(InvalidInput):
        read_api_questions(file)


def test_figures_count_places_and_shares() -> None:
    """One question right at once, one in the sixth place with half of what it wants, one not at all."""
    first = ApiObservation(ApiQuestion("a", frozenset({"GET /a"}), 1), ("GET /a", "GET /b"), 10.0, 4.0)
    sixth = ApiObservation(
        ApiQuestion("b", frozenset({"GET /x", "GET /y"}), 2), tuple(f"GET /{one}" for one in "123456x"), 20.0, 4.0
    )
    never = ApiObservation(ApiQuestion("c", frozenset({"GET /z"}), 3), (), 30.0, 4.0)

    figures = figures_of_apis([first, sixth, never], 9)

    assert (figures.hit_at_1, figures.hit_at_5, figures.hit_at_10) == pytest.approx((1 / 3, 1 / 3, 2 / 3))
    assert (figures.recall_at_5, figures.recall_at_10) == pytest.approx((1 / 3, 0.5))
    assert figures.mrr == pytest.approx((1 + 1 / 7) / 3)
    assert (figures.p50_ms, figures.p50_without_embedding_ms) == (20.0, 16.0)


@pytest.mark.parametrize(
    ("path", "title", "name"),
    [
        ("jira-v3.json", "The Jira Cloud platform REST API", "jira"),
        ("v2.yaml", "Datadog API V2 Collection", "datadog-collection"),
        ("swagger.json", "Kubernetes", "kubernetes"),
        ("openapi.yaml", "", "api"),
    ],
)
def test_a_provider_is_called_after_its_file_or_its_title(path: str, title: str, name: str) -> None:
    """What every file is called says nothing."""
    assert provider_of(Path(path), title) == name
