"""Which repositories a question means: several indexed at once, each question with the one that answers it.

Two settings of the same texts and questions as the benchmark of passages: the four corpora as one repository each, and
the same cut into many - every article, conversation and chapter a repository of its own, so that neighbours speak of
nearly the same. Nothing fits where the corpus of a question is not indexed, nor small talk (CLINC150, out of scope).
"""

from __future__ import annotations

import asyncio
import json
import re
import tempfile
from collections import defaultdict
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks import data, machine, product
from benchmarks.documents import CORPORA, MANUAL, corpus_lines, folder, manual_lines
from thresher.core import Caller
from thresher.knowledge.documents import Passages, origin_of
from thresher.services import Services

FIFTY = 50
SMALL_TALK = 150
_ARTICLE = re.compile(r"^ = [^=;]+ = $", re.MULTILINE)
_CHAPTER = re.compile(r"^# <a id='s\d+' />\d+\. ", re.MULTILINE)
_CONVERSATION = re.compile(r"^(?=\[)", re.MULTILINE)
_CUTS: Mapping[str, re.Pattern[str]] = {
    "wikitexts.md": _ARTICLE,
    "chatlogs.md": _CONVERSATION,
    "state_of_the_union.md": re.compile(r"(?!)"),
    MANUAL: _CHAPTER,
}
_WORDS = re.compile(r"[A-Za-z0-9]+")


@dataclass(frozen=True)
class Piece:
    """A part of a corpus that is a repository."""

    name: str
    file: str
    start: int
    end: int


@dataclass(frozen=True)
class Asked:
    """A question, and where in the corpora its answer stands."""

    text: str
    file: str
    spans: tuple[tuple[int, int], ...]
    set: str


def texts() -> dict[str, str]:
    """The corpora by file."""
    places = [folder() / "chunking_evaluation" / f"{name}.md" for name in CORPORA] + [folder() / "pestpp" / MANUAL]
    return {place.name: place.read_bytes().decode() for place in places}


def questions() -> Iterator[Asked]:
    """All questions."""
    for name in CORPORA:
        for line in corpus_lines(name):
            yield Asked(line["question"], line["document"], _spans(line), name)
    for words in ("same", "other"):
        for line in manual_lines(words):
            yield Asked(line["question"], line["document"], _spans(line), f"pestpp_{words}_words")


def _spans(line: Mapping[str, Any]) -> tuple[tuple[int, int], ...]:
    return tuple((span["start"], span["end"]) for span in line["spans"])


def pieces(found: Mapping[str, str], *, cut: bool) -> list[Piece]:
    """The repositories: each corpus, or each article, conversation and chapter."""
    made: list[Piece] = []
    for file, text in found.items():
        starts = sorted({0, *(match.start() for match in _CUTS[file].finditer(text))}) if cut else [0]
        for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
            if part := text[start:end].strip():
                name = _name(file, part if len(starts) > 1 else "", {one.name for one in made})
                made.append(Piece(name, file, start, end))
    return made


def _name(file: str, text: str, taken: set[str]) -> str:
    """A name as people give them: of the title, or of the file where there is none."""
    titled = "" if text.startswith("[") else re.sub(r"<[^>]*>", "", text.partition("\n")[0])
    words = _WORDS.findall(titled.lower()) or _WORDS.findall(file.removesuffix(".md"))
    name = "-".join(words[:6])[:50]
    return next(one for one in (name, *(f"{name}-{number}" for number in range(2, 99))) if one not in taken)


@asynccontextmanager
async def indexed(
    services: Services, name: str, found: Mapping[str, str], parts: Sequence[Piece]
) -> AsyncGenerator[Caller]:
    """A tenant of its own in which each piece is a repository."""
    tenant = await services.database.tenant(f"bench-{name}")
    caller = replace(services.caller, tenant=tenant)
    try:
        with tempfile.TemporaryDirectory(prefix="thresher-pieces-") as place:
            for part in parts:
                await _index(
                    services, caller, Path(place), part.name, part.file, found[part.file][part.start : part.end]
                )
        yield caller
    finally:
        await asyncio.shield(services.database.drop_tenant(tenant))


async def _index(services: Services, caller: Caller, place: Path, name: str, file: str, text: str) -> None:
    source = place / name
    source.mkdir()
    (source / file).write_bytes(text.encode())
    await services.documents.index_here(caller, name, origin_of(str(source)))


def _golds(asked: Asked, parts: Sequence[Piece]) -> set[str]:
    """The repositories that hold a part of the answer."""
    return {
        part.name
        for part in parts
        if part.file == asked.file and any(start < part.end and end > part.start for start, end in asked.spans)
    }


