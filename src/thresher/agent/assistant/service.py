"""Answers questions without a model: classifies them, chooses and calls tools, and formats the answers.

Invariant: tools are called through `calling`, for the asking caller; a tool that fails costs only its own part of the
answer. A conversation engine with a model can stand beside it and fall back on `ask`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from thresher.agent.assistant.answers import NOTHING_INSTALLED, answer_text, failed_text
from thresher.agent.assistant.choice import APIS, DATABASES, KINDS, follow, installed, kind_of, weighed
from thresher.agent.assistant.endpoints import read_named, report_usage, reviews_wanted
from thresher.agent.assistant.inquiry import Findings, Inquiry
from thresher.agent.assistant.intents import UNRECOGNISED, IntentReader, Wish
from thresher.agent.assistant.questions import ResolvedQuestion, read_cues, resolve
from thresher.agent.assistant.records import AssistantAnswer, Intent, RememberedTurn, Reply
from thresher.agent.assistant.schemas import report_statements
from thresher.agent.assistant.sessions import AssistantSessions
from thresher.agent.assistant.toolbox import Toolbox
from thresher.calling import Calling
from thresher.core import ASSISTANT, Caller, InvalidInput, StoreError, acting_for, event, traced
from thresher.embedding import Encoder, printable
from thresher.knowledge.intents import IntentService
from thresher.store import Database

logger = logging.getLogger("thresher.agent")

QUERY_CHARACTERS: Final = 4_000
CONTEXT_CHARACTERS: Final = 20_000
NAMED: Final = 0.9
"""Confidence in a question that names an operation: it is about that one."""
WEAK: Final = 0.2
"""A kind whose best result is less relevant is shown only if no other has found anything better."""
ALSO: Final = 0.2
"""Least probability at which a kind is shown beside the most likely one."""
SURE: Final = 0.9
"""Probability of a kind at which even weak results are shown: nothing else is meant."""
REPORTED: Final = 0.6
"""Least confidence in a wish for figures that no word of the question confirms."""


@dataclass(frozen=True, slots=True)
class _ReadQuestion:
    """A question, and what is known of it before a tool is called."""

    inquiry: Inquiry
    wish: Wish
    routed: Mapping[str, float] = field(default_factory=dict[str, float])


class Assistant:
    """Answers questions over everything that is installed. One per process.

    Args:
        calling: Runs tools.
        intents: Routes questions to packs.
        database: The database of conversations and of the training lines' vectors.
        encoder: Embeds questions.

    Attributes:
        sessions: The conversations.
    """

    def __init__(self, calling: Calling, intents: IntentService, database: Database, encoder: Encoder) -> None:
        self.sessions = AssistantSessions(database)
        self._calling = calling
        self._intents = intents
        self._reader = IntentReader(database, encoder)

    async def prepare(self, caller: Caller) -> None:
        """Prepare the classification of questions before the first one comes."""
        await self._reader.prepare(caller.tenant)

    async def close(self) -> None:
        """Stop the background work."""
        await self._reader.close()

    async def ask(
        self, caller: Caller, query: str, *, context: str = "", session_id: str = "", begins: bool = False
    ) -> AssistantAnswer:
        """Answer a question.

        Args:
            caller: The caller.
            query: The question, in any words; it may continue the last ones of its conversation.
            context: The topic of the conversation, in the asker's words.
            session_id: The conversation's id, from its last answer; without one a new conversation begins.
            begins: Whether a conversation begins if there is none of this id.

        Raises:
            InvalidInput: Question or context is empty or too long, or the id is not valid.
            NotFound: The conversation does not exist or has expired.
            StoreUnavailable: The database does not answer.
        """
        query, context = checked(query, context)
        with traced():
            conversation = await self.sessions.open(caller, session_id, begins=begins)
            acting = replace(caller, client=f"{ASSISTANT}{conversation.name}")
            asked = resolve(query, conversation.turns)
            with acting_for(acting):
                reading = self._understand(acting, asked, query, context)
                box, understood = await asyncio.gather(Toolbox.of(self._calling, acting), reading)
                understood = await _with_reviews(box, understood)
                found = await _answered(box, understood)
            answer = _answer(query, conversation.name, understood, found, tuple(box.called), installed(box))
            answer = await self._remembered(caller, answer, understood, found)
        event(logger, "asked", tenant=caller.tenant.id, type=answer.intent.type, results=len(answer.response.results))
        return answer

    async def _understand(self, caller: Caller, asked: ResolvedQuestion, query: str, context: str) -> _ReadQuestion:
        if asked.more is not None or asked.lost:
            wish = Wish(asked.more.type if asked.more is not None else "endpoint_info", NAMED)
            cues = read_cues(query if asked.lost else asked.text)
            return _ReadQuestion(Inquiry(wish.type, asked, cues, context, query), wish)
        wish, cues = await self._reader.read(caller.tenant, asked.text), read_cues(f"{query}\n{asked.text}")
        if (cues.names_call or asked.subject) and wish.type in ("search", "endpoint_info"):
            wish = replace(wish, type="endpoint_info", confidence=max(NAMED, wish.confidence))
        if wish.type == "analytics" and wish.confidence < REPORTED and not (cues.improving or cues.metrics):
            wish = replace(wish, type="search")  # such as how many rows: the findings decide, not a report
        inquiry = Inquiry(wish.type, asked, cues, context, query)
        if asked.subject or cues.names_call:
            return _ReadQuestion(inquiry, wish)
        decision = await self._intents.route(caller, asked.text)
        return _ReadQuestion(inquiry, wish, {score.intent: score.score for score in decision.scores})

    async def _remembered(
        self, caller: Caller, answer: AssistantAnswer, understood: _ReadQuestion, found: Findings
    ) -> AssistantAnswer:
        """Return the answer after storing its turn; a failure is noted."""
        reply = answer.response
        turn = RememberedTurn(
            query=answer.query,
            understood=understood.inquiry.asked.topic or reply.query,
            type=answer.intent.type,
            subjects=found.subjects[: len(reply.results)],
            sources=found.sources[:1] or understood.inquiry.asked.sources,
            more=found.more,
            kind=found.kind or understood.inquiry.asked.kind,
        )
        try:
            await self.sessions.add(caller, answer.session_id, turn)
        except StoreError as error:
            event(logger, "turn not kept", level=logging.WARNING, tenant=caller.tenant.id, reason=error.message)
            notes = (*reply.notes, "this turn could not be kept: the next question has to stand on its own")
            return replace(answer, response=replace(reply, notes=notes))
        return answer


def checked(query: object, context: object = "") -> tuple[str, str]:
    """Return a question and its context that can be answered.

    Raises:
        InvalidInput: One is not text, or too long, or the question is blank.
    """
    for name, value, most in (("query", query, QUERY_CHARACTERS), ("context", context, CONTEXT_CHARACTERS)):
        if not isinstance(value, str):
            raise InvalidInput(f"{name} must be a text.", hint="Give the person's words.")
        if len(value) > most:
            raise InvalidInput(
                f"{name} has {len(value):,} characters; the limit is {most:,}.", hint="Leave out pastes."
            )
    text = printable(str(query).replace("\0", " ").strip())
    if not text:
        raise InvalidInput("query is empty.", hint="Give the person's words.")
    return text, printable(str(context).replace("\0", " ").strip())


async def _with_reviews(box: Toolbox, understood: _ReadQuestion) -> _ReadQuestion:
    """Return a question, read as one for a review if it names an API together with words about its description.

    The classifier cannot know this: its lines hold some names of APIs but not the installed ones, which are also names
    of tables and of other things.
    """
    inquiry = understood.inquiry
    if inquiry.asked.lost or inquiry.asked.more is not None or inquiry.cues.names_call:
        return understood
    if not (names := await reviews_wanted(box, inquiry)):
        return understood
    asked = replace(inquiry.asked, subject=None)
    wish = replace(understood.wish, type="analytics", confidence=max(NAMED, understood.wish.confidence))
    return replace(understood, inquiry=replace(inquiry, type="analytics", asked=asked, reviewed=names), wish=wish)


async def _answered(box: Toolbox, understood: _ReadQuestion) -> Findings:
    """Return the tools' answers; if no wish is recognised and nothing fits well, say that nothing does."""
    inquiry = understood.inquiry
    if inquiry.asked.lost:
        return Findings()
    if (last := inquiry.asked.more) is not None:
        found = await follow(box, last.more) if last.more is not None else Findings(notes=("that was all",))
        return replace(found, kind=last.kind)
    if (subject := inquiry.asked.subject) is not None and not (inquiry.type == "analytics" and inquiry.cues.improving):
        return replace(await follow(box, subject.read), kind=kind_of(subject.read.tool))
    there = installed(box)
    if inquiry.type == "analytics":
        return await _reported(box, inquiry, understood.routed, there)
    if inquiry.cues.names_call and APIS in there:
        return replace(await read_named(box, inquiry), kind=APIS)
    return await _chosen(box, understood, there)


