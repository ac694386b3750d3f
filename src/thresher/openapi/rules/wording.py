"""Our own rules for wording: whether texts make an operation easy to find and to tell apart from others.

Near-duplicates are found without comparing every pair. A text is a set of words, and the similarity of two is the
weight of their common words over that of all their words, rare words weighing more. Two texts as similar as required
must share one of their few rarest words (prefix filtering, Chaudhuri et al. 2006), so only those pairs are compared.
"""

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
"""Abbreviations that need no explanation."""
LENGTH: Final = 20_000
"""Longest part of a text that is checked, in characters."""


def plain(text: str) -> str:
    """Return a text without markup, on one line."""
    return " ".join(_MARKUP.sub(" ", text[:LENGTH]).split())


def words_of(text: str) -> tuple[str, ...]:
    """Return the words in lower case, with names split where their case changes."""
    return tuple(word.lower() for word in _WORD.findall(plain(text)))


def telling(words: tuple[str, ...]) -> frozenset[str]:
    """Return the content words, without plural `s`."""
    return frozenset(
        word[:-1] if len(word) > 3 and word.endswith("s") else word for word in words if word not in _SMALL
    )


def initials_in(text: str) -> tuple[str, ...]:
    """Return the distinct abbreviations that the text does not spell out."""
    found = dict.fromkeys(_INITIALS.findall(plain(text)))
    return tuple(each for each in found if each not in _KNOWN and f"({each})" not in text and f"{each} (" not in text)


LIKE: Final = 0.9
"""Similarity above which two texts are near-duplicates."""
WORDS: Final = 3
"""Fewest words of a text that is compared."""
NAMED: Final = 3
"""Most near-duplicates of one text that are named."""
COMPARED: Final = 400
"""Most texts that one is compared with."""


@dataclass(frozen=True, slots=True)
class Twins:
    """The near-duplicates of one text.

    Attributes:
        place: Index of the text.
        others: Indexes of the most similar texts, best first.
        count: How many there are in total.
    """

    place: int
    others: tuple[int, ...]
    count: int


def twins(texts: Sequence[frozenset[str]]) -> Iterator[Twins]:
    """Yield the texts that have near-duplicates."""
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
    """Return the texts that are similar but not equal, for each text."""
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
    """Return the rarest words of a text, up to those without which no other text could be similar enough."""
    ordered = sorted(text, key=lambda word: (-weights[word], word))
    left = total
    for place, word in enumerate(ordered):
        if left < LIKE * total:
            return ordered[:place]
        left -= weights[word]
    return ordered


SHORT: Final = 4
"""Fewest words of a description."""
LONG: Final = 4_000
"""Most characters of a description."""
JARGON: Final = 0.3
"""Share of abbreviations among the words from which a text is hard to read."""


def check_wording(subject: RuleSubject) -> Iterator[RuleHit]:
    """Check the texts of each operation."""
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
        yield RuleHit("summary-repeats-name", pointer, "The summary only repeats the name.", summary, operation.key)


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
        message = "The description only repeats the summary."
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
        message = f"{len(found)} abbreviations are not spelled out."
        yield RuleHit("description-jargon", join(operation.pointer, field), message, ", ".join(found), operation.key)


def check_likeness(subject: RuleSubject) -> Iterator[RuleHit]:
    """Check for operations that read alike."""
    operations = subject.description.operations
    by_summary: dict[str, list[Operation]] = {}
    for operation in operations:
        if operation.summary.strip():
            by_summary.setdefault(" ".join(words_of(operation.summary)), []).append(operation)
    for members in by_summary.values():
        first = members[: NAMED + 1]
        for operation in members if len(members) > 1 else ():
            pointer = join(operation.pointer, "summary")
            message = "Another operation has the same summary."
            evidence = _listed_keys([each for each in first if each is not operation], len(members) - 1)
            yield RuleHit("summary-not-unique", pointer, message, evidence, operation.key)
    for found in twins([_content_words(operation) for operation in operations]):
        operation = operations[found.place]
        field = "description" if operation.description else "summary"
        evidence = _listed_keys([operations[other] for other in found.others], found.count)
        message = "The operation reads like another."
        yield RuleHit("near-duplicate-description", join(operation.pointer, field), message, evidence, operation.key)


def _content_words(operation: Operation) -> frozenset[str]:
    """Return the content words of an operation's summary and of the start of its description."""
    return telling(words_of(operation.summary) + words_of(operation.description)[:40])


def _listed_keys(operations: Sequence[Operation], count: int) -> str:
    """Name the first few of several operations, and count the rest."""
    named = operations[:NAMED]
    more = f" and {count - len(named)} more" if count > len(named) else ""
    return ", ".join(each.key for each in named) + more


def check_parameter_wording(subject: RuleSubject) -> Iterator[RuleHit]:
    """Check for parameter descriptions that only repeat the name."""
    seen: set[str] = set()
    for operation in subject.description.operations:
        for parameter in operation.parameters:
            if parameter.pointer in seen or not parameter.description.strip():
                continue
            seen.add(parameter.pointer)
            said = telling(words_of(parameter.description))
            if said <= telling(words_of(parameter.name)):
                pointer = join(parameter.pointer, "description")
                message = f"The description of parameter {parameter.name!r} only repeats its name."
                yield RuleHit("parameter-description-echo", pointer, message, clipped(parameter.description))
