"""Entries to search, and a check that the tables agree."""

from __future__ import annotations

import random

from thresher.core import Tenant
from thresher.search import Entry
from thresher.search.queries import run
from thresher.store import Database

# A text is easier to read than fifty quoted words.
WORDS = """create delete list fetch send convert translate branch commit issue mail page image file table time zone city
weather currency price order ticket user group token index search report chart video song route map""".split()  # noqa: SIM905


def entry(number: int, text: str, **more: object) -> Entry:
    """An entry with one text, which also gives its words."""
    return Entry(number, (text,), fields={"text": text}, **more)  # type: ignore[arg-type]


def random_text(chance: random.Random, words: int = 6) -> str:
    """Some words, repeats allowed."""
    return " ".join(chance.choices(WORDS, k=words))


def random_entries(count: int, *, seed: int = 0, first: int = 1) -> list[Entry]:
    """Entries with random words."""
    chance = random.Random(seed)
    return [entry(first + place, random_text(chance)) for place in range(count)]


async def disagreements(database: Database, tenant: Tenant, kind: str) -> list[str]:
    """The differences of term statistics, totals, postings and vectors from a recount of the items."""
    checks = {
        "documents": """
            SELECT term FROM (SELECT unnest(terms) AS term FROM item WHERE kind = %(kind)s) t GROUP BY term
            EXCEPT SELECT term FROM term_stat WHERE kind = %(kind)s""",
        "counts": """
            SELECT s.term FROM term_stat s WHERE s.kind = %(kind)s AND s.documents IS DISTINCT FROM
              (SELECT count(*) FROM item i WHERE i.kind = s.kind AND s.term = ANY (i.terms))""",
        "postings": """
            SELECT id, unnest(terms) FROM item WHERE kind = %(kind)s
            EXCEPT SELECT id, term FROM posting WHERE kind = %(kind)s""",
        "orphans": """
            SELECT id, term FROM posting WHERE kind = %(kind)s
            EXCEPT SELECT id, unnest(terms) FROM item WHERE kind = %(kind)s""",
        "lengths": """
            SELECT i.id FROM item i WHERE i.kind = %(kind)s AND abs(i.length - coalesce(
              (SELECT sum(p.frequency) FROM posting p WHERE p.kind = i.kind AND p.id = i.id), 0)) > 1e-3""",
        "totals": """
            SELECT 1 FROM collection c WHERE c.kind = %(kind)s AND (
              c.items <> (SELECT count(*) FROM item i WHERE i.kind = c.kind)
              OR abs(c.total_length - (SELECT coalesce(sum(i.length), 0) FROM item i WHERE i.kind = c.kind)) > 1e-3)""",
    }
    async with database.transaction(tenant) as connection:
        return [name for name, check in checks.items() if await run(connection, check, {"kind": kind})]
