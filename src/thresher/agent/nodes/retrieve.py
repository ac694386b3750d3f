"""The step that searches documents: rephrase, retrieve, grade, place.

The result is placed at the end of this turn's prompt. The history has one message about it for people, which models are
never shown; if nothing is relevant, the turn continues as if there had been no search.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from langchain_core.messages import ToolCall, ToolMessage
from langgraph.runtime import Runtime

from thresher.agent.artifacts import written_passages
from thresher.agent.exchange import CalledTool, Step
from thresher.agent.messages import unreadable
from thresher.agent.offers import SEARCH, ToolOutcome
from thresher.agent.prompt import ROUNDS
from thresher.agent.state import PlacedPassage, Searches, State, Update
from thresher.agent.subtasks import TURNS, grade, rephrase
from thresher.agent.transcript import answered, former_words, marked, now, open_calls, question
from thresher.agent.turn_context import TurnContext
from thresher.core import StoreError, event, shortened
from thresher.embedding import count_tokens

logger = logging.getLogger("thresher.agent")

_WORDS: Final = 1_000
"""Characters of the person's message that are searched for besides the rephrased question."""
_CLOSED: Final = f"{SEARCH} is not offered now. Answer with what there is."


@dataclass(frozen=True, slots=True)
class _RetrievedPassages:
    """The result of one call.

    Attributes:
        call: The model's.
        query: The question that was searched for, standing alone.
        passages: The relevant ones.
        left_out: Those that the grader found irrelevant; people see them.
        repositories: Those that were searched.
        failed: Why nothing could be searched.
    """

    call: ToolCall
    query: str
    passages: tuple[PlacedPassage, ...] = ()
    repositories: tuple[str, ...] = ()
    failed: str = ""
    left_out: tuple[PlacedPassage, ...] = ()


async def retrieve(state: State, runtime: Runtime[TurnContext]) -> Update:
    """Answer the calls that search documents."""
    context, messages = runtime.context, state["messages"]
    searches = state.get("searches") or Searches()
    theirs = state.get("theirs", ())
    calls = [call for call in open_calls(messages) if call["name"] == SEARCH and SEARCH not in theirs]
    former = former_words(messages, TURNS)
    closed = searches.barren or searches.rounds >= ROUNDS or SEARCH not in state.get("offered", ())
    taken = [] if closed or not context.settings.documents else calls[:ROUNDS]
    whole = await asyncio.gather(*(_searched(context, call, former, question(messages)) for call in taken))
    fresh, answers = list[PlacedPassage](), [answered(call, _CLOSED, failed=True) for call in calls[len(taken) :]]
    for found in whole:
        known = (*searches.passages, *fresh)
        placed = _numbered(known, found.passages, context.settings.document_tokens)
        answers.append(await _told(context, found, placed))
        fresh += placed
        context.account.repositories.update(dict.fromkeys(found.repositories))
    kept = [replace(one, artifact=_artifact(answers, one)) for one in fresh]
    if not taken:
        return {"messages": answers}
    return {
        "messages": answers,
        "searches": Searches((*searches.passages, *kept), searches.rounds + 1, barren=not fresh),
    }


async def _searched(context: TurnContext, call: ToolCall, former: Sequence[str], words: str) -> _RetrievedPassages:
    """What a call finds; whatever goes wrong, the turn goes on without documents and says so."""
    try:
        return await _search(context, call, former, words)
    except Exception as error:  # a search is optional: a turn must not fail because of it
        logger.warning("search failed", exc_info=error, extra={"fields": {"trace": context.trace}})
        context.account.note(f"The documents could not be searched (reference {context.trace}).")
        return _RetrievedPassages(call, "", failed="The documents could not be searched.")


async def _search(context: TurnContext, call: ToolCall, former: Sequence[str], words: str) -> _RetrievedPassages:
    arguments = call["args"]
    asked = str(arguments.get("query") or "")
    if unreadable(arguments) or not asked.strip():
        return _RetrievedPassages(call, "", failed="The call has no query.")
    if former:
        context.tell(Step("rephrase"))
    query = await rephrase(context, asked, former)
    queries = [query]
    if query != asked:
        context.account.rephrased = query
        queries = list(dict.fromkeys((query, asked, shortened(words.strip(), _WORDS) or asked)))
    event(logger, "question rephrased", changed=query != asked, turns=len(former))
    context.tell(Step("search", query, {"queries": queries}))
    given = {key: value for key, value in arguments.items() if key in ("repository", "search_type")}
    outcomes = await asyncio.gather(*(_asked(context, {**given, "query": one}) for one in queries))
    found = [one for one in outcomes if not one.failed]
    if not found:
        context.account.note(f"The documents could not be searched: {outcomes[0].text[:200]}")
        return _RetrievedPassages(call, query, failed=outcomes[0].text[:500])
    return await _graded(context, call, query, [one.data for one in found])


