"""Argument fit: how well a message supplies the arguments that an item takes.

"Will it rain in Berlin on Friday" supplies a place and a day. A tool that takes a city and perhaps a date fits it
better than one whose coordinates or order number are not in the message, however similar their descriptions are. Four
figures measure it, and none needs a model:

- whether something required is missing: a number, a date, a name, a web address, a list, one of fixed values;
- how many arguments are required, ln(1 + n): the more there are, the more likely an undetected one is missing;
- dates in the message that optional arguments can take;
- how many of an argument's words (its name and description) the message uses, the mean of the best two.

Invariant: pure; argument fit does not change the score of an item without arguments.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from thresher.search.lexical.clauses import UNSPACED
from thresher.search.lexical.terms import terms
from thresher.search.records import Slot

READ: Final = 4_000
"""Characters of a message that are searched for values, half from each end."""
_MOST_SLOTS, _MOST_VALUES, _MOST_WORDS, _BRIEF_WORDS = 50, 24, 40, 12
_FOREIGN_NAMES: Final = 9
"""The number of names assumed in a message whose script has no capitals or spaces, since none can be detected."""

_NUMBERS: Final = frozenset({"integer", "float", "number", "int", "double"})
_LISTS: Final = frozenset({"array", "list", "tuple", "set"})
_OBJECTS: Final = frozenset({"object", "dict"})
_ADDRESS: Final = frozenset(terms("url email link website uri"))
_DATE: Final = frozenset(terms("date time day month year when start end hour minute schedule deadline"))
_FREE: Final = frozenset(
    terms(
        "query text message content prompt question description note comment body keyword command code string"
        " sentence input data value title"
    )
)
"""Words of a name that indicate what an argument takes; free text can be taken from any message."""

_MONTH: Final = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_A_DATE: Final = re.compile(
    r"\b\d{4}-\d\d?-\d\d?\b|\b\d\d?/\d\d?/\d{2,4}\b"
    rf"|\b{_MONTH}\s{{1,3}}\d|\b\d{{1,2}}(?:st|nd|rd|th)?\s{{1,3}}(?:of\s{{1,3}})?{_MONTH}"
    r"|\b(?:today|tomorrow|yesterday|tonight|monday|tuesday|wednesday|thursday|friday|saturday|sunday"
    r"|next (?:week|month|year)|last (?:week|month|year|night))\b"
    r"|\b\d{1,2}:\d\d\s?(?:am|pm)?|\b\d{1,2}\s?(?:am|pm)\b|\b(?:19|20)\d\d\b",
    re.I,
)
_A_NUMBER: Final = re.compile(
    r"(?<![\w.])[-+]?[$€£¥]?\d[\d,]*(?:\.\d+)?"
    r"|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|dozen|hundred|thousand|million|half|twice"
    r"|double|couple)\b",
    re.I,
)
_A_QUOTATION: Final = re.compile(r"\"[^\"\n]{1,200}\"|(?<!\w)'[^'\n]{1,200}'(?!\w)|“[^”]{1,200}”|`[^`]{1,200}`")
_A_NAME: Final = re.compile(r"(?<![.!?:\n\"'] )(?<!^)\b[A-Z][\w&.-]*(?: (?:(?:of|the|de|la|and) )?[A-Z][\w&.-]*)*")
"""Capitalised words, except the first of a sentence."""
_AN_ADDRESS: Final = re.compile(r"https?://|www\.|\b[\w.+-]{1,64}@[\w-]+\.\w|\b\w{1,64}\.(?:com|org|net|io)\b")
_A_LIST: Final = re.compile(r"\[[^\]]{0,400}\]")


@dataclass(frozen=True, slots=True)
class ArgumentNeeds:
    """The arguments that an item takes.

    Attributes:
        required: Kind of argument to how many are required; those with fixed values are in `choices`.
        dates: The number of optional arguments that take a date.
        choices: For each required argument with fixed values: the terms of each value.
        words: For each argument: its words, and the share of each by rarity, adding up to 1.
    """

    required: Mapping[str, int]
    dates: int
    choices: tuple[tuple[frozenset[str], ...], ...]
    words: tuple[Mapping[str, float], ...]


@dataclass(frozen=True, slots=True)
class SuppliedValues:
    """The values that a message supplies, as counts, and its terms."""

    numbers: int
    dates: int
    names: int
    quotations: int
    addresses: int
    lists: int
    terms: frozenset[str]


@dataclass(frozen=True, slots=True)
class ArgumentWeights:
    """Weights of the four figures, in units of the fused score.

    Attributes:
        missing: If something required is missing.
        required: For ln(1 + required arguments).
        dated: For each date that an optional argument takes, two at most.
        words: For the share of an argument's words that the message uses, the mean of the best two.
    """

    missing: float = 0.0
    required: float = 0.0
    dated: float = 0.0
    words: float = 0.0


NO_ARGUMENTS: Final = ArgumentWeights()
"""Argument fit does not count."""


def pack_arguments(slots: Sequence[Slot], idf: Callable[[str], float]) -> str:
    """Encode the needs of an item for storage; empty for an item without arguments.

    Args:
        slots: Its arguments; only the first of very many count.
        idf: The rarity of a term in general.
    """
    if not slots:
        return ""
    kinds = [(slot, _kind(slot)) for slot in slots[:_MOST_SLOTS]]
    required = Counter(kind for slot, kind in kinds if slot.required and not slot.values)
    dates = sum(kind == "date" and not slot.required and not slot.values for slot, kind in kinds)
    choices = [
        [" ".join(dict.fromkeys(found)) for value in slot.values[:_MOST_VALUES] if (found := terms(value))]
        for slot, _ in kinds
        if slot.required and slot.values
    ]
    words = [_shares(slot, idf) for slot, _ in kinds]
    return json.dumps([required, dates, choices, words], ensure_ascii=False, separators=(",", ":"))


@lru_cache(maxsize=4096)
def unpack_arguments(text: str) -> ArgumentNeeds | None:
    """Decode what `pack_arguments` encoded; None for an item without arguments."""
    if not text:
        return None
    required, dates, choices, words = json.loads(text)
    return ArgumentNeeds(
        required,
        dates,
        tuple(tuple(frozenset(value.split()) for value in values) for values in choices),
        tuple(words),
    )


def find_values(message: str, message_terms: Collection[str]) -> SuppliedValues:
    """Search a message for values: quotations first, then dates, then numbers in the rest.

    Args:
        message: The user's message; of a long one both ends are read.
        message_terms: Its index terms.
    """
    text = message if len(message) <= READ else f"{message[: READ // 2]}\n{message[-READ // 2 :]}"
    rest = _A_QUOTATION.sub(" ", text)
    names = _FOREIGN_NAMES if UNSPACED.search(text) else 0
    return SuppliedValues(
        numbers=len(_A_NUMBER.findall(_A_DATE.sub(" ", rest))),
        dates=len(_A_DATE.findall(rest)),
        names=names + len(_A_NAME.findall(rest)),
        quotations=len(_A_QUOTATION.findall(text)),
        addresses=len(_AN_ADDRESS.findall(rest)),
        lists=len(_A_LIST.findall(text)),
        terms=frozenset(message_terms),
    )


def argument_fit(needs: ArgumentNeeds | None, supplied: SuppliedValues, weights: ArgumentWeights) -> float:
    """Return what argument fit adds to the score of an item.

    Args:
        needs: The needs of the item; None if it takes no arguments.
        supplied: The values of the message.
        weights: The weights of the model.
    """
    if needs is None:
        return 0.0
    required = sum(needs.required.values()) + len(needs.choices)
    spare = max(0, supplied.dates - needs.required.get("date", 0))
    used = sorted(sum(words[term] for term in words.keys() & supplied.terms) for words in needs.words)[-2:]
    return (
        weights.missing * lacks_required(needs, supplied)
        + weights.required * math.log1p(required)
        + weights.dated * min(2, needs.dates, spare)
        + weights.words * (sum(used) / len(used) if used else 0.0)
    )


def lacks_required(needs: ArgumentNeeds | None, supplied: SuppliedValues) -> bool:
    """Return whether anything required is missing; a spare number or date may be a name, a date a number."""
    if needs is None:
        return False
    required = needs.required
    numbers, dates, named = required.get("number", 0), required.get("date", 0), required.get("name", 0)
    names = supplied.names + supplied.quotations
    over = max(0, supplied.numbers - numbers) + max(0, supplied.dates - dates)
    return (
        numbers > supplied.numbers + (0 if dates else supplied.dates)
        or dates > supplied.dates
        or named > names + over
        or required.get("address", 0) > supplied.addresses + supplied.quotations
        or (required.get("list", 0) > 0 and not supplied.lists and supplied.numbers < 2 and names < 2)
        or (required.get("object", 0) > 0 and not names and not supplied.numbers)
        or any(not any(value <= supplied.terms for value in values) for values in needs.choices)
    )


def _kind(slot: Slot) -> str:
    """What an argument takes, by its type and by the words of its name."""
    if slot.type in _NUMBERS:
        return "number"
    if slot.type == "boolean":
        return "switch"
    if slot.type in _LISTS:
        return "list"
    if slot.type in _OBJECTS:
        return "object"
    words = set(terms(slot.name))
    if words & _ADDRESS:
        return "address"
    if words & _DATE:
        return "date"
    return "text" if words & _FREE else "name"


def _shares(slot: Slot, idf: Callable[[str], float]) -> dict[str, float]:
    """The words of an argument's name and description (of a long one its first sentence), by their share."""
    described = dict.fromkeys(terms(slot.text))
    if len(described) >= _BRIEF_WORDS:
        described = dict.fromkeys(terms(slot.brief))
    weights = {word: idf(word) for word in list(dict.fromkeys([*terms(slot.name), *described]))[:_MOST_WORDS]}
    total = math.fsum(weights.values())
    return {word: round(weight / total, 3) for word, weight in weights.items()} if total else {}
