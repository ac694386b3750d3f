"""Runs scripted conversations with a model, each also in the standard pattern, and records what both took.

Invariant: a wrong line is named before anything is asked. Threads made for an evaluation are removed, however it ends;
calls that wait for approval are declined.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, cast
from uuid import UUID, uuid4

from thresher.agent import (
    AgentSettings,
    ChatCall,
    Conversations,
    Decision,
    Delta,
    Models,
    Offers,
    ThreadEntry,
    TurnReport,
)
from thresher.calling import Calling
from thresher.core import Caller, InvalidInput, NotFound, acting_for
from thresher.evaluation.chat_figures import READER, ChatRun, ChatTurn, SentPrompt
from thresher.evaluation.chat_standard import StandardPattern, run_standard
from thresher.evaluation.files import not_empty, read_objects, wrong
from thresher.evaluation.runs import Progress
from thresher.knowledge.tools import Consents
from thresher.llm import Message, service_address
from thresher.services import Services, open_conversations

HINT: Final = (
    'Lines are {"name"?, "settings"?, "turns": [{"user": text, "calls"?: [step, ...], "says"?: text}, ...]}; a step is '
    'a tool\'s name, {"tool", "arguments"}, or a list of these that are called at once.'
)

_TURN: Final = frozenset({"user", "calls", "says"})

_CONVERSATION: Final = frozenset({"name", "settings", "turns"})


@dataclass(frozen=True, slots=True)
class ScriptedCall:
    """A call that a good model makes; without `arguments`, those that the tool and the message suggest."""

    tool: str
    arguments: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class ScriptedTurn:
    """A message of the user.

    Attributes:
        user: The text of the message.
        steps: The calls for it in order, those of a step in parallel; None if the script does not say.
        says: The answer of the deterministic model; empty for its default.
    """

    user: str
    steps: tuple[tuple[ScriptedCall, ...], ...] | None = None
    says: str = ""

    @property
    def tools(self) -> frozenset[str]:
        """Names of the tools that are called."""
        return frozenset(call.tool for step in self.steps or () for call in step)


@dataclass(frozen=True, slots=True)
class Script:
    """A scripted conversation.

    Attributes:
        name: The name of its figures.
        turns: The messages, in order.
        settings: The settings of the conversation, as `thresher settings` names them.
    """

    name: str
    turns: tuple[ScriptedTurn, ...]
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any])


def read_scripts(path: Path) -> list[Script]:
    """Read conversations.

    Raises:
        InvalidInput: The file cannot be read, or a line is wrong.
    """
    entries = [_script(path, number, fields) for number, fields in read_objects(path, HINT)]
    scripts = not_empty(entries, path, "conversations", HINT)
    names = [script.name for script in scripts]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise InvalidInput(f"{path} has two conversations '{twice}'.", hint="Give each a name of its own.")
    return scripts


def _script(path: Path, number: int, fields: Mapping[str, Any]) -> Script:
    if odd := sorted(fields.keys() - _CONVERSATION):
        raise wrong(path, number, f'"{odd[0]}" is not a field of a conversation', HINT)
    name, settings, turns = fields.get("name", f"line {number}"), fields.get("settings", {}), fields.get("turns")
    if not isinstance(name, str) or not name.strip():
        raise wrong(path, number, '"name" must be text', HINT)
    if not isinstance(settings, Mapping):
        raise wrong(path, number, '"settings" must be an object', HINT)
    if not isinstance(turns, list) or not turns:
        raise wrong(path, number, '"turns" must be a list with at least one turn', HINT)
    read = tuple(_turn(path, number, turn) for turn in cast("list[Any]", turns))
    return Script(name.strip(), read, cast("Mapping[str, Any]", settings))


def _turn(path: Path, number: int, turn: object) -> ScriptedTurn:
    if not isinstance(turn, Mapping):
        raise wrong(path, number, "a turn must be an object", HINT)
    fields = cast("Mapping[str, Any]", turn)
    if odd := sorted(fields.keys() - _TURN):
        raise wrong(path, number, f'"{odd[0]}" is not a field of a turn', HINT)
    user, says, calls = fields.get("user"), fields.get("says", ""), fields.get("calls")
    if not isinstance(user, str) or not user.strip():
        raise wrong(path, number, '"user" must be text', HINT)
    if not isinstance(says, str):
        raise wrong(path, number, '"says" must be text', HINT)
    if calls is None:
        return ScriptedTurn(user, None, says)
    if not isinstance(calls, list):
        raise wrong(path, number, '"calls" must be a list', HINT)
    return ScriptedTurn(user, tuple(_step(path, number, step) for step in cast("list[Any]", calls)), says)


def _step(path: Path, number: int, step: object) -> tuple[ScriptedCall, ...]:
    calls = cast("Sequence[object]", step if isinstance(step, list) else [step])
    if not calls:
        raise wrong(path, number, "a step has at least one call", HINT)
    return tuple(_call(path, number, call) for call in calls)


def _call(path: Path, number: int, call: object) -> ScriptedCall:
    if isinstance(call, str) and call.strip():
        return ScriptedCall(call)
    if isinstance(call, Mapping):
        fields = cast("Mapping[str, Any]", call)
        tool, arguments = fields.get("tool"), fields.get("arguments")
        if isinstance(tool, str) and tool and isinstance(arguments, Mapping) and fields.keys() <= {"tool", "arguments"}:
            return ScriptedCall(tool, cast("Mapping[str, Any]", arguments))
    raise wrong(path, number, 'a call is a name, or {"tool": name, "arguments": object}', HINT)


DECISIONS: Final = 5
"""How often a turn may wait for approval."""

_DEFAULT: Final = "default"
"""The name of the model of THRESHER_LLM_URL."""

_DECLINED: Final = "An evaluation changes nothing."


@dataclass(slots=True)
class RequestRecorder:
    """Records requests to models, as they are sent."""

    bodies: list[Mapping[str, Any]] = field(default_factory=list[Mapping[str, Any]])

    def __call__(self, body: Mapping[str, Any]) -> None:
        """Record a request."""
        self.bodies.append({"messages": tuple(body["messages"]), "tools": tuple(body.get("tools") or ())})

    def take(self, turn: int) -> list[SentPrompt]:
        """The requests since the last call."""
        taken, self.bodies = self.bodies, []
        return [SentPrompt(turn, body["messages"], body["tools"]) for body in taken]


@dataclass(frozen=True, slots=True)
class ChatTrial:
    """What an evaluation of conversations works with.

    Attributes:
        caller: The owner of the threads.
        conversations: Conversations with `models`.
        models: Models whose requests are recorded.
        watched: Records the requests.
        settings: The settings of conversations.
        consents: The callers' consents.
        calling: Runs tools in the standard pattern.
        model: The name of a model; empty for the caller's.
    """

    caller: Caller
    conversations: Conversations
    models: Models
    watched: RequestRecorder
    settings: AgentSettings
    consents: Consents
    calling: Calling
    model: str = ""


@dataclass(frozen=True, slots=True)
class ChatAnswer:
    """A turn's question, answer and passages, for a judge."""

    conversation: str
    turn: int
    question: str
    answer: str
    passages: tuple[str, ...]


