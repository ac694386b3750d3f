"""Reads the corpus and the questions of an evaluation of documents.

Invariant: a wrong file or span is refused with the line that is wrong, before anything is indexed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from thresher.core import InvalidInput
from thresher.evaluation.lines import read_objects, read_text, wrong

_HINT = (
    'Lines are {"document": path, "question": text, "spans": [{"start": 0, "end": 10}, ...]}, offsets in characters.'
)


@dataclass(frozen=True, slots=True)
class Span:
    """Characters of a document: first, and the one after the last."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class DocumentQuestion:
    """One line of a file of questions.

    Attributes:
        document: Path of the document inside the corpus, with `/`.
        question: What is asked.
        spans: What answers it; at least one, none empty.
        line: Where it stands in its file, from 1.
    """

    document: str
    question: str
    spans: tuple[Span, ...]
    line: int


def read_document_questions(corpus: Path, path: Path) -> tuple[list[DocumentQuestion], Mapping[str, str]]:
    """Read questions, and the texts that they are about.

    Args:
        corpus: The folder of the documents.
        path: The questions, JSON lines.

    Returns:
        The questions, and the text of each document that one of them names.

    Raises:
        InvalidInput: A file cannot be read, leaves the folder, or a line is wrong.
    """
    if not corpus.is_dir():
        raise InvalidInput(f"{corpus} is no folder.", hint="Give the folder that holds the documents.")
    questions: list[DocumentQuestion] = []
    texts: dict[str, str] = {}
    for number, fields in read_objects(path, _HINT):
        name = _document(corpus, path, number, fields)
        if name not in texts:
            texts[name] = read_text(corpus / name)
        questions.append(DocumentQuestion(name, *_asked(path, number, fields, texts[name]), number))
    if not questions:
        raise InvalidInput(f"{path} holds no questions.", hint=_HINT)
    return questions, texts


def _document(corpus: Path, path: Path, number: int, fields: Mapping[str, Any]) -> str:
    name = fields.get("document")
    if not isinstance(name, str) or not name.strip():
        raise wrong(path, number, '"document" must be a path inside the corpus', _HINT)
    target = (corpus / name).resolve()
    if not target.is_relative_to(corpus.resolve()):
        raise wrong(path, number, f"{name!r} leaves the corpus", _HINT)
    if not target.is_file():
        raise wrong(path, number, f"the corpus has no document {name!r}", _HINT)
    return Path(name).as_posix()


def _asked(path: Path, number: int, fields: Mapping[str, Any], text: str) -> tuple[str, tuple[Span, ...]]:
    question, spans = fields.get("question"), fields.get("spans")
    if not isinstance(question, str) or not question.strip():
        raise wrong(path, number, '"question" must be text', _HINT)
    if not isinstance(spans, list) or not spans:
        raise wrong(path, number, '"spans" must be a list with at least one span', _HINT)
    return question, tuple(_span(path, number, span, len(text)) for span in cast("list[Any]", spans))


def _span(path: Path, number: int, span: Any, length: int) -> Span:
    fields = cast("Mapping[str, Any]", span) if isinstance(span, Mapping) else dict[str, Any]()
    start, end = fields.get("start"), fields.get("end")
    if not (type(start) is int and type(end) is int and 0 <= start < end <= length):
        raise wrong(path, number, f"a span must lie inside the document (0 to {length}) and not be empty", _HINT)
    return Span(start, end)
