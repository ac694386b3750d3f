"""Filling `{{NAME}}` in rule texts.

Invariant: a value is data: one line, bounded, and never searched for further variables; an undefined name is reported,
and a line that needs a missing value is left out.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import PurePath

from thresher.core import Caller, InvalidInput, event, named, one_line, shortened

logger = logging.getLogger("thresher.context")

PROVIDER_SECONDS = 0.25
"""How long a value is awaited: rules without it are better than late rules."""
VALUE_CHARACTERS = 500
KNOWN = (
    "PROJECT_NAME",
    "ACTIVE_SOLUTION",
    "DATABASE_SERVERS",
    "DATABASE_CONNECTIONS",
    "AVAILABLE_DATASOURCES",
    "API_PROVIDERS",
    "USER_NAME",
    "RECENT_FILES",
)
"""Names that always exist, whether or not anything provides a value."""

_NAME = re.compile(r"[A-Z][A-Z0-9_]{0,63}")
_PLACE = re.compile(r"\{\{\s*([A-Za-z]\w{0,63})\s*\}\}", re.ASCII)
"""Any case: a lower-case name is not a variable, and its author is told."""
_HEADING = re.compile(r"(#{1,6})\s")
_RECENT = 10


@dataclass(frozen=True, slots=True)
class Situation:
    """What a provider may use: the caller, and the files that the client names as used last."""

    caller: Caller
    files: tuple[str, ...] = ()


Provider = Callable[[Situation], Awaitable[str | None]]
"""Returns a variable's value for one call; None or empty if there is none."""


@dataclass(frozen=True, slots=True)
class FilledText:
    """A text with its variables filled.

    Attributes:
        text: The text.
        without_value: Known names without a value; lines that name them are left out.
        unknown: Undefined names; they stay in the text as written.
    """

    text: str
    without_value: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()


@lru_cache(maxsize=1_024)
def names_in(text: str) -> tuple[str, ...]:
    """Return the variables that a text names, in order, each once."""
    return tuple(dict.fromkeys(_PLACE.findall(text))) if "{{" in text else ()


def filled(text: str, values: Mapping[str, str | None]) -> FilledText:
    """Insert values, and leave out the lines without one.

    Args:
        text: The text.
        values: Known names to values; None for one without a value.
    """
    names = names_in(text)
    missing = tuple(name for name in names if name in values and not values[name])
    kept = _without_lines(text, missing) if missing else text
    return FilledText(
        _PLACE.sub(lambda match: values.get(match[1]) or match[0], kept) if names else text,
        missing,
        tuple(name for name in names if name not in values),
    )


@lru_cache(maxsize=1_024)
def _without_lines(text: str, missing: tuple[str, ...]) -> str:
    """A text without the lines that name one of these variables, and without headings that are then empty."""
    kept: list[str] = []
    emptied = False
    for line in text.splitlines():
        if not _HEADING.match(line) and any(name in missing for name in _PLACE.findall(line)):
            emptied = True
            continue
        if emptied and (heading := _HEADING.match(line)):
            _drop_empty_section(kept, len(heading[1]))
            emptied = False
        kept.append(line)
    if emptied:
        _drop_empty_section(kept, 1)
    return "\n".join(kept) + ("\n" if text.endswith("\n") else "")


def _drop_empty_section(lines: list[str], level: int) -> None:
    """Remove a heading at the end, unless the next one, of this level, belongs to its section."""
    last = next((place for place in reversed(range(len(lines))) if lines[place].strip()), None)
    heading = _HEADING.match(lines[last]) if last is not None else None
    if heading and len(heading[1]) >= level:
        del lines[last:]


class Variables:
    """The providers of one process."""

    def __init__(self) -> None:
        self._providers: dict[tuple[str, str], Provider] = {
            ("", "PROJECT_NAME"): _project,
            ("", "USER_NAME"): _user,
            ("", "RECENT_FILES"): _recent,
        }

    def register(self, name: str, provider: Provider, *, pack: str = "") -> None:
        """Add a variable, or replace its provider.

        Args:
            name: Capitals, digits and underscores.
            provider: Provides its value.
            pack: Digest of the only pack whose rules may use it; by default all may.

        Raises:
            InvalidInput: The name is not valid.
        """
        if not _NAME.fullmatch(name):
            raise InvalidInput(
                f"{shortened(name, 80)!r} cannot be the name of a variable.", hint="Use capitals: A-Z, 0-9 and _."
            )
        self._providers[pack, name] = provider

    def forget(self, pack: str) -> None:
        """Remove the variables of one pack, named by its digest."""
        for key in [key for key in self._providers if key[0] == pack]:
            del self._providers[key]

    async def values(self, situation: Situation, names: Collection[str], *, pack: str = "") -> dict[str, str | None]:
        """Return the values of those names that are known; the providers run concurrently."""
        wanted = [name for name in names if self._provider(name, pack) is not None or name in KNOWN]
        found = await asyncio.gather(*(self._value(situation, name, pack) for name in wanted))
        return dict(zip(wanted, found, strict=True))

    def _provider(self, name: str, pack: str) -> Provider | None:
        return self._providers.get((pack, name)) or self._providers.get(("", name))

    async def _value(self, situation: Situation, name: str, pack: str) -> str | None:
        provider = self._provider(name, pack)
        if provider is None:
            return None
        try:
            async with asyncio.timeout(PROVIDER_SECONDS):
                value = await provider(situation)
        except Exception as error:  # noqa: BLE001 - a pack's own code may fail in any way, and must not stop the rules
            event(logger, "variable without value", level=logging.WARNING, variable=name, error=type(error).__name__)
            return None
        return one_line(value, VALUE_CHARACTERS) if value else None


def joined(values: Iterable[str]) -> str:
    """Return several values as one."""
    return ", ".join(value for text in values if (value := named(text.strip())))


async def _project(situation: Situation) -> str | None:
    return PurePath(situation.caller.project).name or None


async def _user(situation: Situation) -> str | None:
    return situation.caller.user


async def _recent(situation: Situation) -> str | None:
    return joined(situation.files[:_RECENT]) or None