@asynccontextmanager
async def open_trial(
    services: Services,
    caller: Caller,
    *,
    model: str = "",
    url: str = "",
) -> AsyncGenerator[ChatTrial]:
    """Open an evaluation of conversations.

    Args:
        services: The services of the running product.
        caller: The owner of the threads.
        model: A registered model's name; with `url`, the name that the service has for it.
        url: The address of a service that is not registered; it is called without a key.

    Raises:
        InvalidInput: The address is not valid.
    """
    settings = services.settings
    if url:
        service_address(url, "--url", "Register the model with its key, and give its name.")
        settings = settings.model_copy(update={"llm_url": url, "llm_model": model or "model", "llm_key": None})
    watched = RequestRecorder()
    models = Models(services.database, services.secrets, settings, watch=watched)
    conversations = open_conversations(services, models=models)
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
) -> tuple[list[ChatRun], list[ChatAnswer]]:
    """Run the conversations, one after the other.

    Args:
        trial: The product under evaluation.
        scripts: The conversations.
        progress: Called with the progress.

    Returns:
        The conversations as they went, and all answers.

    Raises:
        InvalidInput: There is no model, or settings are not valid.
        ModelError: The model fails in the standard pattern.
    """
    for script in scripts:
        if await _open(trial, script) is None:
            raise InvalidInput("There is no model to evaluate.", hint="Register one, or give --url.")
    done: list[ChatRun] = []
    answers: list[ChatAnswer] = []
    for number, script in enumerate(scripts):
        progress("Talking", number, len(scripts))
        conversed, spoken = await _converse(trial, script)
        done.append(conversed)
        answers += spoken
    return done, answers


