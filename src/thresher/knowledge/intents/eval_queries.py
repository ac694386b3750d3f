"""Reads `evals/eval_queries.json`: questions with the answer that they should get.

Invariant: never raises; what is no query is left out and counted.
"""

from __future__ import annotations

import json
from typing import Any, Final, cast

from thresher.knowledge.intents.models import EvalQuery

_MOST: Final = 2_000
_LONGEST: Final = 1_000


def queries_of(text: str) -> tuple[tuple[EvalQuery, ...], str]:
    """The distinct queries of a file's text, and what was left out (the end of a sentence; empty where nothing was)."""
    try:
        entries: Any = json.loads(text)
    except (ValueError, RecursionError):
        return (), "it is no JSON and was left out."
    if isinstance(entries, dict):
        entries = next(iter(value for value in cast("dict[str, Any]", entries).values() if _is_list(value)), None)
    listed = cast("list[Any]", entries) if _is_list(entries) else list[Any]()
    queries = dict.fromkeys(query for entry in listed[:_MOST] if (query := _query(entry)) is not None)
    left_out = len(listed) - len(queries)
    return tuple(queries), f"{left_out} of {len(listed)} entries were left out." if left_out else ""


def _is_list(value: Any) -> bool:
    return isinstance(value, list)


def _query(entry: Any) -> EvalQuery | None:
    if not isinstance(entry, dict):
        return None
    fields = cast("dict[str, Any]", entry)
    query, should = fields.get("query"), fields.get("should_trigger")
    if not isinstance(query, str) or not isinstance(should, bool):
        return None
    text = " ".join(query.replace("\0", "").encode("utf-8", "replace").decode().split())
    return EvalQuery(text, should) if 0 < len(text) <= _LONGEST else None
