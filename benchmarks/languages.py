"""Documents in other languages: the page that a question means, the question in the page's language and in another.

The installation guide of Debian (GPL-2; package `installation-guide-amd64`) in four languages, page by page, and 26
questions of our own in each. `THRESHER_BENCH_GUIDE` names the folder with one folder for each language; without it, and
without the package, there is nothing to measure.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import tempfile
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from benchmarks import machine, product
from thresher.core import Caller
from thresher.knowledge.documents import origin_of
from thresher.services import Services

LANGUAGES = ("en", "de", "fr", "es")
QUESTIONS = Path(__file__).with_name("questions") / "languages.jsonl"
GUIDE = Path("/usr/share/doc/installation-guide-amd64")
DEPTH = 10
_PAGE = re.compile(r"(?:ch|ap)\w+s\d+\.html")


def guide() -> Path:
    """Where the translations of the guide are."""
    return Path(os.environ.get("THRESHER_BENCH_GUIDE") or GUIDE)


def questions() -> list[dict[str, str]]:
    """Each with the name of its page, and its text by language."""
    return [json.loads(line) for line in QUESTIONS.read_text(encoding="utf-8").splitlines()]


def copied(target: Path, languages: Sequence[str]) -> Path:
    """The pages of some languages as a folder to index, those of each in a folder of their own."""
    for language in languages:
        (target / language).mkdir(parents=True)
        for page in (guide() / language).glob("*.html"):
            if _PAGE.fullmatch(page.name):
                (target / language / page.name).write_bytes(page.read_bytes())
    return target


@asynccontextmanager
async def _tenant(services: Services) -> AsyncGenerator[Caller]:
    tenant = await services.database.tenant("bench-languages")
    try:
        yield Caller(tenant)
    finally:
        await asyncio.shield(services.database.drop_tenant(tenant))


async def _figures(services: Services, caller: Caller, asked: str, answered: str, by: str) -> Mapping[str, Any]:
    """Where the right page stands among the documents that are found; questions and pages have a language each."""
    places: list[int | None] = []
    refused = 0
    for row in questions():
        found = await services.documents.search_documents(caller, row[asked], "guide", search_type=by, limit=50)
        pages = list(dict.fromkeys(one.part.path for one in found.passages))[:DEPTH]
        refused += not pages
        right = f"{answered}/{row['page']}"
        places.append(pages.index(right) if right in pages else None)
    ranks = [1 / (place + 1) if place is not None else 0.0 for place in places]
    hits = {f"hit_at_{depth}": sum(one is not None and one < depth for one in places) for depth in (1, 3)}
    shares = {name: round(count / len(places), 3) for name, count in hits.items()}
    return {**shares, "mrr": round(sum(ranks) / len(ranks), 3), "refused": refused}


async def measured(services: Services) -> dict[str, Any]:
    """Figures of each language alone, of all in one repository, and across languages."""
    figures: dict[str, Any] = {"questions": len(questions()), "model": services.encoder.model.id}
    for name, languages in (*((one, (one,)) for one in LANGUAGES), ("mixed", LANGUAGES)):
        async with _tenant(services) as caller:
            with tempfile.TemporaryDirectory(prefix="thresher-guide-") as place:
                folder = copied(Path(place), languages)
                await services.documents.index_here(caller, "guide", origin_of(str(folder)))
            for by in ("text", "hybrid"):
                for asked in languages:
                    figures[f"{name} {asked} {by}"] = await _figures(services, caller, asked, asked, by)
            if name == "de":
                for asked in ("en", "fr"):
                    figures[f"de asked in {asked}"] = await _figures(services, caller, asked, "de", "hybrid")
    return figures


async def run() -> dict[str, Any]:
    """Measure, and save the figures."""
    if not guide().is_dir():
        print(f"languages: skipped, {guide()} is not there (Debian's package installation-guide-amd64)")
        return {}
    async with product.running(workers=0) as services:
        figures = await measured(services)
    print(json.dumps(figures, indent=1), flush=True)
    machine.save("languages", figures)
    return figures
