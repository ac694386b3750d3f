"""The answer of `find_tools` as a model reads it: what stands there in full and what by name, inside a token budget.

A full line has the signature, so the tool can be called at once, and says what the tool does: in a sentence, or in a
few words where tokens are scarce. A name with the same words costs about half of that, but a model has to ask for the
schema first. Which form a tool gets follows from the probability that it is needed and the tokens of each form; the
answer stops where the next token would bring too little. Rivals, tools of one server that a message could both mean,
get their signatures one after the other, so that a model takes none of them just because it could be called at once.

Invariant: pure. The text exceeds its budget only if the notes alone do; other people's text stays on its line.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, TypeAlias

from thresher.core import one_line, shortened
from thresher.embedding import count_tokens

Form: TypeAlias = Literal["full", "name"]


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
_SUMMARY: Final = 72
"""Characters of what a tool does in a full line; the definition has the rest."""
_ALSO: Final = 3
"""Other names of a tool that stand beside it; of more the number does."""
_NOTES: Final = 2
"""Notes may take one part in so many of a budget; of those that exceed it the last are left out."""
_PLAIN: Final = re.compile(r": string(?=[,)])")
"""The type of most parameters, which is left out."""


@dataclass(frozen=True, slots=True)
class ToolLine:
    """The three ways to write a tool, and what they cost.

    Attributes:
        name: The name to call it by.
        prefix: What its name shares with those of its server, such as `git_`; empty if nothing.
        full: Signature and what it does; the name stands before it.
        short: Signature and gist.
        gist: A few words that tell it from others; may be empty.
        brief: The rest of its name, and the gist.
        full_tokens: The cost of name and `full` on a line of their own.
        short_tokens: That of name and `short`.
        brief_tokens: The cost of `brief` in the list of its server.
        prefix_tokens: The cost of beginning that list.
    """

    name: str
    prefix: str
    full: str
    short: str
    gist: str
    brief: str
    full_tokens: int
    short_tokens: int
    brief_tokens: int
    prefix_tokens: int


def tool_line(name: str, server: str, line: str, gist: str) -> ToolLine:
    """Return how a tool is written.

    Args:
        name: The name to call it by.
        server: Its server's plain name.
        line: Its signature and first sentence, as the catalogue has them.
        gist: A few words that tell it from others; empty if its name does.
    """
    prefix = f"{server}_" if name.startswith(f"{server}_") else ""
    signature, bracket, sentence = line.partition(") - ")
    signature = _PLAIN.sub("", f"{signature})" if bracket else line)
    summary = shortened(sentence, _SUMMARY).rstrip(".")
    words = one_line(gist)
    full, short = (f"{signature}{f' - {text}' if text else ''}" for text in (summary, words))
    brief = f"{name.removeprefix(prefix)}{f' ({words})' if words else ''}"
    full_tokens, short_tokens = (count_tokens(f"!{name}{text}\n") for text in (full, short))
    if full_tokens <= short_tokens:
        short, short_tokens = full, full_tokens
    listed = count_tokens(f" !{brief},"), count_tokens(f"{prefix}{{}}\n")
    return ToolLine(name, prefix, full, short, words, brief, full_tokens, short_tokens, *listed)


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
