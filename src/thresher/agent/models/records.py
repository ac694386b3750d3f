"""Records of models, and the pieces of their answers."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Final

from thresher.llm import Finish, FunctionCall, Usage

DEFAULT: Final = "default"
"""The model of the settings: THRESHER_LLM_URL."""


@dataclass(frozen=True, slots=True)
class Model:
    """A model that somebody has registered, or that of the settings.

    Attributes:
        name: Ours for it.
        url: The service's address, without its query.
        model: The service's name for it.
        keyed: Whether a key is kept for it.
        enabled: Whether conversations may use it.
        owner: The user whose alone it is; None: the tenant's, or everybody's where it comes from the settings.
        configured: Whether it comes from the settings.
        chosen: Whether it answers where no model is named.
        created_at: When it was registered; None where it comes from the settings.
    """

    name: str
    url: str
    model: str
    keyed: bool
    enabled: bool = True
    owner: str | None = None
    configured: bool = False
    chosen: bool = False
    created_at: dt.datetime | None = None


@dataclass(frozen=True, slots=True)
class ModelCheck:
    """What came of asking a model something harmless.

    Attributes:
        name: The model.
        ok: Whether it answered.
        ms: Until the whole answer was there, or the failure.
        says: Its words, in front; other people's text.
        model: As the service names the one that answered.
        problem: Why it did not.
    """

    name: str
    ok: bool
    ms: int
    says: str = ""
    model: str = ""
    problem: str = ""


@dataclass(frozen=True, slots=True)
class AnswerChunk:
    """A piece of an answer. All but the last have text alone; the last has none, and all the rest.

    Attributes:
        text: What was said since the piece before.
        calls: What the model asks for, whole; each has an id of its own.
        usage: What the answer cost; None but in the last, zeros where the service does not say.
        finish: Why the answer ended; None but in the last.
        model: The model that answered, as the service names it; empty but in the last.
    """

    text: str = ""
    calls: tuple[FunctionCall, ...] = ()
    usage: Usage | None = None
    finish: Finish | None = None
    model: str = ""
