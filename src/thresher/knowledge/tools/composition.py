"""The answer of `find_tools` as a model reads it: what stands there in full and what by name, inside a token budget.

A full line has the signature, so the tool can be called at once. A name with a few words costs about a third of it, but
a model has to ask for the schema first. Which form a tool gets follows from the probability that it is
needed and the tokens of either form; the answer stops where the next token would bring too little.

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

NAMED: Final = 0.86
"""What a tool is worth by name alone, where one with its signature is worth 1: the rest pays for a second call."""
FLOOR: Final = 0.0003
"""The gain in probability below which no token is spent, even if the budget has some left."""
HEADING: Final = "More, as prefix_{name (gist)}; schemas: describe_tools:"
_SUMMARY: Final = 72
"""Characters of what a tool does in a full line; the definition has the rest."""
_GIST_WORDS: Final = 4
_ALSO: Final = 3
"""Other names of a tool that stand beside it; of more the number does."""
_NOTES: Final = 2
"""Notes may take one part in so many of a budget; of those that exceed it the last are left out."""
_PLAIN: Final = re.compile(r": string(?=[,)])")
"""The type of most parameters, which is left out."""
_WORD: Final = re.compile(r"[^\W_][\w'-]*")


@dataclass(frozen=True, slots=True)
class ToolLine:
    """The two ways to write a tool, and what they cost.

    Attributes:
        name: The name to call it by.
        prefix: What its name shares with those of its server, such as `git_`; empty if nothing.
        full: Signature and what it does; the name stands before it.
        gist: A few words that tell it from others; may be empty.
        brief: The rest of its name, and the gist.
        full_tokens: The cost of name and `full` on a line of their own.
        brief_tokens: The cost of `brief` in the list of its server.
        prefix_tokens: The cost of beginning that list.
    """

    name: str
    prefix: str
    full: str
    gist: str
    brief: str
    full_tokens: int
    brief_tokens: int
    prefix_tokens: int


def tool_line(name: str, server: str, line: str, gist: str) -> ToolLine:
    """Return how a tool is written.

    Args:
        name: The name to call it by.
        server: Its server's plain name.
        line: Its signature and first sentence, as the catalogue has them.
        gist: A few words; if empty, the first ones of that sentence.
    """
    prefix = f"{server}_" if name.startswith(f"{server}_") else ""
    signature, bracket, sentence = line.partition(") - ")
    signature = _PLAIN.sub("", f"{signature})" if bracket else line)
    summary = shortened(sentence, _SUMMARY).rstrip(".")
    full = f"{signature}{f' - {summary}' if summary else ''}"
    words = one_line(gist) or " ".join(_WORD.findall(sentence)[:_GIST_WORDS])
    brief = f"{name.removeprefix(prefix)}{f' ({words})' if words else ''}"
    tokens = count_tokens(f"!{name}{full}\n"), count_tokens(f" !{brief},"), count_tokens(f"{prefix}{{}}\n")
    return ToolLine(name, prefix, full, words, brief, *tokens)


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
    """The text, and the form that each candidate has in it; one without is left out."""

    text: str
    forms: Mapping[int, Form]


def compose(candidates: Sequence[Candidate], notes: Sequence[str], budget: int, *, floor: float = FLOOR) -> Answer:
    """Write an answer.

    Args:
        candidates: The tools, best first.
        notes: What stands above them, a line each, the most important one first.
        budget: The most tokens of the text.
        floor: The gain in probability below which no token is spent.
    """
    notes = list(notes)
    while len(notes) > 1 and count_tokens("\n".join(notes)) > budget // _NOTES:
        notes.pop()
    room = budget - (count_tokens("\n".join(notes)) + 1 if notes else 0)
    least = room - count_tokens(f"{HEADING}\n")
    in_full = _chosen(_steps(candidates, named=False), room, floor)
    by_name = _chosen(_steps(candidates, named=True), least, floor)
    steps = max(in_full, by_name, key=lambda steps: sum(step.kept + step.gain - floor * step.cost for step in steps))
    while True:
        forms: dict[int, Form] = {step.candidate: step.form for step in steps}
        text = "\n".join([*notes, *_written(candidates, forms)])
        over = count_tokens(text) - budget
        if not steps or over <= 0:
            return Answer(text, forms)
        while steps and over > 0:
            over -= max(int(steps.pop().cost), 1)


class _Step(NamedTuple):
    """Writing a candidate, or writing it in full in place of its name.

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
    form: Form
    gain: float
    cost: float


def _steps(candidates: Sequence[Candidate], *, named: bool) -> list[_Step]:
    """The steps that are worth a thought, the second of a candidate at a lower rate than the first, by their rates."""
    opened: set[str] = set()
    steps: list[_Step] = []
    for place, candidate in enumerate(candidates):
        line, need, kept = candidate.line, candidate.need, candidate.kept
        full = line.full_tokens + (count_tokens(_also(candidate)) if candidate.also else 0)
        brief = line.brief_tokens + (0 if line.prefix in opened else line.prefix_tokens)
        if named and NAMED * full > brief:
            opened.add(line.prefix)
            steps.append(_Step(kept, NAMED * need / brief, place, "name", NAMED * need, brief))
            more, cost = (1 - NAMED) * need, max(full - brief, 1)
            steps.append(_Step(False, more / cost, place, "full", more, cost))
        else:
            steps.append(_Step(kept, need / full, place, "full", need, full))
    return sorted(steps, key=lambda step: (not step.kept, -step.rate))


def _chosen(steps: Sequence[_Step], room: int, floor: float) -> list[_Step]:
    """The steps that fit; the first one whatever it brings."""
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
    return chosen


def _written(candidates: Sequence[Candidate], forms: Mapping[int, Form]) -> list[str]:
    """The lines of an answer: in full, then by name, each server's together."""
    full: list[str] = []
    servers: dict[str, list[str]] = {}
    for place, candidate in enumerate(candidates):
        mark, line = "!" if candidate.write else "", candidate.line
        if forms.get(place) == "full":
            full.append(f"{mark}{line.name}{_also(candidate)}{line.full}")
        elif place in forms:
            servers.setdefault(line.prefix, []).append(f"{mark}{line.brief}")
    if not servers:
        return full
    lists = [f"{prefix}{{{', '.join(briefs)}}}" if prefix else ", ".join(briefs) for prefix, briefs in servers.items()]
    return [*full, HEADING, *lists]


def _also(candidate: Candidate) -> str:
    """Other names of a tool, right behind its own: what follows is other people's text, and might imitate them."""
    names, more = candidate.also[:_ALSO], len(candidate.also) - _ALSO
    return "".join(f" = {name}" for name in names) + (f" = {more} more" if more > 0 else "")
