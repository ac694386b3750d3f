"""Argument fit: does a message supply what an item wants to be given?

"Will it rain in Berlin on Friday" supplies a place and a day. A tool that takes a city and perhaps a date fits it
better than one whose coordinates or order number nobody has named, however alike their descriptions are. Four figures
tell it, and none needs a model:

- something that is required is missing: a number, a date, a name, a web address, a list, one of fixed values;
- how many arguments are required, ln(1 + n): the more there are, the likelier one is missing unseen;
- dates in the message that optional arguments can take;
- how much of the words of an argument (its name and what is said of it) the message uses, the mean of the best two.

Invariant: pure; an item that names no arguments gets no more and no less than it would without them.
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

from thresher.search.records import Slot
from thresher.search.terms import terms
from thresher.search.wording import UNSPACED

READ: Final = 4_000
"""Characters of a message that are looked through for values, half from each end."""
_MOST_SLOTS, _MOST_VALUES, _MOST_WORDS, _BRIEF_WORDS = 50, 24, 40, 12
_FOREIGN_NAMES: Final = 9
"""Names that a message in a script without capitals or spaces is taken to hold, since none can be seen in it."""

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
"""Words of a name that tell what an argument takes; free text can be taken from any message."""

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
"""Words with capitals, but for the first of a sentence."""
_AN_ADDRESS: Final = re.compile(r"https?://|www\.|\b[\w.+-]{1,64}@[\w-]+\.\w|\b\w{1,64}\.(?:com|org|net|io)\b")
_A_LIST: Final = re.compile(r"\[[^\]]{0,400}\]")


@dataclass(frozen=True, slots=True)
class Facts:
    """What an item wants to be given.

    Attributes:
        required: Kind of argument to how many are required; fixed values stand in `choices`.
        dates: Optional arguments that take a date.
        choices: For each required argument of fixed values: the terms of each value.
        words: For each argument: its words, and the share of each by how rare it is, adding up to 1.
    """

    required: Mapping[str, int]
    dates: int
    choices: tuple[tuple[frozenset[str], ...], ...]
    words: tuple[Mapping[str, float], ...]


@dataclass(frozen=True, slots=True)
class Supplied:
    """What a message supplies, as counts, and its terms."""

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
        missing: Of something required that is missing.
        required: Of ln(1 + required arguments).
        dated: Of each date that an optional argument takes, two at most.
        words: Of the share of an argument's words that the message uses, the mean of the best two.
    """

    missing: float = 0.0
    required: float = 0.0
    dated: float = 0.0
    words: float = 0.0

    def __bool__(self) -> bool:
        """Whether any figure counts."""
        return any((self.missing, self.required, self.dated, self.words))


NO_ARGUMENTS: Final = ArgumentWeights()
"""Argument fit does not count."""


def packed(slots: Sequence[Slot], idf: Callable[[str], float]) -> str:
    """The facts of an item as they are stored; empty for an item without arguments.

    Args:
        slots: Its arguments; of very many the first count.
        idf: How rare a term is at large.
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
def facts_of(text: str) -> Facts | None:
    """Read what `packed` wrote; None for an item without arguments."""
    if not text:
        return None
    required, dates, choices, words = json.loads(text)
    return Facts(
        required,
        dates,
        tuple(tuple(frozenset(value.split()) for value in values) for values in choices),
        tuple(words),
    )


def supplied(message: str, message_terms: Collection[str]) -> Supplied:
    """Look a message through for values: quotations first, then dates, then numbers in what is left.

    Args:
        message: What the user wrote; of a long one both ends are read.
        message_terms: Its index terms.
    """
    text = message if len(message) <= READ else f"{message[: READ // 2]}\n{message[-READ // 2 :]}"
    rest = _A_QUOTATION.sub(" ", text)
    names = _FOREIGN_NAMES if UNSPACED.search(text) else 0
    return Supplied(
        numbers=len(_A_NUMBER.findall(_A_DATE.sub(" ", rest))),
        dates=len(_A_DATE.findall(rest)),
        names=names + len(_A_NAME.findall(rest)),
        quotations=len(_A_QUOTATION.findall(text)),
        addresses=len(_AN_ADDRESS.findall(rest)),
        lists=len(_A_LIST.findall(text)),
        terms=frozenset(message_terms),
    )


def fit(facts: Facts | None, given: Supplied, weights: ArgumentWeights) -> float:
    """What argument fit adds to the score of an item.

    Args:
        facts: Of the item; None where it names no arguments.
        given: Of the message.
        weights: The model's.
    """
    if facts is None:
        return 0.0
    required = sum(facts.required.values()) + len(facts.choices)
    spare = max(0, given.dates - facts.required.get("date", 0))
    return (
        weights.missing * lacks(facts, given)
        + weights.required * math.log1p(required)
        + weights.dated * min(2, facts.dates, spare)
        + weights.words * _used(facts, given.terms)
    )


def lacks(facts: Facts | None, given: Supplied) -> bool:
    """Whether anything required is missing; a number or date that is left over may be a name, a date a number."""
    if facts is None:
        return False
    wanted = facts.required
    numbers, dates, named = wanted.get("number", 0), wanted.get("date", 0), wanted.get("name", 0)
    names = given.names + given.quotations
    over = max(0, given.numbers - numbers) + max(0, given.dates - dates)
    return (
        numbers > given.numbers + (0 if dates else given.dates)
        or dates > given.dates
        or named > names + over
        or wanted.get("address", 0) > given.addresses + given.quotations
        or (wanted.get("list", 0) > 0 and not given.lists and given.numbers < 2 and names < 2)
        or (wanted.get("object", 0) > 0 and not names and not given.numbers)
        or any(not any(value <= given.terms for value in values) for values in facts.choices)
    )


def _used(facts: Facts, given: frozenset[str]) -> float:
    best = sorted(sum(words[term] for term in words.keys() & given) for words in facts.words)[-2:]
    return sum(best) / len(best) if best else 0.0


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
    """The words of an argument's name and description, of a long one its first sentence, by their share."""
    told = dict.fromkeys(terms(slot.text))
    if len(told) >= _BRIEF_WORDS:
        told = dict.fromkeys(terms(slot.brief))
    weights = {word: idf(word) for word in list(dict.fromkeys([*terms(slot.name), *told]))[:_MOST_WORDS]}
    total = math.fsum(weights.values())
    return {word: round(weight / total, 3) for word, weight in weights.items()} if total else {}
