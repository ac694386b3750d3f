"""Which tools may be part of an answer: those found, core ones, and those that the message names.

Invariant: pure. Nothing outside the snapshot's enabled tools and the server filter is ever chosen, and no tool twice.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from typing import Final

from thresher.core import Why
from thresher.knowledge.tools.catalogue import NamedTool, ToolCatalogue
from thresher.knowledge.tools.models import LIMIT_CAP
from thresher.search import Hit

_CORE_NEED: Final = 0.25
_WRITTEN_NEED: Final = 0.9
"""How probably a core tool is needed at least, and one whose name the message contains."""


@dataclass(frozen=True, slots=True)
class ChosenTool:
    """A tool that may be part of an answer, and the names of its copies.

    Attributes:
        tool: The tool.
        score: The probability that it fits.
        need: The probability that it is needed.
        why: The reasons.
        also: Names of copies, which are left out.
        kept: Whether it is always part of the answer.
    """

    tool: NamedTool
    score: float
    need: float
    why: Why
    also: tuple[str, ...] = ()
    kept: bool = False


def choose(
    catalogue: ToolCatalogue,
    hits: Iterable[Hit],
    texts: Iterable[str],
    *,
    limit: int | None,
    scope: Collection[int] | None,
    core: bool,
) -> list[ChosenTool]:
    """Return the tools that may be part of the answer, best first, copies folded into the better one.

    Always part of it are core tools, and tools whose name the texts contain; they take places of a limit first.

    Args:
        catalogue: The snapshot.
        hits: What the search found, best first.
        texts: What was searched for.
        limit: The maximum number of tools, which only the ones that are always there may exceed; None for `LIMIT_CAP`.
        scope: The servers of the filter; None for all.
        core: Whether core tools are always part of the answer.
    """
    written = {
        number: tool
        for number, tool in catalogue.written_in(texts).items()
        if number in catalogue.by_id and (scope is None or tool.row.server_id in scope)
    }
    found: list[ChosenTool] = []
    places: dict[tuple[object, ...], list[int]] = {}
    seen: set[int] = set()
    for hit in hits:
        tool = catalogue.by_id.get(hit.id)
        if tool is None or (scope is not None and tool.row.server_id not in scope):
            continue
        by_name = hit.id in written
        if core and tool.row.core and hit.need < _CORE_NEED and not by_name:
            continue  # it comes with the other core tools
        seen.add(hit.id)
        need, kept = (max(hit.need, _WRITTEN_NEED), True) if by_name else (hit.need, core and tool.row.core)
        copies = copy_keys(tool, reads=catalogue.reads(tool))
        place = next((n for key in copies for n in places.get(key, ()) if is_copy(found[n].tool, tool)), None)
        if place is None:
            for key in copies:
                places.setdefault(key, []).append(len(found))
            own, why = tuple(term for term in hit.why.terms if term in catalogue.words.get(hit.id, ())), hit.why
            if own:
                why = replace(why, own_words=own)
            if asked := catalogue.questions.get(hit.id):
                questions = tuple(term for term in why.minor_terms if term in asked)
                minor = tuple(term for term in why.minor_terms if term not in asked)
                why = replace(why, minor_terms=minor, question_terms=questions)
            found.append(ChosenTool(tool, hit.score, need, why, kept=kept))
        else:
            best = found[place]
            also = (*best.also, tool.name)
            found[place] = replace(best, need=max(best.need, need), also=also, kept=best.kept or kept)
    named = [
        ChosenTool(tool, 0.0, _WRITTEN_NEED, Why("written"), kept=True)
        for number, tool in written.items()
        if number not in seen
    ]
    always = [
        ChosenTool(tool, 0.0, _CORE_NEED, Why("core"), kept=True)
        for tool in catalogue.core
        if core and not {tool.row.id} & {*seen, *written} and (scope is None or tool.row.server_id in scope)
    ]
    every = [*named, *found, *always]
    free = (LIMIT_CAP if limit is None else limit) - sum(one.kept for one in every)
    chosen: list[ChosenTool] = []
    for one in every:
        if one.kept or free > 0:
            chosen.append(one)
            free -= not one.kept
    return chosen[:LIMIT_CAP]


def fallback_hits(catalogue: ToolCatalogue, scope: Collection[int] | None, *, core: bool) -> list[Hit]:
    """Return the first enabled tools inside the server filter, core ones before others, as if they had been found."""
    tools = sorted(catalogue.inside(scope), key=lambda tool: not (core and tool.row.core))[:LIMIT_CAP]
    needs = (_CORE_NEED if core and tool.row.core else _CORE_NEED / (1 + place) for place, tool in enumerate(tools))
    return [Hit(tool.row.id, 0.0, Why("fallback"), need) for tool, need in zip(tools, needs, strict=True)]


def copy_keys(tool: NamedTool, *, reads: bool = False) -> tuple[tuple[object, ...], ...]:
    """Return what a tool may have in common with copies of it: the whole definition, or all but the name on its server.

    Args:
        tool: The tool.
        reads: Whether it may be called as one that only reads; copies that differ in this are kept apart.
    """
    row = tool.row
    return (row.name, row.digest, reads), (row.server_id, row.body or row.digest, reads)


def is_copy(tool: NamedTool, other: NamedTool) -> bool:
    """Return whether two tools with a key in common are one: of one server only if one's name ends with the other's.

    Tools without a description, or with the same one, may still do different things.
    """
    if tool.row.server_id != other.row.server_id or tool.row.id == other.row.id:
        return True
    short, long = sorted((tool.row.name, other.row.name), key=len)
    return " - " in tool.row.line and long.endswith(short) and long[-len(short) - 1 : -len(short)] in ("-", "_", ".")
