"""The caller and the conversation of the work under way; tools of packs read both here.

Invariant: a task started inside a block keeps that block's caller and conversation, whatever happens elsewhere at the
same time. A conversation is set inside this process, never by what a client sends: it has no schema, so no caller can
pass one.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn
from uuid import UUID

from thresher.core.errors import ConfigurationError
from thresher.core.records import Caller

_acting: ContextVar[Caller | None] = ContextVar("thresher_caller", default=None)


@contextmanager
def acting_for(caller: Caller) -> Generator[None]:
    """Do everything inside the block, and in tasks and pack tools started there, for this caller."""
    token = _acting.set(caller)
    try:
        yield
    finally:
        _acting.reset(token)


def acting_caller() -> Caller:
    """Return the caller of the request under way; in a pack's tool, of this call.

    Raises:
        ConfigurationError: The code does not run inside a request.
    """
    if (caller := _acting.get()) is None:
        raise ConfigurationError("There is no caller outside of a request.", hint="Ask inside the tool's function.")
    return caller


def acting_or(other: Caller) -> Caller:
    """Return the caller of the request under way, or another one outside of a request."""
    return _acting.get() or other


@dataclass(frozen=True, slots=True)
class Talk:
    """A conversation as tools see it, under the name `Thread`; empty outside of a conversation.

    Attributes:
        id: The thread's id; None outside of a conversation, and in one that is not kept.
        title: As its owner wrote it.
        settings: Effective settings by name: the thread's, else its owner's, else the defaults.
        model_name: The name of the model that answers in it; empty without a model.
        model: That model as a `thresher.llm.Chat`; None if it cannot be asked.
    """

    id: UUID | None = None
    title: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any])
    model_name: str = ""
    model: Any = None

    @property
    def connection(self) -> str:
        """The default database connection; empty if none is set."""
        return str(self.settings.get("connection") or "")

    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: object) -> NoReturn:
        """Refuse to be part of a tool's input or output schema.

        Raises:
            TypeError: Always.
        """
        raise TypeError("a thread is given to a parameter that is annotated `Thread`, with nothing around it")


_NONE = Talk()
_talk: ContextVar[Talk] = ContextVar("thresher_talk", default=_NONE)


@contextmanager
def talking_in(talk: Talk | None) -> Generator[None]:
    """Make everything inside the block, and in tasks and sessions started there, part of a conversation.

    Args:
        talk: The conversation; None for no conversation.
    """
    token = _talk.set(_NONE if talk is None else talk)
    try:
        yield
    finally:
        _talk.reset(token)


def current_talk() -> Talk:
    """Return the conversation of the work under way, with a copy of its settings that may be changed."""
    talk = _talk.get()
    return replace(talk, settings=dict(talk.settings))
