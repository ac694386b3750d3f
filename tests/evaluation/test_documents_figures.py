"""What an evaluation of documents reads, counts and compares with."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thresher.core import InvalidInput
from thresher.embedding import count_tokens
from thresher.evaluation.document_baselines import PlainBM25, best_chunks, head, head_and_tail, plain_chunks
from thresher.evaluation.document_figures import DocumentAnswer, TextSpan, cuts, judge, structure_of, summarise
from thresher.evaluation.documents import read_document_questions

TEXT = """# Pumps

The pump starts at noon. The valve opens later.

```sh
pump --start
pump --stop
```

| part | torque |
|---|---|
| bolt | 12 Nm |
| nut | 9 Nm |

<table><tr><th>part</th></tr><tr><td>seal</td></tr><tr><td>ring</td></tr></table>

The end.
"""


def span(piece: str) -> TextSpan:
    """The span of a piece in the text."""
    return TextSpan(TEXT.index(piece), TEXT.index(piece) + len(piece))


def test_questions_are_read_with_the_texts_that_they_ask_of(tmp_path: Path) -> None:
    """Offsets count characters, whatever the encoding takes."""
    (tmp_path / "a.md").write_text("Über uns: 7", encoding="utf-8")
    asked = tmp_path / "asked.jsonl"
    asked.write_text('\n{"document": "a.md", "question": "How many?", "spans": [{"start": 10, "end": 11}]}\n')

    questions, texts = read_document_questions(tmp_path, asked)

    assert [(one.document, one.question, one.spans, one.line) for one in questions] == [
        ("a.md", "How many?", (TextSpan(10, 11),), 2)
    ]
    assert texts["a.md"][10:11] == "7"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ({"document": "../a.md", "question": "q", "spans": [{"start": 0, "end": 1}]}, "leaves the corpus"),
        ({"document": "b.md", "question": "q", "spans": [{"start": 0, "end": 1}]}, "has no document 'b.md'"),
        ({"document": "a.md", "question": " ", "spans": [{"start": 0, "end": 1}]}, '"question" must be text'),
        ({"document": "a.md", "question": "q", "spans": "0-2"}, "a list of spans"),
        ({"document": "a.md", "question": "q", "spans": [{"start": 2, "end": 2}]}, "0 to 4"),
        ({"document": "a.md", "question": "q", "spans": [{"start": 0, "end": 5}]}, "0 to 4"),
        ({"document": "a.md", "question": "q", "spans": [{"start": True, "end": 2}]}, "0 to 4"),
        ({"document": "a.md", "question": "q", "spans": ["0-2"]}, "0 to 4"),
        ([], "not a JSON object"),
        ({"question": "q", "documents": "a.md"}, '"documents" must be a list'),
        ({"question": "q", "documents": [], "document": "a.md"}, "stand alone"),
        ({"question": "q", "documents": ["a.md"]}, '"document" must be a path'),
        ({"question": "q", "documents": [{"document": "a.md"}]}, 'either "spans" or "answers"'),
        ({"question": "q", "documents": [{"document": "a.md", "answers": ["text"]}]}, "two or more different ones"),
        ({"question": "q", "documents": [{"document": "a.md", "answers": ["other"]}]}, "does not contain 'other'"),
        ({"question": "q", "documents": [{"document": "a.md", "answers": [1]}]}, "a list of texts"),
        ({"question": " ", "documents": [{"document": "a.md", "answers": ["text"]}]}, '"question" must be text'),
    ],
)
def test_a_wrong_line_is_named(tmp_path: Path, line: object, said: str) -> None:
    """With its number, and what a line looks like."""
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    (corpus / "a.md").write_text("text")
    (tmp_path / "a.md").write_text("text")
    asked = tmp_path / "asked.jsonl"
    asked.write_text(json.dumps(line))

    with pytest.raises(InvalidInput, match="line 1") as error:
        read_document_questions(corpus, asked)

    assert said in error.value.message
    assert '"spans"' in error.value.hint


def test_a_folder_or_file_without_anything_is_refused(tmp_path: Path) -> None:
    """Before anything is indexed."""
    asked = tmp_path / "asked.jsonl"
    asked.write_text("\n\n")

    with pytest.raises(InvalidInput, match="holds no questions"):
        read_document_questions(tmp_path, asked)
    with pytest.raises(InvalidInput, match="is not a folder"):
        read_document_questions(tmp_path / "none", asked)


def test_a_question_without_spans_needs_no_document(tmp_path: Path) -> None:
    """But some question must have an answer, or there is nothing to index."""
    (tmp_path / "a.md").write_text("text")
    asked = tmp_path / "asked.jsonl"
    foreign = {"question": "how do I boil an egg"}
    asked.write_text(
        "\n".join(map(json.dumps, [{"document": "a.md", "question": "q", "spans": [{"start": 0, "end": 4}]}, foreign]))
    )

    questions, texts = read_document_questions(tmp_path, asked)

    assert [(one.document, len(one.spans)) for one in questions] == [("a.md", 1), ("", 0)]
    assert texts == {"a.md": "text"}
    asked.write_text(json.dumps(foreign))
    with pytest.raises(InvalidInput, match="no question that a document answers"):
        read_document_questions(tmp_path, asked)


def test_an_answer_with_the_span_in_it_retains_it() -> None:
    """What counts is the text in the content, not what the answer claims."""
    structure = structure_of(TEXT)
    gold = span("The pump starts at noon.")
    honest = DocumentAnswer("[line 3]\nThe pump starts at noon.", 9, (gold,), compressed=True)
    boasting = DocumentAnswer("[line 3]\nThe pump starts", 9, (gold,), compressed=True)

    judged = [judge(TEXT, structure, [gold], 10, one) for one in (honest, boasting)]

    assert [one.retained for one in judged] == [True, False]
    assert [one.span_recall for one in judged] == [1.0, 0.0]
    assert [one.verbatim for one in judged] == [1.0, 0.0]
    assert [one.fill for one in judged] == [0.9, 0.9]


def test_half_a_span_counts_half() -> None:
    """And a question is retained only when all of its spans are."""
    gold, other = span("The pump starts at noon."), span("The end.")
    answer = DocumentAnswer("The pump starts at noon.", 6, (gold,), compressed=True)

    judged = judge(TEXT, structure_of(TEXT), [gold, other], 10, answer)

    assert not judged.retained
    assert judged.span_recall == pytest.approx(24 / 32)


def test_one_token_over_the_budget_is_a_violation() -> None:
    """Every one is counted."""
    judged = [
        judge(TEXT, structure_of(TEXT), [span("The end.")], 10, DocumentAnswer("The end.", tokens, (), compressed=True))
        for tokens in (10, 11)
    ]

    assert summarise(judged).budget_violations == 1


@pytest.mark.parametrize(
    ("chosen", "fences", "tables"),
    [
        (["```sh\npump --start\npump --stop\n```\n"], 0, 0),
        (["```sh\npump --start\n"], 1, 0),
        (["| part | torque |\n|---|---|\n", "| nut | 9 Nm |\n"], 0, 0),
        (["| nut | 9 Nm |\n"], 0, 1),
        (["| part | torque |\n|---|---|\n| bolt | 12"], 0, 1),
        (["<table><tr><th>part</th></tr>", "<tr><td>ring</td></tr>"], 0, 0),
        (["<tr><td>ring</td></tr>"], 0, 1),
        (["The end."], 0, 0),
        ([TEXT], 0, 0),
    ],
)
def test_cut_fences_and_tables_are_found(chosen: list[str], fences: int, tables: int) -> None:
    """Rows with their header are whole, rows without it are not."""
    found = cuts(structure_of(TEXT), TEXT, [span(piece) for piece in chosen])

    assert (found.fences, found.tables) == (fences, tables)


def test_an_open_fence_reaches_to_the_end_and_hides_tables() -> None:
    """As a reader of Markdown sees it."""
    text = "~~~\n| a | b |\n|---|---|\n| 1 | 2 |\n"

    structure = structure_of(text)

    assert structure.fences == (TextSpan(0, len(text)),)
    assert structure.tables == ()


@given(st.text(max_size=3000), st.integers(min_value=0, max_value=200))
def test_plain_rules_keep_the_budget(text: str, budget: int) -> None:
    """On any text; the chunks hold all of it."""
    chunks = plain_chunks(text)
    scores = PlainBM25([text[one.start : one.end] for one in chunks]).scores("pump noon")
    ways = [head(text, budget), head_and_tail(text, budget), best_chunks(text, chunks, scores, budget)]

    assert "".join(text[one.start : one.end] for one in chunks) == text
    assert all(sum(count_tokens(text[one.start : one.end]) for one in way) <= budget for way in ways)


def test_bm25_finds_the_text_with_the_rare_words() -> None:
    """The word that few texts have says most."""
    plain = PlainBM25(["the pump and the valve", "the pump", "the torque of the pump"])

    scores = plain.scores("torque of the pump")

    assert max(range(3), key=scores.__getitem__) == 2
    assert plain.scores("nothing known") == [0.0, 0.0, 0.0]
