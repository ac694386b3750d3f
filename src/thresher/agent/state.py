"""The state of a conversation: what is kept between steps and turns, and what lives for one turn.

Invariant: no text of a document is in a stored channel; messages are only added, or replaced under their id.
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
"""After so many changes all messages are stored; in between, each change is stored once."""
MARK: Final = "thresher"
"""The key of Thresher's own data in a message: `internal`, `state`, `artifact`, `report`."""
_CITED: Final = re.compile(r"\[(\d{1,3}(?:\s*[,;]\s*\d{1,3})*)\]")
CLASSES: Final = (AIMessage, HumanMessage, SystemMessage, ToolMessage)


@dataclass(frozen=True, slots=True)
class PlacedPassage:
    """A passage given to the model.

    Attributes:
        number: The number that the answer cites, from 1, over all searches of the turn.
        repository: The repository.
        path: The document.
        lines: First and last.
        heading: Outermost first.
        text: Verbatim.
        tokens: Of the text.
        artifact: The artifact that keeps it for people; empty in a call without a thread.
        used: Whether the model sees it; if the grader found it irrelevant, its number is 0, and only people see it.
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
        """What distinguishes it from others."""
        return self.repository, self.path, self.lines


@dataclass(frozen=True, slots=True)
class Searches:
    """The results of a turn's searches; they live only for the turn.

    Attributes:
        passages: By number.
        rounds: Number of searches.
        barren: Whether the last search found nothing relevant.
    """

    passages: tuple[PlacedPassage, ...] = ()
    rounds: int = 0
    barren: bool = False

    @property
    def tokens(self) -> int:
        """Tokens of all passages."""
        return sum(one.tokens for one in self.passages)

    def cited(self, text: str) -> tuple[Citation, ...]:
        """Return the passages that an answer cites, by number."""
        named = {int(number) for group in _CITED.findall(text) for number in re.findall(r"\d+", group)}
        return tuple(
            Citation(one.number, one.repository, one.path, one.lines, one.heading, one.artifact)
            for one in self.passages
            if one.number in named
        )


def kept(messages: Messages, writes: Sequence[Sequence[AnyMessage]]) -> Messages:
    """Return the messages after some writes: added in order, one with a known id replacing the former.

    Applying writes one by one gives the same result as applying them at once.
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

    `offered`: names of the model's tools, in their order, which stays from turn to turn. `theirs`: names of the
    client's own, in this turn. `intents`: of the last message. `around`: the repositories and databases, as the prompt
    lists them. `all_tools`: tokens of the definitions of all enabled tools. `rules`: of packs, for this turn. `passed`:
    tokens of passages that earlier turns have placed. `retried`: why intent was detected again in this turn.
    `instruction`: of the thread, from its client's system messages. `searches`: only of this turn, and never stored.
    """

    messages: Required[Annotated[Messages, DeltaChannel(kept, list, snapshot_frequency=SNAPSHOT)]]
    offered: list[str]
    theirs: list[str]
    intents: list[str]
    around: str
    all_tools: int
    rules: str
    passed: int
    retried: str
    instruction: str
    searches: Annotated[Searches, UntrackedValue]
    remaining: RemainingSteps


Update: TypeAlias = dict[str, Any]
"""What a step writes."""
