"""The context of the steps of one turn, and the account of its costs.

Invariant: it belongs to one turn; only what its steps write to the state outlives the turn.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias
from uuid import UUID

from thresher.agent.artifacts import Artifacts, PartialAnswer
from thresher.agent.conversations import ChatServices
from thresher.agent.exchange import CalledTool, ChatCall, Event, Finish, PromptTokens, TurnReport
from thresher.agent.models import OpenModel
from thresher.agent.offers import Offers
from thresher.agent.prompts import AgentPrompt
from thresher.agent.settings import ChatSettings
from thresher.agent.state import Searches
from thresher.core import Caller
from thresher.llm import Usage

Assist: TypeAlias = Callable[[str], Awaitable[tuple[str, tuple[str, ...]]]]
"""Answers a question without a model, with a text and notes."""


@dataclass(slots=True)
class TurnAccount:
    """What a turn did and cost so far; `prompt` measures the last prompt when it is called."""

    parts: list[str] = field(default_factory=list[str])
    model: str = ""
    usage: Usage = field(default_factory=Usage)
    calls: int = 0
    rephrased: str = ""
    repositories: dict[str, None] = field(default_factory=dict[str, None])
    offered: tuple[str, ...] = ()
    called: list[CalledTool] = field(default_factory=list[CalledTool])
    saved: int = 0
    prompt: Callable[[], PromptTokens | None] = lambda: None
    intents: tuple[str, ...] = ()
    retried: str = ""
    notes: dict[str, None] = field(default_factory=dict[str, None])
    finish: Finish = "stop"

    @property
    def text(self) -> str:
        """The whole text so far."""
        return "".join(self.parts)

    def spent(self, usage: Usage | None) -> None:
        """Count a call of the model."""
        self.calls += 1
        if usage is not None:
            one = self.usage
            self.usage = Usage(one.prompt + usage.prompt, one.completion + usage.completion, one.cached + usage.cached)

    def note(self, text: str) -> None:
        """Note, once, what was degraded, cut or guessed."""
        self.notes[text] = None


@dataclass(slots=True)
class TurnContext:
    """The context of one turn.

    Attributes:
        services: The services it uses.
        caller: The caller.
        call: The request.
        settings: The settings in force.
        prompts: By name.
        model: Answers; None without one.
        assist: Answers without a model.
        offers: Tools.
        artifacts: Data kept beside the thread.
        tell: Takes events, at once.
        account: What it did and cost so far.
        thread: The conversation; None in a call without one.
        trace: Identifies the turn in the logs.
        sent: How often the model was asked for an answer.
        draft: Stores the model's words while it answers the message of an id.
    """

    services: ChatServices
    caller: Caller
    call: ChatCall
    settings: ChatSettings
    prompts: Mapping[str, AgentPrompt]
    model: OpenModel | None
    assist: Assist
    offers: Offers
    artifacts: Artifacts
    tell: Callable[[Event], None]
    thread: UUID | None = None
    trace: str = ""
    account: TurnAccount = field(default_factory=TurnAccount)
    sent: int = 0
    draft: Callable[[str], PartialAnswer] = field(kw_only=True)

    def report(self, searches: Searches, **more: Any) -> TurnReport:
        """Return the account as a report, with the turn's searches."""
        own = self.account
        return TurnReport(
            finish=own.finish,
            text=own.text,
            model=own.model,
            thread=self.thread,
            trace_id=self.trace,
            intents=own.intents,
            repositories=tuple(own.repositories),
            rephrased=own.rephrased,
            documents=len(searches.passages),
            document_tokens=searches.tokens,
            usage=own.usage,
            calls=own.calls,
            prompt=own.prompt(),
            tokens_saved=own.saved,
            tools_offered=own.offered,
            tools_called=tuple(own.called),
            citations=searches.cited(own.text),
            retried=own.retried,
            notes=tuple(own.notes),
            **more,
        )
