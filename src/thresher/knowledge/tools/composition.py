"""The answer of `find_tools` as a model reads it: what stands there in full and what by name, inside a token budget.

A full line has the signature, so the tool can be called at once, and says what the tool does: in a sentence, or in a
few words where tokens are scarce. A name with the same words costs about half of that, but a model has to ask for the
schema first. Which form a tool gets follows from the probability that it is needed and the tokens of each form; the
answer stops where the next token would bring too little. Rivals, tools of one server that a message could both mean,
get their signatures one after the other, so that a model takes none of them just because it could be called at once.

Part of an answer may be the tools that were found, core ones, and those that the message names.

Invariant: pure. Nothing outside the snapshot's enabled tools and the server filter is ever chosen, and no tool twice.
The text exceeds its budget only if the notes alone do; other people's text stays on its line.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, NamedTuple, TypeAlias

from thresher.core import Why
from thresher.embedding import count_tokens
from thresher.knowledge.tools.catalogue import NamedTool, ToolCatalogue
from thresher.knowledge.tools.definitions import ToolLine
from thresher.knowledge.tools.models import LIMIT_CAP, Form
from thresher.search import Hit


@dataclass(frozen=True, slots=True)
class Worth:
    """What the forms of a tool are worth. `python -m benchmarks.fits tools` tries others.

    Attributes:
        name: What a tool is worth by name alone.
        signature: What its signature adds.
        bare_signature: What that of a tool without parameters adds, which can be called by its name.
        summary: What a sentence adds.
        rival: Tools of a server are rivals if they are needed this probably at least, as a share of its best one's
            probability.
        rivals: The most tools of a server that are rivals.
        floor: The gain in probability below which no token is spent, even if the budget has some left.
    """

    name: float = 0.86
    signature: float = 0.07
    bare_signature: float = 0.03
    summary: float = 0.015
    rival: float = 0.1
    rivals: int = 5
    floor: float = 0.0003


WORTH: Final = Worth()
"""In force: `docs/decisions/0070-rivals.md`."""
HEADING: Final = "More, as prefix_{name (gist)}; schemas: describe_tools:"
_ALSO: Final = 3
"""Other names of a tool that stand beside it; of more the number does."""
_NOTES: Final = 2
"""Notes may take one part in so many of a budget; of those that exceed it the last are left out."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A tool that may be part of an answer.

    Attributes:
        line: How it is written.
        need: The probability, 0 to 1, that it is needed.
        write: Whether it may change something.
        also: Other names for it.
        kept: Whether it is part of the answer, however improbable, as long as there is room.
    """

    line: ToolLine
    need: float
    write: bool
    also: tuple[str, ...] = ()
    kept: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """What a model reads.

    Attributes:
        text: The answer.
        forms: The form of each candidate in it; one without is left out.
        crowded_out: Candidates without a form that are worth their tokens, and found no room.
    """

    text: str
    forms: Mapping[int, Form]
    crowded_out: frozenset[int] = frozenset()


def compose(candidates: Sequence[Candidate], notes: Sequence[str], budget: int, *, worth: Worth = WORTH) -> Answer:
    """Write an answer.

    Args:
        candidates: The tools, best first.
        notes: What stands above them, a line each, the most important one first.
        budget: The most tokens of the text.
        worth: What the forms are worth.
    """
    floor = worth.floor
    notes = list(notes)
    while len(notes) > 1 and count_tokens("\n".join(notes)) > budget // _NOTES:
        notes.pop()
    room = budget - (count_tokens("\n".join(notes)) + 1 if notes else 0)
    least = room - count_tokens(f"{HEADING}\n")
    in_full = _chosen(_steps(candidates, worth, named=False), room, floor)
    by_name = _chosen(_steps(candidates, worth, named=True), least, floor)
    steps, passed = max(
        in_full, by_name, key=lambda one: sum(step.kept + step.gain - floor * step.cost for step in one[0])
    )
    while True:
        forms: dict[int, _Shape] = {step.candidate: step.form for step in steps}
        text = "\n".join([*notes, *_written(candidates, forms)])
        over = count_tokens(text) - budget
        if not steps or over <= 0:
            written: dict[int, Form] = {place: "name" if form == "name" else "full" for place, form in forms.items()}
            return Answer(text, written, frozenset(passed - forms.keys()))
        while steps and over > 0:
            passed.add((step := steps.pop()).candidate)
            over -= max(int(step.cost), 1)


_Shape: TypeAlias = Literal["name", "short", "full"]


class _Step(NamedTuple):
    """Writing a candidate, or writing it at more length.

    Attributes:
        kept: Whether it is taken before all others.
        rate: The gain per token.
        candidate: Its place.
        form: Its form afterwards.
        gain: The probability that the step adds.
        cost: The tokens that it adds.
    """

    kept: bool
    rate: float
    candidate: int
    form: _Shape
    gain: float
    cost: float


def _steps(candidates: Sequence[Candidate], worth: Worth, *, named: bool) -> list[_Step]:
    """The steps that are worth a thought, by their rates; the later one of a candidate never has the higher rate."""
    opened: set[str] = set()
    steps: dict[tuple[int, _Shape], _Step] = {}
    for place, candidate in enumerate(candidates):
        line = candidate.line
        also = count_tokens(_also(candidate)) if candidate.also else 0
        short, full = line.short_tokens + also, line.full_tokens + also
        brief = line.brief_tokens + (0 if line.prefix in opened else line.prefix_tokens)
        signature = worth.bare_signature if line.full.startswith("()") else worth.signature
        if by_name := named and brief < short:
            opened.add(line.prefix)
            ways: list[tuple[_Shape, float, float]] = [("name", worth.name, brief), ("short", signature, short - brief)]
        else:
            ways = [("short", worth.name + signature, short)]
        if full > short:
            ways.append(("full", worth.summary, full - short))
        for form, value, cost in _in_falling_rates(ways):
            kept = candidate.kept and (form == "name" or not by_name)
            gain = value * candidate.need
            steps[place, form] = _Step(kept, gain / cost, place, form, gain, cost)
    _join_rivals(candidates, steps, worth)
    return sorted(steps.values(), key=lambda step: (not step.kept, -step.rate))


def _in_falling_rates(ways: Sequence[tuple[_Shape, float, float]]) -> list[tuple[_Shape, float, float]]:
    """The steps from form to form with what each adds and costs, a better buy than the last one joined with it."""
    found: list[tuple[_Shape, float, float]] = []
    for form, added, cost in ways:
        while found and added / cost > found[-1][1] / found[-1][2]:
            _, before, paid = found.pop()
            added, cost = added + before, cost + paid
        found.append((form, added, cost))
    return found


def _join_rivals(candidates: Sequence[Candidate], steps: dict[tuple[int, _Shape], _Step], worth: Worth) -> None:
    """Give the steps to the signatures of rivals one rate, so that they are taken one after the other."""
    servers: dict[str, list[_Step]] = {}
    for (place, form), step in steps.items():
        is_signature = form == "short" or (form == "full" and (place, "short") not in steps)
        if is_signature and (prefix := candidates[place].line.prefix):
            servers.setdefault(prefix, []).append(step)
    for found in servers.values():
        found.sort(key=lambda step: -candidates[step.candidate].need)
        least = worth.rival * candidates[found[0].candidate].need
        rivals = [step for step in found if candidates[step.candidate].need >= least][: worth.rivals]
        rate = sum(step.gain for step in rivals) / sum(step.cost for step in rivals)
        for step in rivals:
            named, longer = steps.get((step.candidate, "name")), steps.get((step.candidate, "full"))
            shared = step._replace(rate=rate if named is None else min(rate, named.rate))
            steps[step.candidate, step.form] = shared
            if step.form == "short" and longer is not None:
                steps[step.candidate, "full"] = longer._replace(rate=min(longer.rate, shared.rate))


def _chosen(steps: Sequence[_Step], room: int, floor: float) -> tuple[list[_Step], set[int]]:
    """The steps that fit, the first one whatever it brings; and the candidates of which one did not fit."""
    chosen: list[_Step] = []
    left = float(room)
    passed: set[int] = set()
    for step in steps:
        if chosen and step.rate < floor and not step.kept:
            break
        if step.cost > left or step.candidate in passed:
            passed.add(step.candidate)  # nor does its second step follow
            continue
        chosen.append(step)
        left -= step.cost
    return chosen, passed


def _written(candidates: Sequence[Candidate], forms: Mapping[int, _Shape]) -> list[str]:
    """The lines of an answer: in full, then by name, each server's together."""
    full: list[str] = []
    servers: dict[str, list[str]] = {}
    for place, candidate in enumerate(candidates):
        mark, line = "!" if candidate.write else "", candidate.line
        form = forms.get(place)
        if form == "name":
            servers.setdefault(line.prefix, []).append(f"{mark}{line.brief}")
        elif form is not None:
            full.append(f"{mark}{line.name}{_also(candidate)}{line.full if form == 'full' else line.short}")
    if not servers:
        return full
    lists = [f"{prefix}{{{', '.join(briefs)}}}" if prefix else ", ".join(briefs) for prefix, briefs in servers.items()]
    return [*full, HEADING, *lists]


def _also(candidate: Candidate) -> str:
    """Other names of a tool, right behind its own: what follows is other people's text, and might imitate them."""
    names, more = candidate.also[:_ALSO], len(candidate.also) - _ALSO
    return "".join(f" = {name}" for name in names) + (f" = {more} more" if more > 0 else "")


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
