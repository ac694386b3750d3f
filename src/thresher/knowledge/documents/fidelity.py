"""Tells the sentences of a model's text that stand in its sources from those that do not.

A sentence stands in a source where a whole sentence, list item, table row or line of it says the same in the same
words; a part of a sentence does not count, for "it is safe" stands inside of "nobody says that it is safe". White
space, case, emphasis, list marks and the shapes of quotes and dashes do not matter. Of a code block, every line has to
stand there.

Invariant: pure; one pass over each text. What cannot be told apart from an invention counts as one.
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
"""A citation behind the stop, which belongs to the sentence before it."""
_LEAD: Final = re.compile(r"^(?:\s|>|#{1,6}\s|[-*+•]\s|\d{1,3}[.)]\s|\|)+")
_ITEM: Final = re.compile(r"\s*\d{1,3}[.)]\s")
"""Its stop ends no sentence."""
_RULE: Final = re.compile(r"[\s|:=*_-]*")
_FENCED: Final = re.compile(r"^[ \t]*(```+|~~~+).*?(?:(^[ \t]*\1`*[ \t]*$)|\Z)", re.MULTILINE | re.DOTALL)
_SHAPES: Final = str.maketrans({"“": '"', "”": '"', "‘": "'", "’": "'", "–": "-", "—": "-", "\u00a0": " ", "…": "..."})  # noqa: RUF001 - shapes that differ between texts alone
_IGNORED: Final = re.compile(r"[*_`\\]|(?<=\|)\s+|(?<!\s)\s+(?=\|)")


@dataclass(frozen=True, slots=True)
class Unit:
    """A sentence, list item, table row or code block of a model's text.

    Attributes:
        lead: The white space before it.
        text: As the model wrote it, without what it says of its sources.
        source: Number of the source that it stands in, from 1; 0 where it stands in none.
        cited: Sources that the model names for it, of those that there are.
        says: Whether it says anything; a rule or an empty line does not.
    """

    lead: str
    text: str
    source: int = 0
    cited: tuple[int, ...] = ()
    says: bool = True

    @property
    def unsupported(self) -> bool:
        """Whether it says what stands in no source."""
        return self.says and not self.source


class Sources:
    """The texts that a model was given.

    Args:
        texts: In the order of their numbers.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self._count = len(texts)
        self._known: dict[str, int] = {}
        for number, text in enumerate(texts, 1):
            for sentence in _sentences_of(text):
                self._known.setdefault(sentence, number)

    def units(self, text: str) -> list[Unit]:
        """A model's text in units; joined, leads included, they are the text without its own marks."""
        return [self._judged(unit) for unit in _units(text)]

    def _judged(self, unit: Unit) -> Unit:
        if _FENCED.match(unit.text):
            return self._judged_code(unit)
        numbers = {int(one) for match in _CITED.finditer(unit.text) for one in re.findall(r"\d+", match[1])}
        text = _CITED.sub("", unit.text).rstrip()
        key = plain(text)
        cited = tuple(sorted(number for number in numbers if 0 < number <= self._count))
        return Unit(unit.lead, text, self._known.get(key, 0), cited, bool(key) and not _RULE.fullmatch(text))

    def _judged_code(self, unit: Unit) -> Unit:
        lines = [key for line in unit.text.split("\n")[1:-1] if (key := plain(line))]
        found = [self._known.get(key, 0) for key in lines]
        return Unit(unit.lead, unit.text, found[0] if found and all(found) else 0, (), bool(lines))


def plain(text: str) -> str:
    """What has to be equal for two sentences to say the same in the same words."""
    text = _CITED.sub("", text.translate(_SHAPES))
    said = _plain(_LEAD.sub("", text))
    return said or _plain(text)  # a number alone is no mark of a list


def _plain(text: str) -> str:
    return " ".join(_IGNORED.sub("", text).casefold().split()).strip(" .,:;!|")


def _sentences_of(source: str) -> Iterator[str]:
    """Sentences of paragraphs, whose lines may be broken anywhere, and of lines; and whole lines."""
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
        if spans and piece.price > LINE:  # a cut inside a sentence that is long
            spans[-1] = (spans[-1][0], piece.end)
        else:
            spans.append((piece.start if spans else 0, piece.end))
    return spans


def _units(text: str) -> Iterator[Unit]:
    text, place = text.strip("\n"), 0
    for match in _FENCED.finditer(text):
        yield from _prose(text[place : match.start()])
        code = match[0] if match[2] else f"{match[0].rstrip()}\n{match[1]}"
        yield Unit("\n" if place or match.start() else "", code)
        place = match.end()
    yield from _prose(text[place:])


def _prose(text: str) -> Iterator[Unit]:
    lead = ""
    for line in text.split("\n"):
        if line.strip():
            yield from _of_line(lead, line)
            lead = ""
        lead += "\n"


def _of_line(lead: str, line: str) -> Iterator[Unit]:
    if line.lstrip().startswith(("|", "#")):
        yield Unit(lead, line.rstrip())
        return
    line = _CITED_AFTER.sub(r"\2\1", line)
    for start, end in _spans(line):
        sentence = line[start:end]
        yield Unit(lead, sentence.rstrip())
        lead = sentence[len(sentence.rstrip()) :] or " "
