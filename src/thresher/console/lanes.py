"""An explanation as lanes that a template draws: what got in, what did not, how probable it was, and why.

Invariant: pure; it names and sorts what an explanation says, and decides nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote

from thresher.console.rendering import link, page_of
from thresher.context import ContextExplanation, ExplainedKind, ExplainedPiece
from thresher.knowledge.intents import IntentScore
from thresher.knowledge.tools import RankedTool, why_text

_FATES: Final = {
    "floor": "worth too little",
    "budget": "no room",
    "copy": "folded into another",
    "limit": "beyond the limit",
    "need": "needed too improbably",
    "threshold": "below the line",
    "abstained": "nothing fits",
    "candidates": "not among the best",
    "held": "held back",
    "disabled": "disabled",
    "server": "another server",
    "category": "another category",
    "unindexed": "not indexed yet",
    "off": "selection is off",
    "unknown": "not there",
    "improbable": "kind not needed",
    "worthless": "worth too little",
    "repeated": "said already",
}
_FORMS: Final = {"full": "in full", "name": "by name"}
_KINDS: Final = {
    "tools": ("Tools in the context", "for every task, in the form of the context"),
    "passages": ("Passages", "of documents, word for word"),
    "endpoints": ("Endpoints", "operations of APIs"),
    "schemas": ("Tables", "of databases, as a schema"),
}
_PARTS: Final = {"rules": "part-2", "tools": "part-1", "passages": "part-3", "endpoints": "part-4", "schemas": "part-5"}


@dataclass(frozen=True, slots=True)
class Item:
    """One thing that was considered.

    Attributes:
        name: Its name.
        address: The page that shows it; empty without one.
        share: Its probability, 0 to 1; None if it has none.
        cut: The least one that gets in; None without such a line.
        given: Whether a model gets it.
        state: In which form, or in two or three words why not.
        reason: The reason as a sentence; empty if the state says all.
        why: What speaks for it.
        tokens: What it costs, or would.
        place: Its rank in the fused order; None without one.
        task: The task that it was found for, in words; empty if there is one alone.
        case: Kind and name by which a test case calls it, as `kind:name`; empty if none can.
        links: What it consists of, each with its page.
        is_expected: Whether somebody says that it should have come.
    """

    name: str
    address: str
    share: float | None
    cut: float | None
    given: bool
    state: str
    reason: str = ""
    why: str = ""
    tokens: int = 0
    place: int | None = None
    task: str = ""
    case: str = ""
    links: Sequence[tuple[str, str]] = ()
    is_expected: bool = False


@dataclass(frozen=True, slots=True)
class Lane:
    """What one kind of thing got, and why.

    Attributes:
        key: Its name in addresses.
        title: Its name.
        about: What it is, in a few words.
        meaning: What its probability is that of.
        share: That probability, 0 to 1; None without one.
        cut: The least one with which anything gets in.
        note: Why it got as much, in words.
        chances: The probability for each task; empty if there is one task.
        items: The best first.
        ms: How long its search took; None if that is not known.
    """

    key: str
    title: str
    about: str
    meaning: str
    share: float | None
    cut: float | None
    note: str
    chances: Sequence[float]
    items: Sequence[Item]
    ms: float | None = None

    @property
    def given(self) -> Sequence[Item]:
        """What a model gets."""
        return [one for one in self.items if one.given]

    @property
    def others(self) -> Sequence[Item]:
        """What it does not get."""
        return [one for one in self.items if not one.given]

    @property
    def counts(self) -> Sequence[tuple[str, int]]:
        """How many do not get in for each reason, the commonest first."""
        return Counter(one.state for one in self.others).most_common()


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing under two settings; `before` or `after` is None where it was not considered."""

    lane: str
    name: str
    address: str
    before: Item | None
    after: Item | None

    @property
    def change(self) -> str:
        """`in`: it comes under the second one alone; `out`: under the first one alone; `form`; or nothing."""
        before, after = self.before is not None and self.before.given, self.after is not None and self.after.given
        if before != after:
            return "in" if after else "out"
        if self.before and self.after and before:
            return "form" if (self.before.state, self.before.tokens) != (self.after.state, self.after.tokens) else ""
        return ""


