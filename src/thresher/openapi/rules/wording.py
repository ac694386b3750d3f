"""Own rules about wording: whether an operation can be told from others, and found, by what is said of it."""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from thresher.openapi.pointers import join
from thresher.openapi.records import Operation
from thresher.openapi.rules.catalog import RuleHit, clipped
from thresher.openapi.rules.subject import RuleSubject

_MARKUP: Final = re.compile(r"<[^<>]{0,200}>|[`*_#|]|\]\([^()\s]{0,400}\)|[\[\]]")
_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_]+|\d+")
_INITIALS: Final = re.compile(r"\b[A-Z][A-Z0-9]{1,7}s?\b")
_SMALL: Final = frozenset(
    {
        *("a", "an", "and", "are", "as", "at", "be", "by", "for", "from", "in", "is", "it", "its", "of", "on", "or"),
        *("that", "the", "this", "to", "with", "your"),
    }
)
_KNOWN: Final = frozenset(
    {
        *("AND", "API", "BOTH", "CSV", "DELETE", "DNS", "GET", "HTML", "HTTP", "HTTPS", "ID", "IDs", "IP", "JSON"),
        *("JWT", "MUST", "NOT", "NOTE", "OR", "PATCH", "PDF", "POST", "PUT", "REST", "SAML", "SHOULD", "SQL", "SSH"),
        *("SSL", "SSO", "TCP", "TLS", "UI", "URI", "URIs", "URL", "URLs", "US", "USD", "UTC", "UUID", "UUIDs"),
        *("WARNING", "XML"),
    }
)
"""Initials that stand for themselves."""
LENGTH: Final = 20_000
"""Characters of a text that are looked at."""


def plain(text: str) -> str:
    """A text without markup, on one line."""
    return " ".join(_MARKUP.sub(" ", text[:LENGTH]).split())


def words_of(text: str) -> tuple[str, ...]:
    """Lower-case words in order, names taken apart where their letters change."""
    return tuple(word.lower() for word in _WORD.findall(plain(text)))


def telling(words: tuple[str, ...]) -> frozenset[str]:
    """The words that say something, without plural's `s`."""
    return frozenset(
        word[:-1] if len(word) > 3 and word.endswith("s") else word for word in words if word not in _SMALL
    )


def initials_in(text: str) -> tuple[str, ...]:
    """Initials that the text does not write out, each once."""
    found = dict.fromkeys(_INITIALS.findall(plain(text)))
    return tuple(each for each in found if each not in _KNOWN and f"({each})" not in text and f"{each} (" not in text)


LIKE: Final = 0.9
"""Likeness from which two texts are twins."""
WORDS: Final = 3
"""Words that a text has at least to be compared."""
NAMED: Final = 3
"""Twins of one text that are named."""
COMPARED: Final = 400
"""Texts that one is compared with."""


@dataclass(frozen=True, slots=True)
class Twins:
    """The twins of one text.

    Attributes:
        place: Of the text.
        others: Places of the first few of its twins, the most alike first.
        count: How many it has.
    """

    place: int
    others: tuple[int, ...]
    count: int


def twins(texts: Sequence[frozenset[str]]) -> Iterator[Twins]:
    """The texts that have twins."""
    same: dict[frozenset[str], list[int]] = {}
    for place, text in enumerate(texts):
        if len(text) >= WORDS:
            same.setdefault(text, []).append(place)
    distinct = list(same)
    near = _near(distinct)
    for number, text in enumerate(distinct):
        groups = [same[text], *(same[distinct[other]] for other in near.get(number, ()))]
        count = sum(len(group) for group in groups) - 1
        first = list(itertools.islice(itertools.chain.from_iterable(groups), NAMED + 1))
        for place in same[text] if count else ():
            others = [each for each in first if each != place]
            yield Twins(place, tuple(others[:NAMED]), count)


def _near(texts: Sequence[frozenset[str]]) -> dict[int, list[int]]:
    """Texts that are alike but not the same."""
    counts = Counter(word for text in texts for word in text)
    weights = {word: math.log(1 + len(texts) / count) for word, count in counts.items()}
    totals = [sum(weights[word] for word in text) for text in texts]
    holders: dict[str, list[int]] = {}
    found: dict[int, list[tuple[float, int]]] = {}
    for number, text in enumerate(texts):
        rare = _prefix(text, weights, totals[number])
        candidates = {other: None for word in rare for other in holders.get(word, ())[-COMPARED:]}
        for other in list(candidates)[:COMPARED]:
            shared = sum(weights[word] for word in text & texts[other])
            likeness = shared / (totals[number] + totals[other] - shared)
            if likeness >= LIKE:
                found.setdefault(number, []).append((-likeness, other))
                found.setdefault(other, []).append((-likeness, number))
        for word in rare:
            holders.setdefault(word, []).append(number)
    return {number: [other for _, other in sorted(pairs)] for number, pairs in found.items()}