async def _open(trial: ChatTrial, script: Script) -> Any:
    settings = await trial.settings.of(trial.caller, None, script.settings)
    return await trial.models.open(trial.caller, trial.model, settings=settings)


async def _converse(trial: ChatTrial, script: Script) -> tuple[ChatRun, list[ChatAnswer]]:
    thread = uuid4()
    turns: list[ChatTurn] = []
    texts: list[str] = []
    prompts: list[SentPrompt] = []
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
        ChatAnswer(script.name, number + 1, turn.user, text, tuple(passages))
        for number, (turn, text, passages) in enumerate(zip(script.turns, texts, found, strict=True))
    ]
    return ChatRun(script.name, turns, prompts, found, standard, times), answers


async def _speak(trial: ChatTrial, script: Script, turn: ScriptedTurn, thread: UUID) -> tuple[ChatTurn, str]:
    """Run a turn and decline the calls that wait; returns it without the offered tools, and its answer."""
    extra = {**script.settings, **({"model": trial.model} if trial.model else {})}
    call = ChatCall((Message("user", turn.user),), thread, settings=extra)
    started, first, reports, text = time.perf_counter(), None, list[TurnReport](), ""
    for _ in range(DECISIONS):
        async with aclosing(trial.conversations.talk(trial.caller, call)) as events:
            async for event in events:
                if isinstance(event, Delta):
                    text += event.text
                    first = first or time.perf_counter()
                elif isinstance(event, TurnReport):
                    reports.append(event)
        if not (waiting := reports[-1].approvals):
            break
        declined = tuple(Decision(one.id, approved=False, reason=_DECLINED) for one in waiting)
        call = replace(call, messages=(), decisions=declined)
    ended = time.perf_counter()
    last = reports[-1]
    spoken = ChatTurn(
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


def _offered(prompts: Sequence[SentPrompt]) -> frozenset[str]:
    return frozenset(tool["function"]["name"] for prompt in prompts for tool in prompt.tools)


async def _standard(
    trial: ChatTrial, script: Script, prompts: Sequence[SentPrompt], found: Sequence[Sequence[str]]
) -> tuple[list[SentPrompt], list[float]]:
    settings = await trial.settings.of(trial.caller, None, script.settings)
    model = await _open(trial, script)
    acting = replace(trial.caller, client=f"evaluation:{uuid4()}")
    with acting_for(acting):
        offers = Offers(trial.calling, settings, trial.consents, acting)
        await offers.core()
        await offers.describe(_offered(prompts) - {READER})
        bench = StandardPattern(offers, model, settings)
        sent, times = await run_standard(bench, [turn.user for turn in script.turns], prompts, found)
    trial.watched.bodies.clear()
    return sent, times


def passages_of(entries: Sequence[ThreadEntry]) -> list[list[str]]:
    """The passages in the prompts of each turn, from a stored thread, without those that the grader rejected."""
    found: list[list[str]] = []
    for entry in entries:
        if entry.kind == "user":
            found.append([])
        elif found:
            found[-1] += [str(passage["text"]) for passage in entry.passages if passage.get("used", True)]
    return found
