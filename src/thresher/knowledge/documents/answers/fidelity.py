"""Finds which sentences of a model's text are in its sources.

A sentence is in a source if a whole sentence, list item, table row or line of the source has the same words. A part of
a sentence does not count: "it is safe" is contained in "nobody says that it is safe". White space, case, emphasis,
list marks and the shapes of quotes and dashes are ignored. Of a code block, every line must be in the source.

Invariant: pure; one pass over each text. What cannot be distinguished from an invention counts as one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from thresher.knowledge.documents.sentences import LINE, pieces

_BLANK_LINES: Final = re.compile(r"\n\s*\n")
_CITED: Final = re.compile(r"(?<!\s)\s*\[~?\s*(\d{0,4}(?:\s*,\s*\d{1,4})*)\s*\]")
_CITED_AFTER: Final = re.compile(r"([.!?…。][\"'”’)]*)((?:\s*\[~?\s*\d[\d\s,]*\])+)")  # noqa: RUF001 - texts have these quotes
"""A citation after the full stop, which belongs to the sentence before it."""
_LEAD: Final = re.compile(r"^(?:\s|>|#{1,6}\s|[-*+•]\s|\d{1,3}[.)]\s|\|)+")
_ITEM: Final = re.compile(r"\s*\d{1,3}[.)]\s")
"""The full stop of a list number ends no sentence."""
_RULE: Final = re.compile(r"[\s|:=*_-]*")
_FENCED: Final = re.compile(r"^[ \t]*(```+|~~~+).*?(?:(^[ \t]*\1`*[ \t]*$)|\Z)", re.MULTILINE | re.DOTALL)
_SHAPES: Final = str.maketrans({"“": '"', "”": '"', "‘": "'", "’": "'", "–": "-", "—": "-", "\u00a0": " ", "…": "..."})  # noqa: RUF001 - shapes that differ between texts alone
_IGNORED: Final = re.compile(r"[*_`\\]|(?<=\|)\s+|(?<!\s)\s+(?=\|)")


@dataclass(frozen=True, slots=True)
class ModelSentence:
    """A sentence, list item, table row or code block of a model's text.

    Attributes:
        lead: The white space before it.
        text: The model's text without its citations.
        source: Number of the source that contains it, from 1; 0 for none.
        cited: Existing sources that the model cites for it.
        meaningful: Whether it has words; a rule or an empty line has none.
    """

    lead: str
    text: str
    source: int = 0
    cited: tuple[int, ...] = ()
    meaningful: bool = True

    @property
    def unsupported(self) -> bool:
        """Whether it has words that are in no source."""
        return self.meaningful and not self.source


class SourceTexts:
    """The texts that a model was given.

    Args:
        texts: The texts in the order of their numbers.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self._count = len(texts)
        self._known: dict[str, int] = {}
        for number, text in enumerate(texts, 1):
            for sentence in _sentences_of(text):
                self._known.setdefault(sentence, number)

    def units(self, text: str) -> list[ModelSentence]:
        """A model's text in units; joined with their leads, they are the text without its own citations."""
        return [self._judged(unit) for unit in _units(text)]

    def _judged(self, unit: ModelSentence) -> ModelSentence:
        if _FENCED.match(unit.text):
            return self._judged_code(unit)
        numbers = {int(one) for match in _CITED.finditer(unit.text) for one in re.findall(r"\d+", match[1])}
        text = _CITED.sub("", unit.text).rstrip()
        key = plain(text)
        cited = tuple(sorted(number for number in numbers if 0 < number <= self._count))
        return ModelSentence(unit.lead, text, self._known.get(key, 0), cited, bool(key) and not _RULE.fullmatch(text))

    def _judged_code(self, unit: ModelSentence) -> ModelSentence:
        lines = [key for line in unit.text.split("\n")[1:-1] if (key := plain(line))]
        found = [self._known.get(key, 0) for key in lines]
        return ModelSentence(unit.lead, unit.text, found[0] if found and all(found) else 0, (), bool(lines))


def plain(text: str) -> str:
    """The normalised form in which equal sentences are equal strings."""
    text = _CITED.sub("", text.translate(_SHAPES))
    return _plain(_LEAD.sub("", text)) or _plain(text)  # a number alone is not a list mark


def _plain(text: str) -> str:
    return " ".join(_IGNORED.sub("", text).casefold().split()).strip(" .,:;!|")


def _sentences_of(source: str) -> Iterator[str]:
    """Sentences of paragraphs, whose lines may be broken anywhere; sentences of lines; and whole lines."""
    for block in _BLANK_LINES.split(source):
        lines = block.split("\n")
        for stretch in (" ".join(line.strip() for line in lines), *lines):
            stretch = _CITED_AFTER.sub(r"\2\1", stretch)
            for sentence in (stretch, *(stretch[start:end] for start, end in _spans(stretch))):
                if key := plain(sentence):
                    yield key


def _spans(line: str) -> list[tuple[int, int]]:
    """Start and end of each sentence of a line."""
    spans: list[tuple[int, int]] = []
    item = _ITEM.match(line)
    for piece in pieces(line, item.end() if item else 0, len(line)):
        if spans and piece.price > LINE:  # a cut inside a long sentence
            spans[-1] = (spans[-1][0], piece.end)
        else:
            spans.append((piece.start if spans else 0, piece.end))
    return spans


def _units(text: str) -> Iterator[ModelSentence]:
    text, place = text.strip("\n"), 0
    for match in _FENCED.finditer(text):
        yield from _prose(text[place : match.start()])
        code = match[0] if match[2] else f"{match[0].rstrip()}\n{match[1]}"
        yield ModelSentence("\n" if place or match.start() else "", code)
        place = match.end()
    yield from _prose(text[place:])


def _prose(text: str) -> Iterator[ModelSentence]:
    lead = ""
    for line in text.split("\n"):
        if line.strip():
            yield from _of_line(lead, line)
            lead = ""
        lead += "\n"


def _of_line(lead: str, line: str) -> Iterator[ModelSentence]:
    if line.lstrip().startswith(("|", "#")):
        yield ModelSentence(lead, line.rstrip())
        return
    line = _CITED_AFTER.sub(r"\2\1", line)
    for start, end in _spans(line):
        sentence = line[start:end]
        yield ModelSentence(lead, sentence.rstrip())
        lead = sentence[len(sentence.rstrip()) :] or " "
