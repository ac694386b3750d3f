"""Says in which conversation the work under way is done; also to tools that take a `Thread`.

Invariant: a conversation is named by whoever answers in it, inside this process, and by nothing that a client sends. No
schema can be made of one, so no caller can give a tool another one.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn
from uuid import UUID


@dataclass(frozen=True, slots=True)
class Talk:
    """A conversation as a tool may see it, which calls it its `Thread`; an empty one stands for none.

    Attributes:
        id: Of the thread; None outside of a conversation, and in one that is not kept.
        title: In the words of its owner.
        settings: What holds in it, by name: its own, else its owner's, else the defaults.
        model_name: What people call the model that answers in it; empty without one.
        model: That model as a `thresher.llm.Chat`; None where it cannot be asked.
    """

    id: UUID | None = None
    title: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any])
    model_name: str = ""
    model: Any = None

    @property
    def connection(self) -> str:
        """The database that is meant where none is named; empty where none is set."""
        return str(self.settings.get("connection") or "")

    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: object) -> NoReturn:
        """Refuse to be a part of what a tool takes from its caller, or of what it answers with.

        Raises:
            TypeError: Always.
        """
        raise TypeError("a thread is given to a parameter that is annotated `Thread`, with nothing around it")


_NONE = Talk()
_talk: ContextVar[Talk] = ContextVar("thresher_talk", default=_NONE)


@contextmanager
def talking_in(talk: Talk | None) -> Generator[None]:
    """Everything inside the block, every task begun there and every session opened there is part of a conversation.

    Args:
        talk: Which; None: of none.
    """
    token = _talk.set(_NONE if talk is None else talk)
    try:
        yield
    finally:
        _talk.reset(token)


def current_talk() -> Talk:
    """The conversation that the work under way is part of; its settings are the asker's own to change."""
    talk = _talk.get()
    return replace(talk, settings=dict(talk.settings))
