"""The state of a conversation: what is kept of it between steps and turns, and what lives for one turn.

Invariant: no text of a document is in a channel that is kept; messages are only added, or replaced under their id.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final, Required, TypeAlias, TypedDict

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolMessage
from langgraph.channels import DeltaChannel
from langgraph.channels.untracked_value import UntrackedValue
from langgraph.managed import RemainingSteps

from thresher.agent.exchange import Citation

Messages: TypeAlias = list[AnyMessage]

SNAPSHOT: Final = 50
"""Every so many changes the messages are stored whole; what is written between is stored once."""
MARK: Final = "thresher"
"""Where a message keeps what is ours: `internal`, `state`, `artifact`, `report`."""
_CITED: Final = re.compile(r"\[(\d{1,3}(?:\s*[,;]\s*\d{1,3})*)\]")
CLASSES: Final = (AIMessage, HumanMessage, SystemMessage, ToolMessage)


@dataclass(frozen=True, slots=True)
class PlacedPassage:
    """A passage before the model.

    Attributes:
        number: What the answer cites it by, from 1, over all searches of the turn.
        repository: Where it stands.
        path: The document.
        lines: First and last.
        heading: Outermost first.
        text: Verbatim.
        tokens: Of the text.
        artifact: Where it is kept for people; empty in a call without a thread.
        used: Whether it is before the model; else the grader took it for not relevant, its number is 0, and people
            alone see it.
    """

    number: int
    repository: str
    path: str
    lines: tuple[int, int]
    heading: tuple[str, ...]
    text: str
    tokens: int
    artifact: str = ""
    used: bool = True

    @property
    def place(self) -> tuple[str, str, tuple[int, int]]:
        """What tells it from others."""
        return self.repository, self.path, self.lines


@dataclass(frozen=True, slots=True)
class Searches:
    """What the searches of a turn have come to; it lives for the turn alone.

    Attributes:
        passages: By number.
        rounds: How often was searched.
        barren: Whether the last search found nothing that is relevant.
    """

    passages: tuple[PlacedPassage, ...] = ()
    rounds: int = 0
    barren: bool = False

    @property
    def tokens(self) -> int:
        """Of all passages."""
        return sum(one.tokens for one in self.passages)

    def cited(self, text: str) -> tuple[Citation, ...]:
        """The passages that an answer names, by number."""
        named = {int(number) for group in _CITED.findall(text) for number in re.findall(r"\d+", group)}
        return tuple(
            Citation(one.number, one.repository, one.path, one.lines, one.heading, one.artifact)
            for one in self.passages
            if one.number in named
        )


def kept(messages: Messages, writes: Sequence[Sequence[AnyMessage]]) -> Messages:
    """The messages after some writes: added in order, one with a known id in place of the former.

    Applying writes one by one gives the same as applying them at once.
    """
    places = {message.id: place for place, message in enumerate(messages)}
    whole = [*messages]
    for message in (one for written in writes for one in written):
        if (place := places.get(message.id)) is None:
            places[message.id] = len(whole)
            whole.append(message)
        else:
            whole[place] = message
    return whole


class State(TypedDict, total=False):
    """What the steps of a turn read and write.

    `offered`: names of the tools that the model has, in their order, which stays from turn to turn. `theirs`: names of
    the client's own, in this turn. `intents`: of the last message. `around`: what there is to ask, as the prompt says
    it. `rules`: of packs, for this turn. `passed`: tokens of passages that earlier turns have placed. `retried`: why
    intent was detected again in this turn. `instruction`: of the thread, from its client's system messages.
    `searches`: of this turn alone, and never stored.
    """

    messages: Required[Annotated[Messages, DeltaChannel(kept, list, snapshot_frequency=SNAPSHOT)]]
    offered: list[str]
    theirs: list[str]
    intents: list[str]
    around: str
    rules: str
    passed: int
    retried: str
    instruction: str
    searches: Annotated[Searches, UntrackedValue]
    remaining: RemainingSteps


Update: TypeAlias = dict[str, Any]
"""What a step writes."""
