"""Own rules about wording: whether an operation can be told from others, and found, by what is said of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from thresher.openapi.pointers import join
from thresher.openapi.records import Operation
from thresher.openapi.rules.hits import Hit, clipped
from thresher.openapi.rules.subject import Subject
from thresher.openapi.rules.twins import NAMED, twins
from thresher.openapi.rules.wordings import initials_in, plain, telling, words_of

SHORT: Final = 4
"""Words that a description has at least."""
LONG: Final = 4_000
"""Characters that a description has at most."""
JARGON: Final = 0.3
"""Share of initials among the words of a text that makes it hard to read."""


def check_wording(subject: Subject) -> Iterator[Hit]:
    """What is said of one operation."""
    for operation in subject.description.operations:
        yield from _summary(operation)
        if operation.description.strip():
            yield from _description(operation)
        yield from _jargon(operation)


def _summary(operation: Operation) -> Iterator[Hit]:
    summary = operation.summary.strip()
    if not summary:
        yield Hit("operation-summary", operation.pointer, "The operation has no summary.", operation=operation.key)
        return
    names = {operation.operation_id, operation.path, operation.key}
    if summary.casefold() in {name.casefold() for name in names if name}:
        pointer = join(operation.pointer, "summary")
        yield Hit("summary-repeats-name", pointer, "The summary is only the name again.", summary, operation.key)


def _description(operation: Operation) -> Iterator[Hit]:
    text = plain(operation.description)
    pointer = join(operation.pointer, "description")
    words = words_of(text)
    if len(words) < SHORT:
        message = f"The description has {len(words)} {'word' if len(words) == 1 else 'words'}."
        yield Hit("description-short", pointer, message, clipped(text), operation.key)
    if len(operation.description) > LONG:
        message = f"The description has {len(operation.description):,} characters."
        yield Hit("description-long", pointer, message, clipped(text), operation.key)
    if operation.summary and words == words_of(operation.summary):
        message = "The description is the summary again."
        yield Hit("description-repeats-summary", pointer, message, clipped(text), operation.key)


def _jargon(operation: Operation) -> Iterator[Hit]:
    text = f"{operation.summary} {operation.description}"
    found = initials_in(text)
    if len(found) < 2:
        return
    words = text.split()
    share = sum(word.strip(".,;:()").removesuffix("s") in {each.removesuffix("s") for each in found} for word in words)
    if share >= JARGON * len(words):
        field = "description" if operation.description else "summary"
        message = f"{len(found)} initials are not written out."
        yield Hit("description-jargon", join(operation.pointer, field), message, ", ".join(found), operation.key)


def check_likeness(subject: Subject) -> Iterator[Hit]:
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
            yield Hit("summary-not-unique", pointer, message, evidence, operation.key)
    for found in twins([_said(operation) for operation in operations]):
        operation = operations[found.place]
        field = "description" if operation.description else "summary"
        evidence = _named([operations[other] for other in found.others], found.count)
        message = "The operation reads like another."
        yield Hit("near-duplicate-description", join(operation.pointer, field), message, evidence, operation.key)


def _said(operation: Operation) -> frozenset[str]:
    """The words that tell an operation: its summary, and the beginning of its description."""
    return telling(words_of(operation.summary) + words_of(operation.description)[:40])


def _named(operations: Sequence[Operation], count: int) -> str:
    """The first few of several operations, and how many more there are."""
    named = operations[:NAMED]
    more = f" and {count - len(named)} more" if count > len(named) else ""
    return ", ".join(each.key for each in named) + more


def check_parameter_wording(subject: Subject) -> Iterator[Hit]:
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
                yield Hit("parameter-description-echo", pointer, message, clipped(parameter.description))
