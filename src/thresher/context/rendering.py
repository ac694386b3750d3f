"""Prompts and context packs as text for a model, and the same as data.

Invariant: pure; every line of ours begins with a mark that occurs in no other text of the answer (`border_of`), a name
stays on its line, and what is missing, cut or degraded is named.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any

from thresher.context.records import ContextBlock, Listing, Note, Prompt, Rulebook
from thresher.core import LeftOut, Piece, Rule, border_of, one_line, shortened
from thresher.knowledge.intents import PASS_THROUGH, Decision
from thresher.knowledge.tools import FoundTool, found_line, why_text

NEXT_STEP = "run with call_tool, ! with call_tool_write; full schema: describe_tools"
_NOTE = 1_000
REQUEST_CHARACTERS = 4_000
"""The part of a message that is repeated: the model has it already."""


def prompt_text(prompt: Prompt) -> str:
    """Return a prompt as a model reads it; exactly `PASS_THROUGH` if no rules fit.

    A prompt whose request is empty has no block for it: a hook's reader gets the request anyway.
    """
    if prompt.passes_through:
        return PASS_THROUGH
    tools = [found_line(tool) for tool in prompt.tools]
    facts = facts_text(prompt.facts)
    request = shortened(prompt.request, REQUEST_CHARACTERS)
    mark = _mark(prompt.rules, [*facts, *tools, *map(str, prompt.notes), request])
    names = ", ".join(one_line(rule.intent) for rule in prompt.rules)
    lines = [
        f"{mark} Thresher: follow the rules of {names} for this request (confidence {prompt.decision.confidence:.2f})."
        f" {_legend(mark)}",
        *_notes_text(mark, prompt.notes),
        *_rules_text(mark, prompt.rules),
        *((f"{mark} context", *facts) if facts else ()),
    ]
    if tools:
        lines += [f"{mark} {tools_heading()}", *tools]
    if request:
        lines += [f"{mark} request", request]
    return "\n".join([*lines, f"{mark} end"])


def rulebook_text(book: Rulebook) -> str:
    """Return rules alone, with what was missing when they were put together."""
    mark = _mark(book.rules, map(str, book.notes))
    names = ", ".join(one_line(rule.intent) for rule in book.rules)
    lines = [f"{mark} Thresher: the rules of {names}. {_legend(mark)}", *_notes_text(mark, book.notes)]
    return "\n".join([*lines, *_rules_text(mark, book.rules), f"{mark} end"])


def _mark(rules: Sequence[Rule], others: Iterable[str]) -> str:
    return border_of([*(text for rule in rules for text in (rule.text, rule.intent)), *others])


def _legend(mark: str) -> str:
    return f"Only lines that begin with {mark} are Thresher's; the text between them is each pack's own."


def _rules_text(mark: str, rules: Sequence[Rule]) -> list[str]:
    return [line for rule in rules for line in (f"{mark} {rule_heading(rule)}", rule.text)]


def rule_heading(rule: Rule) -> str:
    """Return the heading of a pack's rules; for a short form it includes the way to the full one."""
    heading = f"rules of {one_line(rule.intent)} ({one_line(rule.source)})"
    if rule.whole is None:
        return heading
    return f"{heading}, in short; in full ({rule.whole.tokens} tokens): get_context with cursor {rule.cursor}"


def tools_heading() -> str:
    """Return the heading of tools."""
    return f"tools ({NEXT_STEP})"


def _notes_text(mark: str, notes: Sequence[Note]) -> list[str]:
    """Our words on a line of ours; what they quote is text of others, on a line without the mark."""
    lines = ((f"{mark} {one_line(note.text, _NOTE)}", one_line(note.quoted, _NOTE)) for note in notes)
    return [line for pair in lines for line in pair if line]


def facts_text(facts: ContextBlock) -> list[str]:
    """Return the lines of the context block; unknown values have none."""
    servers = ", ".join(map(one_line, facts.servers))
    known = {"project": facts.project, "solution": facts.solution, "servers": servers}
    return [f"{name}: {one_line(value)}" for name, value in known.items() if value]


def prompt_data(prompt: Prompt) -> dict[str, Any]:
    """Return a prompt as data: what its text says, with the reasons."""
    decision = prompt.decision
    data: dict[str, Any] = {
        "pass_through": prompt.passes_through,
        "confidence": round(decision.confidence, 3),
        "trace_id": prompt.trace_id,
    }
    if prompt.notes:
        data["notes"] = [str(note) for note in prompt.notes]
    if prompt.passes_through:
        return {"result": PASS_THROUGH, **data}
    facts = prompt.facts
    data["intents"] = intents_data(decision)
    data["rules"] = [rule_data(rule) for rule in prompt.rules]
    data["context"] = _facts_data(facts)
    data["request"] = shortened(prompt.request, REQUEST_CHARACTERS)
    data["tools"] = [tool_data(tool) for tool in prompt.tools]
    if prompt.without_value:
        data["without_value"] = list(prompt.without_value)
    if prompt.unknown:
        data["unknown_variables"] = {pack: list(names) for pack, names in prompt.unknown.items()}
    return {**data, "timings": dict(prompt.timings)}


