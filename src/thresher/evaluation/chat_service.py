"""Has scripted conversations with a model, each also in the standard pattern, and counts what both took.

Invariant: threads that are made for it are removed, however it ends; calls that wait for a person are declined.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias
from uuid import UUID, uuid4

from thresher.agent import (
    AgentSettings,
    Assistant,
    ChatCall,
    Conversations,
    Decision,
    Delta,
    Event,
    Models,
    Offers,
    ThreadEntry,
    Threads,
    TurnReport,
)
from thresher.calling import Calling
from thresher.core import Caller, InvalidInput, NotFound, acting_for
from thresher.evaluation.chat_counting import Prompt
from thresher.evaluation.chat_figures import READER, Conversed, Spoken
from thresher.evaluation.chat_reader import Script, ScriptedTurn
from thresher.evaluation.chat_standard import Standard, run_standard
from thresher.knowledge.tools import Consents
from thresher.llm import Message, service_address
from thresher.services import Services, open_conversations

Progress: TypeAlias = Callable[[str, int, int], None]
"""Told a stage, how much of it is done, and how much there is."""

DECISIONS: Final = 5
"""How often a turn may wait for a person."""
_DEFAULT: Final = "default"
"""The name of the model of THRESHER_LLM_URL."""
_DECLINED: Final = "An evaluation changes nothing."


@dataclass(slots=True)
class Watched:
    """Takes down what models are asked, as it goes over the wire."""

    bodies: list[Mapping[str, Any]] = field(default_factory=list[Mapping[str, Any]])

    def __call__(self, body: Mapping[str, Any]) -> None:
        """Take down a request."""
        self.bodies.append({"messages": tuple(body["messages"]), "tools": tuple(body.get("tools") or ())})

    def take(self, turn: int) -> list[Prompt]:
        """What was asked since the last taking."""
        taken, self.bodies = self.bodies, []
        return [Prompt(turn, body["messages"], body["tools"]) for body in taken]


@dataclass(frozen=True, slots=True)
class ChatTrial:
    """What conversations are had with.

    Attributes:
        caller: For whom.
        conversations: With `models`.
        models: Their requests are told to `watched`.
        watched: Takes them down.
        settings: What holds in conversations.
        consents: What callers have agreed to.
        calling: Runs tools in the standard pattern.
        model: A model's name; empty: the caller's.
    """

    caller: Caller
    conversations: Conversations
    models: Models
    watched: Watched
    settings: AgentSettings
    consents: Consents
    calling: Calling
    model: str = ""


@dataclass(frozen=True, slots=True)
class Answered:
    """A turn's question, answer and what it rests on, for a judge."""

    conversation: str
    turn: int
    question: str
    answer: str
    passages: tuple[str, ...]


@asynccontextmanager
async def open_trial(
    services: Services,
    threads: Threads,
    assistant: Assistant,
    caller: Caller,
    *,
    model: str = "",
    url: str = "",
) -> AsyncGenerator[ChatTrial]:
    """Conversations whose requests are watched.

    Args:
        services: Of the running product.
        threads: Where conversations are while they are had.
        assistant: Of the running product.
        caller: For whom.
        model: A registered model's name; with `url` the service's name for it.
        url: Of a service that is not registered; it is asked without a key.

    Raises:
        InvalidInput: The address is none.
    """
    settings = services.settings
    if url:
        service_address(url, "--url", "Register the model with its key, and give its name.")
        settings = settings.model_copy(update={"llm_url": url, "llm_model": model or "model", "llm_key": None})
    watched = Watched()
    models = Models(services.database, services.secrets, settings, watch=watched)
    conversations = open_conversations(services, threads, assistant, models=models)
    try:
        yield ChatTrial(
            caller,
            conversations,
            models,
            watched,
            services.chat_settings,
            services.tools.consents,
            services.calling,
            _DEFAULT if url else model,
        )
    finally:
        await models.close()


async def evaluate_chat(
    trial: ChatTrial, scripts: Sequence[Script], progress: Progress
) -> tuple[list[Conversed], list[Answered]]:
    """Have the conversations, one after another.

    Args:
        trial: With what.
        scripts: What is said.
        progress: Told how far it is.

    Returns:
        What came of each, and all answers.

    Raises:
        InvalidInput: There is no model, or a conversation's settings are none.
        ModelError: The model fails in the standard pattern.
    """
    for script in scripts:
        if await _open(trial, script) is None:
            raise InvalidInput("There is no model to evaluate.", hint="Register one, or give --url.")
    done: list[Conversed] = []
    answers: list[Answered] = []
    for number, script in enumerate(scripts):
        progress("Talking", number, len(scripts))
        conversed, said = await _converse(trial, script)
        done.append(conversed)
        answers += said
    return done, answers