def lanes_of(answer: ContextExplanation) -> tuple[Lane, ...]:
    """Return the lanes of an explanation: rules, tools, then each other kind of the context."""
    kinds = {kind.share.kind: kind for kind in answer.kinds}
    others = (_kind_lane(answer, kinds[key], *_KINDS[key]) for key in _KINDS if key in kinds)
    return (_rules_lane(answer, kinds.get("rules")), _tools_lane(answer), *others)


def differences(before: Sequence[Lane], after: Sequence[Lane]) -> tuple[Difference, ...]:
    """Return what is given under one of two settings or both, lane by lane; first what differs."""
    found: list[Difference] = []
    former = {lane.key: {one.name: one for one in lane.items} for lane in before}
    for lane in after:
        then, now = former.get(lane.key, {}), {one.name: one for one in lane.items}
        pairs = [(name, then.get(name), now.get(name)) for name in dict.fromkeys((*now, *then))]
        rows = [
            Difference(lane.title, name, next(one.address for one in (new, old) if one is not None), old, new)
            for name, old, new in pairs
            if (old is not None and old.given) or (new is not None and new.given)
        ]
        found += sorted(rows, key=lambda row: ("in", "out", "form", "").index(row.change))
    return tuple(found)


def parts_of(parts: Any) -> list[tuple[str, int, str]]:
    """Return the parts of an answer as `pieces.parts` draws them."""
    classes = {**_PARTS, "in full": "part-1", "by name": "part-4", "core": "part-3", "frame": "part-0"}
    return [(name, tokens, classes.get(name, "part-5")) for name, tokens in parts.items() if tokens]


def _rules_lane(answer: ContextExplanation, kind: ExplainedKind | None) -> Lane:
    pieces = {one.name: one for one in answer.pieces if one.kind == "rules"}
    decision = answer.decision
    items = [_intent_item(answer, score, pieces.get(score.intent)) for score in decision.scores]
    named = {item.name for item in items}
    items += [
        Item(name, page_of("/knowledge/packs", name), None, None, False, "withheld", f"it fits, but {reason}")
        for name, reason in answer.withheld.items()
        if name not in named
    ]
    items.sort(key=lambda one: (not one.given, one.state != "withheld"))
    basis = {"head": "a fitted head", "prototype": "the nearest lines", "words": "words alone"}[decision.basis]
    note = decision.degraded or f"decided by {basis}"
    ms = kind.ms if kind is not None else None
    return Lane("rules", "Rules", "of packs", "the decision is right", decision.confidence, None, note, (), items, ms)


def _intent_item(answer: ContextExplanation, score: IntentScore, piece: ExplainedPiece | None) -> Item:
    withheld = answer.withheld.get(score.intent, "")
    given = score.matched and not withheld
    reason = f"it fits, but {withheld}" if withheld else ""
    if given:
        state = "given" if piece is None else piece.reason if piece.fate == "given" else "rules alone"
        reason = piece.reason if piece is not None and piece.fate != "given" else ""
    else:
        state = "withheld" if withheld else "below the line" if score.margin < 0 else "not meant"
    why = [f"like “{score.best_line}”"] if score.best_line else []
    why += [f"names {', '.join(score.keywords)}"] if score.keywords else []
    why += {"history": ["from the turns before"], "file": ["from a file"], "always": ["always"]}.get(score.why, [])
    why += ["the message says that it is not meant"] if score.why == "negated" else []
    return Item(
        score.intent,
        page_of("/knowledge/packs", score.intent),
        score.score,
        score.threshold,
        given,
        state,
        reason,
        ", ".join(why),
        piece.tokens if piece is not None else 0,
        task=_task(answer.decision.clauses, score.clause) if score.clause else "",
        case=f"intents:{score.intent}",
    )


def _tools_lane(answer: ContextExplanation) -> Lane:
    tools = answer.tools
    items = [_tool_item(answer, tool) for tool in tools.ranked]
    note = tools.degraded or f"{tools.searched:,} searched"
    ms = answer.find_tools.timings.get("search")
    return Lane(
        "find_tools", "Tools", "of find_tools", "any tool fits", tools.probability, tools.threshold, note, (), items, ms
    )


