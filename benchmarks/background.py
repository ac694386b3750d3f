"""Counts how common words are in the catalogue that is shipped: `python -m benchmarks.fits words`.

Writes the table that the search reads, `src/thresher/search/lexical/tool_words.txt`; to be run again when the
catalogue or the way texts become terms changes. The catalogue is the demo's own, never a benchmark's, so that no
yardstick leaks in.

Invariant: the same catalogue gives the same text.
"""

from __future__ import annotations

import textwrap
from collections import defaultdict
from collections.abc import Iterator

from thresher.demo.catalogue import Catalogue, read_catalogue
from thresher.knowledge.tools.definitions import enrich
from thresher.search.lexical.bm25 import TOOL_WORDS
from thresher.search.lexical.terms import terms

LEAST = 15
"""Tools in a thousand below which a word is not listed: its idf hardly changes."""
VENDORS = 3
"""Vendors that must use a word; others are names of products."""
_WIDTH = 120


def count(catalogue: Catalogue) -> dict[str, int]:
    """Term to how many tools in a thousand hold it, each vendor counting the same however many tools it has."""
    about = {vendor.server: vendor.description for vendor in catalogue.vendors}
    texts: defaultdict[str, list[set[str]]] = defaultdict(list)
    for tool in catalogue.tools:
        texts[tool.server].append(set(terms(enrich(tool, about.get(tool.server, "")).lexical)))
    shares: defaultdict[str, float] = defaultdict(float)
    users: defaultdict[str, set[str]] = defaultdict(set)
    for server, tools in texts.items():
        for term in (term for words in tools for term in words):
            shares[term] += 1000 / len(tools) / len(texts)
            users[term].add(server)
    return {term: round(share) for term, share in shares.items() if share >= LEAST and len(users[term]) >= VENDORS}


def table(catalogue: Catalogue) -> str:
    """The text of the file: commonest first."""
    vendors = len({tool.server for tool in catalogue.tools})
    return "\n".join(
        (
            f"# Stems in at least {LEAST} of a thousand tools, {VENDORS} vendors or more; counted by `python -m",
            f"# benchmarks.fits words` on the demo's catalogue, {len(catalogue.tools)} tools of {vendors} vendors.",
            *_lines(count(catalogue)),
            "",
        )
    )


def _lines(counts: dict[str, int]) -> Iterator[str]:
    by_share: defaultdict[int, list[str]] = defaultdict(list)
    for term in sorted(counts):
        by_share[counts[term]].append(term)
    for share in sorted(by_share, reverse=True):
        start = f"{share} "
        for line in textwrap.wrap(" ".join(by_share[share]), _WIDTH - len(start)):
            yield start + line


async def run() -> None:
    """Write the table."""
    TOOL_WORDS.write_text(table(read_catalogue()), encoding="utf-8")
