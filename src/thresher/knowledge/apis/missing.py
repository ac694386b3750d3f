"""Operations that real questions missed, as findings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from thresher.knowledge.apis.usage import MissedQuery
from thresher.openapi import Description, Finding, RuleHit, finding_of

RULE: Final = "missed-by-queries"
_SHOWN: Final = 5
_CLIP: Final = 120


def missed_findings(missed: Mapping[str, Sequence[MissedQuery]], description: Description) -> Iterator[Finding]:
    """A finding for each operation that people read though their queries had not shown it among the first.

    Args:
        missed: Key of the operation to its queries, the most frequent first.
        description: That the operations are of.
    """
    operations = {operation.key: operation for operation in description.operations}
    for key, queries in missed.items():
        operation = operations.get(key)
        if operation is None or not queries:
            continue
        count = sum(query.count for query in queries)
        message = f"{count} {'search' if count == 1 else 'searches'} did not show it among the first."
        evidence = "; ".join(_said(query) for query in queries[:_SHOWN])
        yield finding_of(description, RuleHit(RULE, operation.pointer, message, evidence, key))


def _said(query: MissedQuery) -> str:
    text = query.query if len(query.query) <= _CLIP else query.query[: _CLIP - 1] + "…"
    place = f"place {query.rank}" if query.rank else "not found"
    return f"{text!r} ({query.count}x, {place})"
