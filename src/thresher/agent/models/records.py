"""Records of models, and the pieces of their answers."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Final

from thresher.llm import Finish, FunctionCall, Usage

DEFAULT: Final = "default"
"""The name of the model in the settings: THRESHER_LLM_URL."""


@dataclass(frozen=True, slots=True)
class Model:
    """A registered model, or that of the settings.

    Attributes:
        name: Its name in Thresher.
        url: The service's address, without its query.
        model: The service's name for it.
        keyed: Whether a key is stored for it.
        enabled: Whether conversations may use it.
        owner: The user who owns it; None for the tenant, or for all if it comes from the settings.
        configured: Whether it comes from the settings.
        chosen: Whether it answers if no model is named.
        created_at: When it was registered; None if it comes from the settings.
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
    """The result of a harmless test request.

    Attributes:
        name: The model.
        ok: Whether it answered.
        ms: Until the whole answer, or the failure.
        says: The beginning of its words; text of others.
        model: The answering model's name at its service.
        problem: Why it did not answer.
    """

    name: str
    ok: bool
    ms: int
    says: str = ""
    model: str = ""
    problem: str = ""


@dataclass(frozen=True, slots=True)
class AnswerChunk:
    """A piece of an answer. All but the last have only text; the last has no text, and everything else.

    Attributes:
        text: New text since the chunk before.
        calls: Complete calls; each has an id of its own.
        usage: The tokens of the answer; None except in the last, zeros if the service does not say.
        finish: Why the answer ended; None except in the last.
        model: The answering model's name at its service; empty except in the last.
    """

    text: str = ""
    calls: tuple[FunctionCall, ...] = ()
    usage: Usage | None = None
    finish: Finish | None = None
    model: str = ""