def _prefix(text: frozenset[str], weights: Mapping[str, float], total: float) -> list[str]:
    """The rarest words of a text, up to those without which no twin could share enough."""
    ordered = sorted(text, key=lambda word: (-weights[word], word))
    left = total
    for place, word in enumerate(ordered):
        if left < LIKE * total:
            return ordered[:place]
        left -= weights[word]
    return ordered


SHORT: Final = 4
"""Words that a description has at least."""
LONG: Final = 4_000
"""Characters that a description has at most."""
JARGON: Final = 0.3
"""Share of initials among the words of a text that makes it hard to read."""


def check_wording(subject: RuleSubject) -> Iterator[RuleHit]:
    """What is said of one operation."""
    for operation in subject.description.operations:
        yield from _summary(operation)
        if operation.description.strip():
            yield from _description(operation)
        yield from _jargon(operation)


def _summary(operation: Operation) -> Iterator[RuleHit]:
    summary = operation.summary.strip()
    if not summary:
        yield RuleHit("operation-summary", operation.pointer, "The operation has no summary.", operation=operation.key)
        return
    names = {operation.operation_id, operation.path, operation.key}
    if summary.casefold() in {name.casefold() for name in names if name}:
        pointer = join(operation.pointer, "summary")
        yield RuleHit("summary-repeats-name", pointer, "The summary is only the name again.", summary, operation.key)


def _description(operation: Operation) -> Iterator[RuleHit]:
    text = plain(operation.description)
    pointer = join(operation.pointer, "description")
    words = words_of(text)
    if len(words) < SHORT:
        message = f"The description has {len(words)} {'word' if len(words) == 1 else 'words'}."
        yield RuleHit("description-short", pointer, message, clipped(text), operation.key)
    if len(operation.description) > LONG:
        message = f"The description has {len(operation.description):,} characters."
        yield RuleHit("description-long", pointer, message, clipped(text), operation.key)
    if operation.summary and words == words_of(operation.summary):
        message = "The description is the summary again."
        yield RuleHit("description-repeats-summary", pointer, message, clipped(text), operation.key)


def _jargon(operation: Operation) -> Iterator[RuleHit]:
    text = f"{operation.summary} {operation.description}"
    found = initials_in(text)
    if len(found) < 2:
        return
    words = text.split()
    share = sum(word.strip(".,;:()").removesuffix("s") in {each.removesuffix("s") for each in found} for word in words)
    if share >= JARGON * len(words):
        field = "description" if operation.description else "summary"
        message = f"{len(found)} initials are not written out."
        yield RuleHit("description-jargon", join(operation.pointer, field), message, ", ".join(found), operation.key)


def check_likeness(subject: RuleSubject) -> Iterator[RuleHit]:
    """Operations that read alike."""
    operations = subject.description.operations
    by_summary: dict[str, list[Operation]] = {}
    for operation in operations:
        if operation.summary.strip():
            by_summary.setdefault(" ".join(words_of(operation.summary)), []).append(operation)
    for members in by_summary.values():
        first = members[: NAMED + 1]
        for operation in members if len(members) > 1 else ():
            pointer = join(operation.pointer, "summary")
            message = "Another operation has this summary."
            evidence = _named([each for each in first if each is not operation], len(members) - 1)
            yield RuleHit("summary-not-unique", pointer, message, evidence, operation.key)
    for found in twins([_said(operation) for operation in operations]):
        operation = operations[found.place]
        field = "description" if operation.description else "summary"
        evidence = _named([operations[other] for other in found.others], found.count)
        message = "The operation reads like another."
        yield RuleHit("near-duplicate-description", join(operation.pointer, field), message, evidence, operation.key)


def _said(operation: Operation) -> frozenset[str]:
    """The words that tell an operation: its summary, and the beginning of its description."""
    return telling(words_of(operation.summary) + words_of(operation.description)[:40])


def _named(operations: Sequence[Operation], count: int) -> str:
    """The first few of several operations, and how many more there are."""
    named = operations[:NAMED]
    more = f" and {count - len(named)} more" if count > len(named) else ""
    return ", ".join(each.key for each in named) + more


def check_parameter_wording(subject: RuleSubject) -> Iterator[RuleHit]:
    """Descriptions of parameters that only repeat the name."""
    seen: set[str] = set()
    for operation in subject.description.operations:
        for parameter in operation.parameters:
            if parameter.pointer in seen or not parameter.description.strip():
                continue
            seen.add(parameter.pointer)
            said = telling(words_of(parameter.description))
            if said <= telling(words_of(parameter.name)):
                pointer = join(parameter.pointer, "description")
                message = f"The description of parameter {parameter.name!r} is only its name again."
                yield RuleHit("parameter-description-echo", pointer, message, clipped(parameter.description))
