"""Decides which tools an answer holds: search hits without duplicates, core tools, all under the cap.

Invariant: pure; nothing outside the snapshot's enabled tools and the server filter is ever chosen.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from thresher.core import Why
from thresher.knowledge.tools.catalogue import Catalogue, NamedTool
from thresher.knowledge.tools.models import LIMIT_CAP
from thresher.search import Hit


@dataclass(frozen=True, slots=True)
class Choice:
    """One chosen tool: its score, its reasons, and the names of exact duplicates on other servers."""

    tool: NamedTool
    score: float
    why: Why
    also: tuple[str, ...] = ()


def choose(
    catalogue: Catalogue, hits: Sequence[Hit], *, scope: Collection[int] | None, limit: int, core: bool
) -> list[Choice]:
    """Pick at most `limit` tools.

    Core tools inside the server filter are always there (up to the cap of 10, even above `limit`) and take places
    from the hits; those that the search did not return stand last.
    """
    found = _without_duplicates(catalogue, hits, scope)
    always = [tool for tool in catalogue.core if scope is None or tool.row.server_id in scope] if core else []
    places = limit - len(always)
    kept: list[Choice] = []
    for choice in found:
        is_core = core and choice.tool.row.core
        if is_core or places > 0:
            kept.append(choice)
            places -= not is_core
    seen = {choice.tool.row.id for choice in kept}
    rest = [Choice(tool, 0.0, Why("core")) for tool in always if tool.row.id not in seen]
    return [*kept, *rest][:LIMIT_CAP]


def fall_back(catalogue: Catalogue, *, scope: Collection[int] | None, core: bool) -> list[Choice]:
    """The first enabled tools inside the server filter, core ones before the rest, up to the cap."""
    tools = catalogue.inside(scope)
    ordered = sorted(tools, key=lambda tool: not (core and tool.row.core))
    return [Choice(tool, 0.0, Why("fallback")) for tool in ordered[:LIMIT_CAP]]


def _without_duplicates(catalogue: Catalogue, hits: Iterable[Hit], scope: Collection[int] | None) -> list[Choice]:
    best: dict[tuple[str, bytes], Choice] = {}
    for hit in hits:
        tool = catalogue.by_id.get(hit.id)
        if tool is None or (scope is not None and tool.row.server_id not in scope):
            continue
        key = (tool.row.name, tool.row.digest)
        first = best.get(key)
        if first is None:
            best[key] = Choice(tool, hit.score, hit.why)
        else:
            best[key] = Choice(first.tool, first.score, first.why, (*first.also, tool.name))
    return list(best.values())
