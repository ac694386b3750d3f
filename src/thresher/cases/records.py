"""The records of test cases, and the checks of what people give.

Invariant: frozen. Names stand by kind: `tools`, `intents`, `documents`, `endpoints`, `tables`.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias, cast

from thresher.cases.matching import PARTS
from thresher.core import InvalidInput

CaseVerb: TypeAlias = Literal["get_context", "find_tools"]
"""What is asked: everything that is known, or tools alone."""

MESSAGE_CHARACTERS: Final = 8_000
NAMES: Final = 50
NAME_CHARACTERS: Final = 1_000


@dataclass(frozen=True, slots=True)
class Case:
    """A saved message with what should come for it.

    Attributes:
        id: Its number.
        verb: What is asked, `get_context` or `find_tools`.
        message: The message.
        needs: Names by kind that must be delivered. If this and `excluded` are empty, nothing may be delivered.
        excluded: Names by kind that must not be delivered.
        shared: Whether all users of the tenant see it; otherwise it belongs to one user.
        created_at: When it was saved.
    """

    id: int
    verb: CaseVerb
    message: str
    needs: Mapping[str, tuple[str, ...]]
    excluded: Mapping[str, tuple[str, ...]]
    shared: bool
    created_at: dt.datetime


@dataclass(frozen=True, slots=True)
class CasesImported:
    """What an import did.

    Attributes:
        added: New cases.
        replaced: Cases whose message was there, now with these names.
    """

    added: int
    replaced: int


@dataclass(frozen=True, slots=True)
class CaseOutcome:
    """What a case got in a run.

    Attributes:
        case: Its number.
        message: Its message.
        verb: What was asked.
        passed: Whether everything came that should, and nothing that must not.
        missing: What did not come, as `kind: name`.
        unwanted: What came and must not, as `kind: name`.
        delivered: All that came, after the cut, best first, as `kind: name`.
        tokens: Tokens of the answer.
        duration_ms: How long it took, in milliseconds.
    """

    case: int
    message: str
    verb: CaseVerb
    passed: bool
    missing: tuple[str, ...]
    unwanted: tuple[str, ...]
    delivered: tuple[str, ...]
    tokens: int
    duration_ms: float


@dataclass(frozen=True, slots=True)
class CaseChange:
    """How a case's outcome differs from an earlier one.

    Attributes:
        case: Its number.
        message: Its message.
        change: `broken`: it passed then; `fixed`: it failed then; `changed`: other things came, with the same result;
            `new`: it was not run then.
        gone: What came then, and does not now, as `kind: name`.
        came: What comes now, and did not then.
    """

    case: int
    message: str
    change: Literal["broken", "fixed", "changed", "new"]
    gone: tuple[str, ...]
    came: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CaseChanges:
    """What changed since an earlier run.

    Attributes:
        since: When that was.
        run: Its number.
        cases: The cases that were run then.
        passed: Those of them that passed.
        changes: The cases whose outcome differs, broken ones first.
    """

    since: dt.datetime
    run: int
    cases: int
    passed: int
    changes: tuple[CaseChange, ...]


@dataclass(frozen=True, slots=True)
class CaseRun:
    """A run of all cases.

    Attributes:
        id: Its number; 0 if there was nothing to run.
        at: When it began.
        cases: How many were run.
        passed: How many of them passed.
        budget: Tokens of each context; null for the default.
        duration_ms: How long the run took, in milliseconds.
        outcomes: What each case got, failed ones first.
        previous: What changed since the run before; null without one.
        yesterday: What changed since the last run of an earlier day, in UTC; null without one.
    """

    id: int
    at: dt.datetime
    cases: int
    passed: int
    budget: int | None
    duration_ms: float
    outcomes: tuple[CaseOutcome, ...]
    previous: CaseChanges | None
    yesterday: CaseChanges | None


def checked_message(message: object) -> str:
    """Return a message without white space around it.

    Raises:
        InvalidInput: It is not a text, empty or too long.
    """
    if not isinstance(message, str) or not message.strip():
        raise InvalidInput("A case needs a message.", hint="Give the user's words.")
    text = message.strip().replace("\0", "").encode("utf-8", "replace").decode("utf-8")
    if len(text) > MESSAGE_CHARACTERS:
        raise InvalidInput(
            f"The message has {len(text):,} characters; the limit of a case is {MESSAGE_CHARACTERS:,}.",
            hint="Leave out what was pasted.",
        )
    return text


def checked_names(name: str, value: object, verb: CaseVerb) -> dict[str, tuple[str, ...]]:
    """Return names by kind, without empty lists.

    Args:
        name: The parameter, for errors.
        value: What was given.
        verb: What is asked: `find_tools` delivers tools alone.

    Raises:
        InvalidInput: A kind is unknown, or its names are not a list of texts.
    """
    kinds = PARTS if verb == "get_context" else ("tools",)
    hint = f'Give {{"tools": ["server:name"]}}; the kinds are {", ".join(kinds)}.'
    if not isinstance(value, Mapping):
        raise InvalidInput(f"{name} must be an object.", hint=hint)
    given = cast("Mapping[str, Any]", value)
    if unknown := [kind for kind in given if kind not in kinds]:
        raise InvalidInput(f"{name} has the kind '{unknown[0]}', which {verb} does not deliver.", hint=hint)
    return {kind: found for kind, names in given.items() if (found := _texts(f"{name}.{kind}", names))}


def _texts(name: str, value: object) -> tuple[str, ...]:
    entries = cast("list[object]", value) if isinstance(value, list | tuple) else None
    if entries is None or not all(isinstance(one, str) and one.strip() for one in entries):
        raise InvalidInput(f"{name} must be a list of names.")
    names = tuple(dict.fromkeys(" ".join(one.replace("\0", "").split()) for one in cast("list[str]", entries)))
    if len(names) > NAMES or any(len(one) > NAME_CHARACTERS for one in names):
        raise InvalidInput(f"{name} is too long.", hint=f"At most {NAMES} names of {NAME_CHARACTERS:,} characters.")
    return tuple(one.encode("utf-8", "replace").decode("utf-8") for one in names)
