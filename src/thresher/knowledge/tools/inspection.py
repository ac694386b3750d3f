"""A request for tools, and why each tool is in its answer or is not, from what search, choice and answer leave behind.

Invariant: pure; nothing is decided here. A tool that the caller may not see is unknown.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from thresher.core import Why, did_you_mean
from thresher.knowledge.tools.catalogue import NamedTool, ToolCatalogue
from thresher.knowledge.tools.choice import ChosenTool
from thresher.knowledge.tools.composition import Answer, Candidate
from thresher.knowledge.tools.models import LIMIT_CAP, FoundTool, RankedTool, ToolFate, ToolInspection
from thresher.knowledge.tools.trust import POISONED, REJECTED
from thresher.search import Inspection, RankedItem, SearchResult


@dataclass(frozen=True, slots=True)
class ToolQuery:
    """What to search for.

    Attributes:
        texts: The caller's own queries, or the message alone.
        split: Whether a text may contain several tasks (a message may, a query does not).
        budget: The most tokens of the answer's text.
        limit: The most tools; None for as many as the budget holds.
        threshold: A calibrated probability, or None for the fitted one.
        message: The message for which the caller wrote the queries: it adds context. Empty if unknown.
        inspection: Which tools the answer names in `ranked`; None for none.
    """

    texts: tuple[str, ...]
    split: bool
    budget: int
    limit: int | None = None
    threshold: float | None = None
    message: str = ""
    inspection: ToolInspection | None = None


@dataclass(frozen=True, slots=True)
class InspectedSearch:
    """A search for tools, as far as it decides about single ones.

    Attributes:
        question: The request.
        catalogue: All tools that the caller sees.
        within: The snapshot after the filter of categories.
        scope: The servers of the filter; None for all.
        search: What was found, or why nothing was searched.
        need: The least probability with which a tool is needed.
    """

    question: ToolQuery
    catalogue: ToolCatalogue
    within: ToolCatalogue
    scope: Collection[int] | None
    search: SearchResult | str
    need: float


def expected_tools(catalogue: ToolCatalogue, inspection: ToolInspection | None) -> dict[str, NamedTool | None]:
    """Return the tools that are expected, by the names that they were asked for; None for one that does not exist."""
    by_key = {f"{tool.row.server}/{tool.row.name}": tool for tool in (*catalogue.tools, *catalogue.held.values())}

    def named(name: str) -> NamedTool | None:
        exposed = catalogue.aliases.get(name, name)
        return catalogue.by_name.get(exposed) or catalogue.held.get(exposed) or by_key.get(name)

    return {name: named(name) for name in dict.fromkeys(inspection.expected if inspection is not None else ())}


def inspected_items(catalogue: ToolCatalogue, inspection: ToolInspection | None) -> Inspection | None:
    """Return what the search for tools names besides its hits."""
    if inspection is None:
        return None
    known = expected_tools(catalogue, inspection).values()
    return Inspection(inspection.limit, frozenset(tool.row.id for tool in known if tool is not None))


def ranked_tools(
    request: InspectedSearch,
    inspection: ToolInspection,
    chosen: Sequence[ChosenTool],
    candidates: Sequence[Candidate],
    answer: Answer,
    given: Sequence[FoundTool],
    held: Sequence[str],
) -> tuple[RankedTool, ...]:
    """Return the tools of an answer and the others that are inspected, each with what became of it.

    Args:
        request: What was searched.
        inspection: Which tools are named besides those in the answer.
        chosen: What might be part of the answer, best first.
        candidates: The same, as they could be written.
        answer: The composed answer.
        given: Its tools.
        held: Names of held tools that fit.
    """
    catalogue = request.catalogue
    expected = expected_tools(catalogue, inspection)
    wanted = {tool.row.id for tool in expected.values() if tool is not None}
    items = {item.hit.id: item for item in (() if isinstance(request.search, str) else request.search.ranked)}
    forms = {tool.name: tool for tool in given}
    fates: dict[int, tuple[ToolFate, str, int]] = {}
    best: dict[int, ChosenTool] = {}
    for place, (one, candidate) in enumerate(zip(chosen, candidates, strict=True)):
        number, tokens = one.tool.row.id, candidate.line.full_tokens
        best[number] = one
        if (found := forms.get(one.tool.name)) is not None:
            fates[number] = "given", "in full" if found.form == "full" else "by name", found.tokens
        elif place in answer.crowded_out:
            fates[number] = "budget", f"no room was left in {request.question.budget:,} tokens", tokens
        else:
            fates[number] = "floor", f"brings too little for {tokens} tokens (needed with p={one.need:.3f})", tokens
    copies = {name: one.tool.name for one in chosen for name in one.also}

    def shown(tool: NamedTool) -> RankedTool:
        number, item, one = tool.row.id, items.get(tool.row.id), best.get(tool.row.id)
        fate, reason, tokens = fates.get(number) or _fate(request, tool, item, copies, held)
        hit = None if item is None else item.hit
        why = one.why if one is not None else hit.why if hit is not None else Why("none")
        return RankedTool(
            name=tool.name,
            server=tool.row.server,
            rank=None if item is None else item.rank,
            score=one.score if one is not None else hit.score if hit is not None else 0.0,
            need=one.need if one is not None else hit.need if hit is not None else 0.0,
            why=why,
            standing=0.0 if hit is None else hit.standing,
            fate=fate,
            reason=reason,
            form=forms[tool.name].form if tool.name in forms else None,
            tokens=tokens or catalogue.line_of(tool).full_tokens,
            copy_of=copies.get(tool.name, "") if fate == "copy" else "",
            expected=number in wanted,
        )

    found = [one.tool for one in chosen]
    found += [catalogue.by_id[number] for number in items if number in catalogue.by_id]
    found += [catalogue.held[name] for name in held if name in catalogue.held]
    found += [tool for tool in expected.values() if tool is not None]
    ranked = [shown(tool) for tool in {tool.row.id: tool for tool in found}.values()]
    ranked.sort(key=lambda tool: (tool.rank is None, tool.rank or 0, -tool.need))
    others = [tool.name for tool in ranked if tool.fate != "given"]
    left_out = frozenset(others[inspection.limit :])
    unknown = [_unknown(catalogue, name) for name, tool in expected.items() if tool is None]
    return (*(tool for tool in ranked if tool.expected or tool.name not in left_out), *unknown)


def _fate(
    request: InspectedSearch,
    tool: NamedTool,
    item: RankedItem | None,
    copies: Mapping[str, str],
    held: Sequence[str],
) -> tuple[ToolFate, str, int]:
    """What became of a tool that might not be part of the answer."""
    row, search = tool.row, request.search
    if row.held:
        why = {REJECTED: "was rejected", POISONED: "looks poisoned"}.get(row.held, "its definition has changed")
        fits = "fits, and is " if tool.name in held else ""
        return "held", f"{fits}held back until a person approves: {why}", 0
    if not row.enabled:
        return "disabled", f"disabled, or its server '{row.server}' is", 0
    if request.scope is not None and row.server_id not in request.scope:
        return "server", f"its server '{row.server}' is not among those that are searched", 0
    if row.id not in request.within.by_id:
        return "category", "not of the categories that are searched", 0
    if tool.name in copies:
        return "copy", f"a copy of {copies[tool.name]}, which stands for it", 0
    if isinstance(search, str):
        return "off", search, 0
    if item is None:
        return "unindexed", "not indexed yet", 0
    return _dropped(request, search, item)


def _dropped(request: InspectedSearch, search: SearchResult, item: RankedItem) -> tuple[ToolFate, str, int]:
    """Why the search did not return a tool that it ranked."""
    hit = item.hit
    match item.dropped:
        case "abstained":
            return (
                "abstained",
                f"nothing fits: the best tool with p={search.probability:.2f} of at least {search.threshold:.2f}",
                0,
            )
        case "threshold":
            return "threshold", f"fits too improbably: p={hit.score:.2f} of at least {search.threshold:.2f}", 0
        case "need":
            return "need", f"needed too improbably: p={hit.need:.4f} of at least {request.need:.4f}", 0
        case "candidates":
            places = ((hit.why.dense.rank, "by meaning"), (hit.why.lexical.rank, "by words"))
            ranks = " and ".join(f"{rank:,}. {arm}" for rank, arm in places if rank is not None)
            return (
                "candidates",
                f"only {ranks}; the best hundred of each are compared" if ranks else "no word in common",
                0,
            )
        case _:
            return "limit", f"beyond the limit of {request.question.limit or LIMIT_CAP} tools", 0


def _unknown(catalogue: ToolCatalogue, name: str) -> RankedTool:
    near = did_you_mean(catalogue.near(name))
    reason = f"there is no such tool. {near}".rstrip()
    return RankedTool(name, "", None, 0.0, 0.0, Why("none"), 0.0, "unknown", reason, expected=True)