def _holds(found: Passages, asked: Asked, parts: Mapping[str, Piece]) -> bool:
    """Whether one of the passages holds some of the answer."""
    for one in found.passages:
        piece = parts[one.repository]
        first, last = piece.start + one.part.start, piece.start + one.part.end
        if piece.file == asked.file and any(start < last and end > first for start, end in asked.spans):
            return True
    return False


async def _asked(services: Services, caller: Caller, asked: Asked, parts: Sequence[Piece]) -> dict[str, float]:
    """What is known of one question."""
    golds, by_name = _golds(asked, parts), {part.name: part for part in parts}
    found = await services.documents.search_documents(caller, asked.text)
    chosen = [one.name for one in found.repositories]
    told = sorted(golds)[0]
    one = await services.documents.search_documents(caller, asked.text, told)
    return {
        "gold_chosen": golds <= set(chosen),
        "gold_first": bool(golds & set(chosen[:1])),
        "chosen": len(chosen),
        "gold_passage_in_8": _holds(found, asked, by_name),
        "gold_passage_in_8_of_its_repository": _holds(one, asked, by_name),
    }


def _means(rows: Sequence[Mapping[str, float]]) -> dict[str, float]:
    return {name: round(sum(row[name] for row in rows) / len(rows), 4) for name in rows[0]}


async def _choices(services: Services, caller: Caller, parts: Sequence[Piece]) -> dict[str, Any]:
    """The figures over all questions, and by set."""
    rows: defaultdict[str, list[dict[str, float]]] = defaultdict(list)
    for asked in questions():
        rows[asked.set].append(await _asked(services, caller, asked, parts))
    every = [row for found in rows.values() for row in found]
    sets = {name: {"questions": len(found)} | _means(found) for name, found in rows.items()}
    return {"repositories": len(parts), "questions": len(every)} | _means(every) | {"sets": sets}


async def _refused(services: Services, caller: Caller, texts: Sequence[str]) -> float:
    """The share of texts for which no repository is chosen."""
    found = [await services.documents.search_documents(caller, text) for text in texts]
    return round(sum(not one.repositories for one in found) / len(found), 4)


def _small_talk() -> list[str]:
    """Messages that no document answers."""
    path = data.folder().parent / "intents" / "clinc150" / "data_full.json"
    return [text for text, _ in json.loads(path.read_text(encoding="utf-8"))["oos_test"][:SMALL_TALK]]


async def _foreign(services: Services, found: Mapping[str, str], parts: Sequence[Piece]) -> dict[str, float]:
    """Of each corpus the share of questions refused where only the others are indexed."""
    refused: dict[str, float] = {}
    for part in parts:
        theirs = [one.text for one in questions() if one.file == part.file]
        async with indexed(services, f"without-{part.name}", found, [one for one in parts if one != part]) as caller:
            refused[part.name] = await _refused(services, caller, theirs)
    return refused


async def _times(services: Services, caller: Caller, parts: Sequence[Piece]) -> dict[str, Any]:
    """Milliseconds besides the embedding, of a choice among fifty and of the one that is named, in turn."""
    with tempfile.TemporaryDirectory(prefix="thresher-notes-") as place:
        for number in range(FIFTY - len(parts)):
            text = f"# Note {number}\n\nTown {number} has a mayor, a mill and a market on day {number} of the month.\n"
            await _index(services, caller, Path(place), f"note-{number}", "note.md", text)
    spent: defaultdict[str, list[float]] = defaultdict(list)
    for asked in questions():
        told = sorted(_golds(asked, parts))[0]
        for name, repository in (("chosen", None), ("named", told)):
            found = await services.documents.search_documents(caller, asked.text, repository)
            spent[name].append(found.timings["total"] - found.timings["embedding"])
    repositories = await services.documents.list_repositories(caller)
    p50 = {f"{name}_p50_ms": round(median(values), 2) for name, values in spent.items()}
    ratio = round(p50["chosen_p50_ms"] / p50["named_p50_ms"], 2)
    return (
        {"repositories": len(repositories), "chunks": sum(one.chunks for one in repositories)} | p50 | {"ratio": ratio}
    )


async def run() -> dict[str, Any]:
    """Measure and save."""
    found = texts()
    whole, cut = pieces(found, cut=False), pieces(found, cut=True)
    figures: dict[str, Any] = {}
    async with product.running(workers=0) as services:
        async with indexed(services, "corpora", found, whole) as caller:
            figures["corpora"] = await _choices(services, caller, whole)
            figures["small_talk_refused"] = {"corpora": await _refused(services, caller, _small_talk())}
        async with indexed(services, "parts", found, cut) as caller:
            figures["parts"] = await _choices(services, caller, cut)
            figures["small_talk_refused"]["parts"] = await _refused(services, caller, _small_talk())
            figures["fifty"] = await _times(services, caller, cut)
        figures["foreign_refused"] = await _foreign(services, found, whole)
    print(json.dumps(figures, indent=1), flush=True)
    machine.save("repositories", figures)
    return figures
