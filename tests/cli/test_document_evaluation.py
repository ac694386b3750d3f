"""`thresher eval documents` from files to figures."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.conftest import Command

TEXT = (
    "# House\n\n## Keys\n\nThe key of the cellar hangs behind the clock.\n\n## Bins\n\n"
    + "Bins go out on Friday. " * 60
)
KEYS = {
    "full_retention", "span_recall", "budget_violations", "fill", "verbatim_rate", "cut_tables", "cut_fences",
    "unsupported_sentences", "p50_ms", "p95_ms", "warm_p50_ms", "warm_p95_ms", "questions", "baselines", "budget",
    "mode", "document_chosen", "index_seconds", "foreign_refused", "answerable_lost",
    "documents_covered", "comparisons_complete", "covered_by_chunks",
}  # fmt: skip


def written(folder: Path, start: int = TEXT.index("The key")) -> tuple[str, ...]:
    """The arguments for a corpus of one document and one question."""
    corpus = folder / "corpus"
    corpus.mkdir(exist_ok=True)
    (corpus / "house.md").write_text(TEXT)
    asked = {"document": "house.md", "question": "Where is the key?", "spans": [{"start": start, "end": start + 45}]}
    (folder / "questions.jsonl").write_text(json.dumps(asked))
    return ("eval", "documents", "--corpus", str(corpus), "--questions", str(folder / "questions.jsonl"))


def test_documents_are_measured_beside_plain_rules(command: Command, tmp_path: Path) -> None:
    """Every figure is there, and the table names the rules."""
    arguments = (*written(tmp_path), "--budget", "120")
    before = [one["id"] for one in command("docs", "list", "--json").json]
    figures = command(*arguments, "--json").json
    shown = command(*arguments).out

    assert set(figures) == KEYS
    assert (figures["full_retention"], figures["budget_violations"], figures["verbatim_rate"]) == (1.0, 0, 1.0)
    assert set(figures["baselines"]) == {"head", "head_tail", "bm25_chunks", "vector_chunks"}
    assert "bm25_chunks" in shown
    assert "1 questions, 120 tokens, extractive" in shown
    assert [one["id"] for one in command("docs", "list", "--json").json] == before


def test_a_wrong_span_is_named(command: Command, tmp_path: Path) -> None:
    """With file and line, before anything is indexed."""
    failed = command(*written(tmp_path, start=len(TEXT)))

    assert failed.code == 2
    assert "line 1" in failed.err
    assert "must lie inside the document" in failed.err