async def _reported(box: Toolbox, inquiry: Inquiry, routed: Mapping[str, float], there: Sequence[str]) -> Findings:
    """Return figures of the use of APIs, the last statements to databases, or reviews of descriptions."""
    statements = (
        not inquiry.reviewed
        and DATABASES in there
        and (APIS not in there or routed.get(DATABASES, 0.0) > routed.get(APIS, 0.0))
    )
    if statements:
        return replace(await report_statements(box, inquiry), kind=DATABASES)
    return replace(await report_usage(box, inquiry), kind=APIS) if APIS in there else Findings()


async def _chosen(box: Toolbox, understood: _ReadQuestion, there: Sequence[str]) -> Findings:
    """Return every kind's findings, the most likely first; others only if they are nearly as likely."""
    inquiry = understood.inquiry
    parts = await asyncio.gather(*(KINDS[name].find(box, inquiry) for name in there))
    found = dict(zip(there, parts, strict=True))
    chances = weighed({name: one for name, one in found.items() if one.results}, inquiry, understood.routed)
    fits = any(found[name].relevance >= WEAK or chances[name] >= SURE for name in chances)
    if not chances or (not fits and understood.wish.confidence <= UNRECOGNISED and not inquiry.asked.kind):
        return _joined([replace(one, results=(), more=None, subjects=()) for one in parts])
    best, *others = chances
    answer = await KINDS[best].refine(box, inquiry, found[best])
    near = [found[name] for name in others if chances[name] >= ALSO and found[name].relevance >= WEAK]
    failed = [Findings(problems=one.problems) for one in parts if one.problems and not one.results]
    return replace(_joined([answer, *near, *failed]), kind=best, sources=answer.sources or found[best].sources)