async def _asked(context: TurnContext, arguments: Mapping[str, Any]) -> ToolOutcome:
    outcome = await context.offers.call(
        SEARCH, {**arguments, "limit": context.settings.top_k}, context.settings.tool_seconds
    )
    state = "failed" if outcome.failed else "done"
    context.account.called.append(CalledTool(SEARCH, state, outcome.ms, outcome.text[:200] if outcome.failed else ""))
    return outcome


async def _graded(
    context: TurnContext, call: ToolCall, query: str, answers: Sequence[Mapping[str, Any]]
) -> _RetrievedPassages:
    repositories = tuple(dict.fromkeys(str(one["name"]) for data in answers for one in data.get("repositories", ())))
    passages = fused([[_passage(one) for one in data.get("passages", ())] for data in answers], context.settings.top_k)
    event(logger, "repositories searched", repositories=len(repositories), passages=len(passages))
    for degraded in dict.fromkeys(data["degraded"] for data in answers if data.get("degraded")):
        context.account.note(f"The search was limited: {degraded}")
    counted = {"repositories": list(repositories), "passages": len(passages)}
    context.tell(Step("found", f"{len(passages)} passages of {', '.join(repositories) or 'no repository'}", counted))
    relevant = passages
    if passages and context.settings.grading:
        context.tell(Step("grade", data={"passages": len(passages)}))
        relevant = tuple(await grade(context, query, passages))
        event(logger, "passages graded", passages=len(passages), relevant=len(relevant))
        verdict = {"relevant": len(relevant), "left_out": len(passages) - len(relevant)}
        context.tell(Step("graded", f"{len(relevant)} of {len(passages)} are relevant", verdict))
    places = {one.place for one in relevant}
    left_out = tuple(replace(one, number=0, used=False) for one in passages if one.place not in places)
    return _RetrievedPassages(call, query, relevant, repositories, left_out=left_out)


def fused(rankings: Sequence[Sequence[PlacedPassage]], limit: int) -> tuple[PlacedPassage, ...]:
    """The passages of several searches as one ranking, by reciprocal ranks (Cormack et al., SIGIR 2009, k = 60).

    Args:
        rankings: Best first each.
        limit: Passages at most.
    """
    scores: dict[Any, float] = {}
    known: dict[Any, PlacedPassage] = {}
    for ranking in rankings:
        for rank, one in enumerate(ranking, 1):
            known.setdefault(one.place, one)
            scores[one.place] = scores.get(one.place, 0.0) + 1 / (60 + rank)
    best = sorted(scores, key=lambda place: -scores[place])[:limit]
    return tuple(replace(known[place], number=number) for number, place in enumerate(best, 1))


def _passage(one: Mapping[str, Any]) -> PlacedPassage:
    part = one["part"]
    lines = (int(part["first_line"]), int(part["last_line"]))
    text = str(one["text"])
    return PlacedPassage(
        0, one["repository"], part["path"], lines, tuple(part["heading_path"]), text, count_tokens(text)
    )


def _numbered(known: Sequence[PlacedPassage], passages: Sequence[PlacedPassage], room: int) -> list[PlacedPassage]:
    """Those passages that are new, within what is left of the turn's tokens, numbered on."""
    places = {one.place for one in known}
    room -= sum(one.tokens for one in known)
    placed = list[PlacedPassage]()
    for one in passages:
        if one.place in places or one.tokens > room:
            continue
        places.add(one.place)
        room -= one.tokens
        placed.append(replace(one, number=len(known) + len(placed) + 1))
    return placed


async def _told(context: TurnContext, found: _RetrievedPassages, placed: Sequence[PlacedPassage]) -> ToolMessage:
    """The message that people find in the history; models are not shown it."""
    marks: dict[str, Any] = {"internal": True, "query": found.query, "at": now()}
    if kept := [*placed, *found.left_out]:
        try:
            marks["artifact"] = str(await context.artifacts.add("documents", SEARCH, written_passages(kept)))
        except StoreError as error:
            context.account.note(f"The passages could not be kept for you to read later: {error.message}")
    where = ", ".join(dict.fromkeys(one.repository for one in placed))
    text = found.failed or (f"{len(placed)} passages of {where}" if placed else "Nothing relevant was found.")
    text += f" Not used: {len(found.left_out)}, graded as not relevant." if found.left_out else ""
    return answered(found.call, text, failed=bool(found.failed), **marks, numbers=[one.number for one in placed])


def _artifact(answers: Sequence[ToolMessage], passage: PlacedPassage) -> str:
    for one in answers:
        marks = marked(one)
        if passage.number in marks.get("numbers", ()):
            return str(marks.get("artifact", ""))
    return ""