def _facts_data(facts: ContextBlock) -> dict[str, Any]:
    known = {"project": facts.project, "solution": facts.solution}
    return {**{name: value for name, value in known.items() if value}, "servers": list(facts.servers)}


def intents_data(decision: Decision) -> list[dict[str, Any]]:
    """Return the matched intents, best first."""
    return [
        {
            "name": score.intent,
            "score": round(score.score, 3),
            "threshold": round(score.threshold, 3),
            "why": reason(decision, score.intent),
        }
        for score in decision.matched
    ]


def reason(decision: Decision, intent: str) -> str:
    """Return why an intent matched, in a few words."""
    score = next(score for score in decision.matched if score.intent == intent)
    if score.keywords and score.why == "keyword":
        return f"keyword: {', '.join(score.keywords)}"
    if score.why == "line" and score.best_line:
        return f"like: {shortened(score.best_line, 120)}"
    return score.why


def rule_data(rule: Rule) -> dict[str, Any]:
    """Return the rules of a pack; for a short form also the cost of the full one, and the cursor that fetches it."""
    data: dict[str, Any] = {"pack": rule.intent, "source": rule.source, "text": rule.text}
    if rule.whole is None:
        return data
    return {**data, "in_full": {"tokens": rule.whole.tokens, "cursor": rule.cursor}}


def tool_data(tool: FoundTool, *, explained: bool = True) -> dict[str, Any]:
    """Return a tool as data.

    Args:
        tool: The tool.
        explained: Whether one in full has its score and the reasons; `find_tools` has them too.
    """
    data: dict[str, Any] = {"name": tool.name}
    if tool.form == "full":
        data["signature"] = tool.line.removeprefix(tool.name)
    if tool.form == "full" and explained:
        data |= {"score": round(tool.score, 2), "why": why_text(tool.why)}
    if tool.form != "full" and tool.gist:
        data["gist"] = tool.gist
    return {**data, "write": True} if tool.write else data


def pack_text(pieces: Sequence[Piece], left: Listing, cursor: str, notes: Sequence[Note]) -> str:
    """Return a context pack as a model reads it.

    Args:
        pieces: In order; neighbours with one heading share it.
        left: What is left out.
        cursor: Fetches that; empty if nothing is.
        notes: What comes first.
    """
    mark = border_of(
        [*(text for piece in pieces for text in (piece.text, piece.heading)), *map(str, notes), *_left_text(left)]
    )
    empty = "what this message needs is over the budget." if left else "nothing fits this message."
    opening = f"Thresher: {'what this message needs.' if pieces else empty}"
    lines = [f"{mark} {opening} Only lines that begin with {mark} are Thresher's."]
    lines += _notes_text(mark, notes)
    for heading, group in groupby(pieces, key=lambda piece: piece.heading):
        lines += [f"{mark} {one_line(heading)}", *(piece.text for piece in group)]
    if left:
        lines.append(f"{mark} left out, over the budget: {'; '.join(_left_text(left))}. Rest: cursor {cursor}")
    return "\n".join([*lines, f"{mark} end"])


def _left_text(left: Listing) -> list[str]:
    return [
        f"{entry.kind} {one_line(entry.name)} ({entry.tokens} tokens)"
        if entry.name
        else f"{entry.count} of {entry.kind} ({entry.tokens} tokens)"
        for entry in left
    ]


def pack_data(
    pieces: Sequence[Piece], left: Listing, cursor: str, about: Mapping[str, Any], kinds: Sequence[str]
) -> dict[str, Any]:
    """Return a context pack as data.

    Args:
        pieces: In order; those of one kind make one list.
        left: What is left out.
        cursor: Fetches that; empty if nothing is.
        about: What is said of the whole.
        kinds: All kinds, so that an empty one is listed too.
    """
    data: dict[str, Any] = {kind: [dict(piece.data) for piece in pieces if piece.kind == kind] for kind in kinds}
    data["left_out"] = [_left_data(entry) for entry in left]
    if cursor:
        data["next"] = cursor
    return {**data, **about}


def _left_data(entry: LeftOut) -> dict[str, Any]:
    if not entry.name:
        return {"kind": entry.kind, "count": entry.count, "tokens": entry.tokens, "why": entry.why}
    return {"kind": entry.kind, "name": entry.name, "tokens": entry.tokens, "why": entry.why, "cursor": entry.cursor}