def _tool_item(answer: ContextExplanation, tool: RankedTool) -> Item:
    given = tool.fate == "given"
    state = _FORMS.get(tool.form or "", "given") if given else _FATES.get(tool.fate, tool.fate)
    known = bool(tool.server)
    # "Needed" decides about tokens, "fits" about the line.
    why = [f"needed {tool.need:.2f}"] if known and tool.rank is not None else []
    why += [why_text(tool.why)] if tool.why.source != "none" else []
    several = len(answer.tools.clauses) > 1 and tool.rank is not None
    return Item(
        tool.name,
        page_of("/tools", tool.name) if known else "",
        tool.score if known else None,
        answer.tools.threshold if known else None,
        given,
        state,
        "" if given else tool.reason,
        " · ".join(why),
        tool.tokens,
        tool.rank,
        _task(answer.tools.clauses, tool.why.query) if several else "",
        f"tools:{tool.name}",
        is_expected=tool.expected,
    )


def _kind_lane(answer: ContextExplanation, kind: ExplainedKind, title: str, about: str) -> Lane:
    share = kind.share
    items = [_piece_item(answer, piece) for piece in answer.pieces if piece.kind == share.kind]
    if share.kind == "schemas":
        items += _table_items(answer, kind)
    chances = kind.chances if len(kind.chances) > 1 else ()
    return Lane(
        share.kind, title, about, "the message needs it", share.probability, kind.least, share.why, chances, items,
        kind.ms,
    )  # fmt: skip


def _piece_item(answer: ContextExplanation, piece: ExplainedPiece) -> Item:
    given = piece.fate == "given"
    address, case, links = _place(piece)
    return Item(
        piece.name,
        address,
        piece.probability,
        None,
        given,
        piece.reason if given else _FATES.get(piece.fate, piece.fate),
        "" if given else piece.reason,
        piece.why,
        piece.tokens,
        task=_task(answer.tasks, piece.task) if len(answer.tasks) > 1 else "",
        case=case,
        links=links,
    )


def _place(piece: ExplainedPiece) -> tuple[str, str, Sequence[tuple[str, str]]]:
    """The page of a piece, the name by which a case calls it, and the pages of what it consists of."""
    at = piece.place
    if piece.kind == "tools":
        return page_of("/tools", piece.name), f"tools:{piece.name}", ()
    if piece.kind == "passages":
        base = f"{page_of('/knowledge/documents', at['repository'])}/read"
        address = link(base, path=at["document"], lines="-".join(map(str, at["lines"])))
        return address, f"documents:{at['repository']}/{at['document']}", ()
    if piece.kind == "endpoints":
        case = f"endpoints:{at['provider']}: {at['method']} {at['path']}"
        return page_of("/knowledge/apis/endpoint", str(at["id"])), case, ()
    if piece.kind == "schemas":
        tables = [(name, _table_page(at["connection"], name)) for name in at["tables"]]
        return page_of("/knowledge/databases", at["connection"]), "", tables
    return "", "", ()


def _table_items(answer: ContextExplanation, kind: ExplainedKind) -> Iterator[Item]:
    """The tables that were found, whether or not their schema is given."""
    given = {
        (piece.place["connection"], name.rpartition(".")[2])
        for piece in answer.pieces
        if piece.kind == "schemas" and piece.fate == "given"
        for name in piece.place["tables"]
    }
    seen: set[str] = set()
    for find in kind.finds:
        connection, _, table = find.name.partition(": ")
        if find.name in seen:
            continue
        seen.add(find.name)
        is_in = (connection, table.rpartition(".")[2]) in given
        task = _task(answer.tasks, find.task) if len(answer.tasks) > 1 else ""
        yield Item(
            find.name,
            _table_page(connection, table),
            find.probability,
            None,
            is_in,
            "in the schema" if is_in else "found",
            "" if is_in else "its schema is not given",
            find.why,
            task=task,
            case=f"tables:{connection}.{table}",
        )


def _table_page(connection: str, table: str) -> str:
    return f"{page_of('/knowledge/databases', connection)}/tables/{quote(table, safe='')}"


def _task(tasks: Sequence[str], number: int) -> str:
    return tasks[number] if number < len(tasks) else ""