async def _open(trial: ChatTrial, script: Script) -> Any:
    settings = await trial.settings.of(trial.caller, None, script.settings)
    return await trial.models.open(trial.caller, trial.model, settings=settings)


async def _converse(trial: ChatTrial, script: Script) -> tuple[Conversed, list[Answered]]:
    thread = uuid4()
    turns: list[Spoken] = []
    texts: list[str] = []
    prompts: list[Prompt] = []
    trial.watched.bodies.clear()
    try:
        for number, turn in enumerate(script.turns):
            spoken, text = await _speak(trial, script, turn, thread)
            taken = trial.watched.take(number)
            turns.append(replace(spoken, offered=_offered(taken)))
            texts.append(text)
            prompts += taken
        found = passages_of(await trial.conversations.history(trial.caller, thread))
    finally:
        with suppress(NotFound):
            await trial.conversations.clear(trial.caller, thread)
    standard, times = await _standard(trial, script, prompts, found)
    answers = [
        Answered(script.name, number + 1, turn.user, text, tuple(passages))
        for number, (turn, text, passages) in enumerate(zip(script.turns, texts, found, strict=True))
    ]
    return Conversed(script.name, turns, prompts, found, standard, times), answers


async def _speak(trial: ChatTrial, script: Script, turn: ScriptedTurn, thread: UUID) -> tuple[Spoken, str]:
    """One turn, with all that waits in it declined; its figures but for what was offered, and its answer."""
    extra = {**script.settings, **({"model": trial.model} if trial.model else {})}
    call = ChatCall((Message("user", turn.user),), thread, settings=extra)
    started, first, reports, text = time.perf_counter(), None, list[TurnReport](), ""
    for _ in range(DECISIONS):
        async with aclosing(_events(trial, call)) as events:
            async for told in events:
                if isinstance(told, Delta):
                    text += told.text
                    first = first or time.perf_counter()
                elif isinstance(told, TurnReport):
                    reports.append(told)
        if not (waiting := reports[-1].approvals):
            break
        declined = tuple(Decision(one.id, approved=False, reason=_DECLINED) for one in waiting)
        call = replace(call, messages=(), decisions=declined)
    ended = time.perf_counter()
    last = reports[-1]
    spoken = Spoken(
        offered=frozenset(),
        called=frozenset(one.name for report in reports for one in report.tools_called) - {READER},
        wanted=None if turn.steps is None else turn.tools - {READER},
        documents=last.documents,
        document_tokens=last.document_tokens,
        finish=last.finish,
        ms=(ended - started) * 1000,
        first_ms=None if first is None else (first - started) * 1000,
    )
    return spoken, text


def _offered(prompts: Sequence[Prompt]) -> frozenset[str]:
    return frozenset(tool["function"]["name"] for prompt in prompts for tool in prompt.tools)


def _events(trial: ChatTrial, call: ChatCall) -> AsyncGenerator[Event]:
    return trial.conversations.talk(trial.caller, call)


async def _standard(
    trial: ChatTrial, script: Script, prompts: Sequence[Prompt], found: Sequence[Sequence[str]]
) -> tuple[list[Prompt], list[float]]:
    settings = await trial.settings.of(trial.caller, None, script.settings)
    model = await _open(trial, script)
    acting = replace(trial.caller, client=f"evaluation:{uuid4()}")
    with acting_for(acting):
        offers = Offers(trial.calling, settings, trial.consents, acting)
        await offers.core()
        await offers.describe(_offered(prompts) - {READER})
        bench = Standard(offers, model, settings)
        sent, times = await run_standard(bench, [turn.user for turn in script.turns], prompts, found)
    trial.watched.bodies.clear()
    return sent, times


def passages_of(entries: Sequence[ThreadEntry]) -> list[list[str]]:
    """The passages that each turn has placed, from what is kept of a thread; not those that the grader left out."""
    found: list[list[str]] = []
    for entry in entries:
        if entry.kind == "user":
            found.append([])
        elif found:
            found[-1] += [str(passage["text"]) for passage in entry.passages if passage.get("used", True)]
    return found
