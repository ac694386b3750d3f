"""Why a message gets what it gets: a record of one try, from what the services that answer leave behind.

Invariant: pure; nothing is decided here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, TypeAlias

from thresher.context.allocation import PRICE, Allocation, Refusal, least_probability
from thresher.context.probabilities import ENDPOINTS, PASSAGES, SCHEMAS, Evidence
from thresher.context.records import Note, Prompt, Trial
from thresher.context.sources import RULES, Find, SourcePieces, SourceQuery, counted
from thresher.core import ContextPack, KindShare, Piece, shortened
from thresher.embedding import count_tokens
from thresher.knowledge.intents import Decision
from thresher.knowledge.tools import FindResult, RankedTool, found_line

_TEXT: Final = 600
"""Characters of a piece that are shown; the text of the answer has all of one that is given."""
_PLACE: Final[Mapping[str, Sequence[str]]] = {
    PASSAGES: ("repository", "document", "lines"),
    ENDPOINTS: ("id", "provider", "method", "path"),
    SCHEMAS: ("connection", "tables"),
}
PieceFate: TypeAlias = Literal["given", "budget"] | Refusal
"""What became of a piece: it is in the context, or it found no room there, or it was not offered."""


@dataclass(frozen=True, slots=True)
class FilledContext:
    """A context pack, and what it was made of.

    Attributes:
        pack: The context.
        query: What every source was asked.
        offered: What each kind offered, in the order in which a model reads it.
        chances: The probability that each task needs each kind.
        worth: What is worth its tokens, and what is not.
        notes: What is missing or degraded.
        withheld: Intents that matched and are not given, with the reasons.
        compose_ms: How long it took to choose from what is offered, and to write it.
    """

    pack: ContextPack
    query: SourceQuery
    offered: Sequence[tuple[str, SourcePieces]]
    chances: Mapping[str, Sequence[float]]
    worth: Allocation
    notes: Sequence[Note]
    withheld: Mapping[str, str] = field(default_factory=dict[str, str])
    compose_ms: float = 0.0


@dataclass(frozen=True, slots=True)
class ExplainedTools:
    """The search for tools, as `find_tools` makes it.

    Attributes:
        clauses: The texts that were searched; `why.query` of a tool is the number of one.
        searched: The number of tools that could be found.
        probability: The probability that any tool fits.
        threshold: The least one with which any does.
        abstained: Whether nothing fits.
        fallback: Whether the search could not run, so that the tools are not chosen ones.
        selection: `on`, `shadow` or `off`.
        degraded: Why the search was weaker than it could be; empty if it was not.
        ranked: The best tools and the expected ones, each with what became of it.
        tokens_all: What the definitions of all tools would cost a model.
    """

    clauses: tuple[str, ...]
    searched: int
    probability: float
    threshold: float
    abstained: bool
    fallback: bool
    selection: str
    degraded: str
    ranked: tuple[RankedTool, ...]
    tokens_all: int


@dataclass(frozen=True, slots=True)
class ExplainedKind:
    """A kind's share of a context.

    Attributes:
        share: How much it got, and why.
        least: The least probability with which the message must need it.
        chances: The probability that each task needs it; empty if the values of its pieces say so.
        evidence: What its own search says of each task.
        finds: What its search found, where pieces are made of several finds: the tables of schemas.
        ms: How long its search took, in milliseconds, beside the others.
    """

    share: KindShare
    least: float
    chances: tuple[float, ...]
    evidence: tuple[Evidence, ...]
    finds: tuple[Find, ...]
    ms: float


@dataclass(frozen=True, slots=True)
class ExplainedPiece:
    """A piece that a kind offered for a context.

    Attributes:
        kind: Its kind.
        name: Its name.
        task: The number of the task that it was found for.
        probability: The probability, 0 to 1, that the message needs it.
        tokens: About what it costs.
        fate: What became of it.
        reason: The same as a sentence, with the numbers that decided.
        why: What speaks for it.
        text: The beginning of its text.
        place: Where it is kept: `repository`, `document` and `lines`; `id`, `provider`, `method` and `path`;
            `connection` and `tables`.
    """

    kind: str
    name: str
    task: int
    probability: float
    tokens: int
    fate: PieceFate
    reason: str
    why: str
    text: str
    place: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ExplainedAnswer:
    """An answer as a model gets it.

    Attributes:
        text: The text, exactly.
        tokens: What it costs; of a context, which has two forms, the larger one.
        budget: The most tokens of it; None without a limit on the whole.
        left: The tokens of the budget that are left; None without a budget.
        parts: About what each part costs; `frame` is what remains.
        notes: What is missing or degraded.
        timings: Milliseconds of each stage.
    """

    text: str
    tokens: int
    budget: int | None
    left: int | None
    parts: Mapping[str, int]
    notes: tuple[str, ...]
    timings: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class ContextExplanation:
    """What a message gets, and why.

    Attributes:
        message: The message.
        tasks: The texts for which documents, APIs, databases and the tools of the context are searched.
        decision: The router's, with the scores of the intents that matched and the best others.
        withheld: Intents that matched and are not given, with the reasons.
        tools: The search for tools.
        kinds: Each kind of the context, in the order in which a model reads it.
        pieces: What the kinds offered, in that order, most probable first.
        process_prompt: The answer of `process_prompt`.
        find_tools: The answer of `find_tools`.
        get_context: The answer of `get_context`.
        trial: What was tried in place of what holds.
        trace_id: Identifies the explanation in the logs.
    """

    message: str
    tasks: tuple[str, ...]
    decision: Decision
    withheld: Mapping[str, str]
    tools: ExplainedTools
    kinds: tuple[ExplainedKind, ...]
    pieces: tuple[ExplainedPiece, ...]
    process_prompt: ExplainedAnswer
    find_tools: ExplainedAnswer
    get_context: ExplainedAnswer
    trial: Trial
    trace_id: str


def explained(
    prompt: Prompt, found: FindResult, filled: FilledContext, trial: Trial, *, limit: int, trace: str
) -> ContextExplanation:
    """Return the record of a try.

    Args:
        prompt: The answer of `process_prompt`.
        found: The answer of `find_tools`.
        filled: The context.
        trial: What was tried.
        limit: The most intents that did not match.
        trace: The try's trace id.
    """
    decision = filled.query.decision
    others = [score for score in decision.scores if not score.matched][:limit]
    return ContextExplanation(
        message=prompt.request,
        tasks=filled.query.tasks,
        decision=replace(decision, scores=(*decision.matched, *others)),
        withheld=filled.withheld,
        tools=ExplainedTools(
            clauses=found.clauses,
            searched=found.total_searched,
            probability=found.probability,
            threshold=found.threshold,
            abstained=found.abstained,
            fallback=found.fallback,
            selection=found.selection,
            degraded=found.degraded,
            ranked=found.ranked,
            tokens_all=found.tokens_all,
        ),
        kinds=tuple(_kind(filled, kind, part) for kind, part in filled.offered),
        pieces=tuple(_pieces(filled)),
        process_prompt=_prompt_answer(prompt),
        find_tools=_found_answer(found),
        get_context=_context_answer(filled),
        trial=trial,
        trace_id=trace,
    )


def _kind(filled: FilledContext, kind: str, part: SourcePieces) -> ExplainedKind:
    chances = tuple(filled.chances.get(kind, ()))
    least = least_probability(kind, filled.offered, filled.chances)
    share = next((one for one in filled.pack.shares if one.kind == kind), None)
    if share is None:
        share = KindShare(kind, 0, 0, round(max(chances, default=0.0), 3), 0, _nothing(filled, kind, part, least))
    return ExplainedKind(share, least, chances, part.evidence, part.finds, round(part.ms, 1))


def _nothing(filled: FilledContext, kind: str, part: SourcePieces, least: float) -> str:
    """Why a kind offered nothing."""
    trial, best = filled.query.request.trial, max(filled.chances.get(kind, ()), default=0.0)
    if trial is not None and trial.kinds is not None and kind not in trial.kinds:
        return "left out of this try"
    if best:
        return f"needed too improbably, {best:.2f} of at least {least:.2f}"
    if part.notes:
        return str(part.notes[0])
    return "nothing found" if part.ms else "not searched: the message is small talk"


def _pieces(filled: FilledContext) -> list[ExplainedPiece]:
    # Weighing and counting make new pieces of the same data.
    tasks = {
        id(piece.data): task for _, part in filled.offered for piece, task in zip(part.pieces, part.tasks, strict=False)
    }
    given = {id(piece) for piece in filled.pack.pieces}

    def shown(piece: Piece, fate: PieceFate, reason: str) -> ExplainedPiece:
        task, text = tasks.get(id(piece.data), 0), shortened(piece.text, _TEXT)
        place = {name: piece.data[name] for name in _PLACE.get(piece.kind, ()) if name in piece.data}
        value = round(piece.value, 4)
        return ExplainedPiece(piece.kind, piece.name, task, value, piece.tokens, fate, reason, piece.why, text, place)

    found: list[ExplainedPiece] = []
    for piece in filled.worth.pieces:
        if id(piece) in given:
            found.append(shown(piece, "given", "in full" if piece.whole is None else "in short"))
        elif piece.whole is not None and id(piece.whole) in given:
            found.append(shown(piece.whole, "given", "in full"))
        else:
            found.append(shown(piece, "budget", f"no room was left for {piece.tokens:,} tokens"))
    for piece, refusal in filled.worth.refused:
        task = tasks.get(id(piece.data), 0)
        chances = filled.chances.get(piece.kind)
        weighed = counted(piece)
        if refusal == "improbable" and chances is not None:
            weighed = replace(weighed, value=piece.value * chances[task])
        found.append(shown(weighed, refusal, _reason(filled, weighed, refusal, task)))
    order = {kind: place for place, (kind, _) in enumerate(filled.offered)}
    return sorted(found, key=lambda one: (order[one.kind], one.fate != "given", -one.probability))


def _reason(filled: FilledContext, piece: Piece, refusal: Refusal, task: int) -> str:
    """Why a piece was not offered, with the numbers that decided."""
    least = least_probability(piece.kind, filled.offered, filled.chances)
    if refusal == "improbable":
        chances = filled.chances.get(piece.kind)
        chance = piece.value if chances is None else chances[task]
        return f"{piece.kind} are needed too improbably: p={chance:.2f} of at least {least:.2f}"
    if refusal == "worthless":
        price = least if piece.kind == RULES else PRICE * piece.tokens
        return f"too improbable for {piece.tokens:,} tokens: p={piece.value:.3f} of at least {price:.3f}"
    return "a piece of another kind says the same"


def _prompt_answer(prompt: Prompt) -> ExplainedAnswer:
    parts = (
        {}
        if prompt.passes_through
        else {
            "rules": sum(rule.tokens for rule in prompt.rules),
            "tools": sum(count_tokens(f"{found_line(tool)}\n") for tool in prompt.tools),
        }
    )
    notes = tuple(map(str, prompt.notes))
    return _answer(prompt.text, count_tokens(prompt.text), None, parts, notes, prompt.timings)


def _found_answer(found: FindResult) -> ExplainedAnswer:
    named = sum(tool.tokens for tool in found.tools if tool.form == "name")
    whole = sum(tool.tokens for tool in found.tools if tool.form == "full")  # more than what a shortened line took
    parts = {"in full": max(0, min(whole, found.tokens_sent - named)), "by name": named}
    spent, embedding = found.duration_ms, found.embedding_ms
    timings = {"embedding": embedding, "search": max(spent - embedding, 0.0), "total": spent}
    notes = (found.degraded,) if found.degraded else ()
    rounded = {name: round(value, 1) for name, value in timings.items()}
    return _answer(found.text, found.tokens_sent, found.budget, parts, notes, rounded)


def _context_answer(filled: FilledContext) -> ExplainedAnswer:
    pack = filled.pack
    parts = {share.kind: share.tokens for share in pack.shares if share.taken}
    compose = round(filled.compose_ms, 1)
    timings = {**pack.timings, "compose": compose, "total": round(pack.timings["total"] + compose, 1)}
    timings["total"] = timings.pop("total")  # last
    return _answer(pack.text, pack.spent, pack.budget, parts, tuple(map(str, filled.notes)), timings)


def _answer(
    text: str,
    tokens: int,
    budget: int | None,
    parts: Mapping[str, int],
    notes: tuple[str, ...],
    timings: Mapping[str, float],
) -> ExplainedAnswer:
    left = None if budget is None else max(budget - tokens, 0)
    frame = max(tokens - sum(parts.values()), 0)
    return ExplainedAnswer(text, tokens, budget, left, {**parts, "frame": frame}, notes, timings)