def _joined(parts: Sequence[Findings]) -> Findings:
    """Join the findings of several kinds, in their order."""
    used = [part for part in parts if part.results]
    filters: dict[str, Any] = {}
    for part in reversed(used):
        filters |= part.filters
    return Findings(
        results=tuple(item for part in used for item in part.results),
        total=sum(part.total for part in used),
        relevance=max((part.relevance for part in used), default=0.0),
        filters=filters,
        notes=tuple(dict.fromkeys(note for part in used or parts for note in part.notes)),
        problems=tuple(dict.fromkeys(problem for part in parts for problem in part.problems)),
        more=used[0].more if used else None,
        subjects=tuple(subject for part in used for subject in part.subjects),
        page=max((part.page for part in used), default=0),
    )


def _answer(
    query: str, name: str, understood: _ReadQuestion, found: Findings, called: tuple[str, ...], there: Sequence[str]
) -> AssistantAnswer:
    inquiry, wish = understood.inquiry, understood.wish
    items = found.results[: found.page]
    failed = bool(found.problems) and not items
    degraded = (wish.degraded,) if wish.degraded else ()
    notes = (*inquiry.asked.notes, *found.notes, *degraded, *(() if failed else found.problems))
    if failed:
        text = failed_text(found.problems)
    elif not items and not set(there) - {"tools"}:
        text = NOTHING_INSTALLED
    else:
        text = answer_text(items, found.total, inquiry.type, inquiry.cues, notes, more=found.more is not None)
    reply = Reply(
        type="error" if failed else wish.type,
        results=items,
        total=found.total,
        query=inquiry.text,
        filters_applied=found.filters,
        text=text,
        notes=(*notes, *found.problems) if failed else notes,
    )
    return AssistantAnswer(query, Intent(wish.type, wish.confidence, called), reply, name)
