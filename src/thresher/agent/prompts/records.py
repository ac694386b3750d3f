"""Prompts as records: the shipped texts, checks of a tenant's own, and filling in variables.

Invariant: a filled prompt has all its variables, and text of others stands between borders that it cannot contain.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from types import MappingProxyType
from typing import Final

from thresher.core import InvalidInput, border_of


@dataclass(frozen=True, slots=True)
class AgentPrompt:
    """One version of a prompt.

    Attributes:
        name: Its name.
        title: For people.
        description: When it is used.
        text: What a model reads, with `{{NAME}}` for a variable.
        version: 0 for the shipped text, if it was never changed.
        shipped: Whether the text is the shipped one, also for a version that restored it.
        variables: Names of variables in the text, each at least once, and no others.
        author: `local`: the user of this machine; `key`: a caller with a key of the tenant; empty for version 0.
        created_at: When the version was written; None for version 0.
    """

    name: str
    title: str
    description: str
    text: str
    version: int = 0
    shipped: bool = True
    variables: tuple[str, ...] = ()
    author: str = ""
    created_at: dt.datetime | None = None


MOST_CHARACTERS: Final = 20_000
_PLACE: Final = re.compile(r"\{\{\s*([A-Za-z]\w{0,63})\s*\}\}", re.ASCII)
"""In any case, as in rules of packs: a name in small letters is not a variable, and its author is told."""


def names_in(text: str) -> tuple[str, ...]:
    """Return the variables in a text, in order, each once."""
    return tuple(dict.fromkeys(_PLACE.findall(text)))


def fill_text(text: str, values: Mapping[str, str]) -> str:
    """Fill in values, each between borders on their own lines: `[4f09ac] begin QUESTION`, `[4f09ac] end QUESTION`.

    Args:
        text: What a model reads; a variable without a value stays as written.
        values: By the names of variables, in capitals.
    """
    mark = border_of(values.values())

    def value(place: re.Match[str]) -> str:
        name = place[1]
        return f"{mark} begin {name}\n{values[name]}\n{mark} end {name}" if name in values else place[0]

    return _PLACE.sub(value, text)


def fill_prompt(prompt: AgentPrompt, values: Mapping[str, str]) -> str:
    """Fill in values from outside.

    Args:
        prompt: The prompt.
        values: By the names of its variables, in any case.

    Raises:
        InvalidInput: One is missing, or unknown to the prompt.
    """
    given = {name.upper(): value for name, value in values.items()}
    _check_names(f"The prompt '{prompt.name}' has no variable", given, prompt.variables)
    if missing := [name for name in prompt.variables if name not in given]:
        raise InvalidInput(f"The prompt '{prompt.name}' needs a value for {missing[0]}.", hint=_takes(prompt.variables))
    return fill_text(prompt.text, given)


def checked_text(shipped: AgentPrompt, text: str) -> str:
    """Return a tenant's text for a prompt in its stored form: Unix line ends, without surrounding blanks.

    Raises:
        InvalidInput: It is empty, too long, has invalid characters, or other variables than the shipped text.
    """
    kept = text.replace("\r\n", "\n").replace("\r", "\n").strip()
    if not kept:
        raise InvalidInput("The prompt is empty.", hint="Reset it to have the shipped words.")
    if len(kept) > MOST_CHARACTERS:
        raise InvalidInput(f"The prompt has {len(kept):,} characters.", hint=f"{MOST_CHARACTERS:,} at most.")
    if any(mark == "\0" or "\ud800" <= mark <= "\udfff" for mark in kept):
        raise InvalidInput("The prompt holds invalid characters.", hint="Write it as UTF-8, without NUL.")
    names = names_in(kept)
    _check_names(f"The prompt '{shipped.name}' has no variable", names, shipped.variables)
    if missing := [name for name in shipped.variables if name not in names]:
        raise InvalidInput(
            f"The prompt '{shipped.name}' does not say where {{{{{missing[0]}}}}} goes.", hint=_takes(shipped.variables)
        )
    return kept


def _check_names(sentence: str, names: Iterable[str], known: tuple[str, ...]) -> None:
    if unknown := [name for name in names if name not in known]:
        raise InvalidInput(f"{sentence} {unknown[0][:80]}.", hint=_takes(known))


def _takes(known: tuple[str, ...]) -> str:
    return f"It takes {' and '.join(known)}." if known else "It takes none."


_ABOUT: Final = {
    "basic": ("Without tools", "What the model is told at first where no tool is offered."),
    "tools": ("With tools", "What the model is told at first where tools are offered."),
    "context": ("Documents", "Puts the passages that were found for a message at the end of the prompt."),
    "table_selection": ("Tables of a database", "Asks which tables are needed to answer a question with SQL."),
    "grade": ("Relevance of passages", "Asks, yes or no, which passages help to answer a question."),
    "rephrase": ("Question on its own", "Asks for a question that can be understood without the conversation."),
}


def _read(names: Iterable[str]) -> Mapping[str, AgentPrompt]:
    folder, prompts = files("thresher.agent.prompts"), dict[str, AgentPrompt]()
    for name in names:
        text = folder.joinpath(f"{name}.md").read_text(encoding="utf-8").strip()
        title, description = _ABOUT[name]
        prompts[name] = AgentPrompt(name, title, description, text, variables=names_in(text))
    return MappingProxyType(prompts)


SHIPPED: Final = _read(_ABOUT)
"""All prompts by name, in the order in which people see them."""
