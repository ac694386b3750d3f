"""Where a description fails its readers, how good it is, and a patch of what can be mended.

Invariant: the score is that of the text alone, so that it does not change with what was asked; nothing is written
anywhere, a patch is only shown.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import Counter, OrderedDict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, get_args
from urllib.parse import unquote, urlsplit

from thresher.core import Caller, InvalidInput, NotFound, check_limit, did_you_mean, nearest
from thresher.knowledge.apis.heads import Operations, ProviderHead, VersionHead
from thresher.knowledge.apis.listing import named
from thresher.knowledge.apis.missing import missed_findings
from thresher.knowledge.apis.models import FeedbackType, Improvements, Provider
from thresher.knowledge.apis.rewording import Rewording, reworded
from thresher.knowledge.apis.shelf import Shelf
from thresher.knowledge.apis.usage import MissedQuery, missed_queries
from thresher.llm import Chat
from thresher.openapi import (
    Description,
    DescriptionScores,
    Finding,
    Patch,
    Review,
    Score,
    Severity,
    find_problems,
    make_patch,
    score,
    suggest_edits,
)
from thresher.store import Database

LIMIT_CAP: Final = 500
KINDS: Final[tuple[str, ...]] = get_args(FeedbackType)
SEVERITIES: Final[tuple[str, ...]] = get_args(Severity)
"""Worst first."""
_REVIEWS: Final = 6
"""Descriptions whose findings are kept: about 2 MB each."""
_ENDPOINTS: Final = 50
"""Scores of operations in one answer, the worst first."""
_TAGS: Final = 200
_LONG_LINE: Final = 20_000
"""Characters of a line that nobody reads in a diff."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What is asked for.

    Attributes:
        provider: Name or alias; empty where there is only one, or an operation is named.
        endpoint: Id of the only operation; empty for all.
        version: Label of the description; empty for the newest.
        kinds: Only these; empty for all.
        min_severity: Nothing milder.
        limit: Findings at most.
        cursor: Of the last answer.
        patch: Whether a patch is made.
    """

    provider: str = ""
    endpoint: str = ""
    version: str = ""
    kinds: tuple[str, ...] = ()
    min_severity: str = "hint"
    limit: int = 50
    cursor: str = ""
    patch: bool = False


@dataclass(frozen=True, slots=True)
class Target:
    """The description that is looked at.

    Attributes:
        provider: Whose.
        version: Which.
        operation: Key of the only operation; empty for all.
    """

    provider: ProviderHead
    version: VersionHead
    operation: str = ""


@dataclass(frozen=True, slots=True)
class _Judged:
    """What the rules say of a description."""

    findings: tuple[Finding, ...]
    scores: DescriptionScores


class Improving:
    """Finds what to improve.

    Args:
        database: Where the log of searches is.
        shelf: Where descriptions are.
        chat: The configured model, if there is one.
        seconds: How long it may take.
    """

    def __init__(self, database: Database, shelf: Shelf, chat: Chat | None, seconds: float) -> None:
        self._database = database
        self._shelf = shelf
        self._chat = chat
        self._seconds = seconds
        self._judged: OrderedDict[str, _Judged] = OrderedDict()
        self._judging = asyncio.Lock()

    async def target(self, caller: Caller, wish: Wish) -> Target:
        """The description that is meant.

        Raises:
            NotFound: There is no such provider, version or operation.
            InvalidInput: Several providers are there, and none is named; or a filter is none.
        """
        check(wish)
        if wish.endpoint:
            return await self._of_endpoint(caller, wish)
        seen = await self._shelf.directory(caller)
        if not wish.provider and len(seen) != 1:
            names = ", ".join(head.name for head in seen[:20])
            hint = f"There are: {names}." if names else "Add an API first: thresher apis add NAME SOURCE."
            raise InvalidInput("Which API is meant?", hint=hint)
        head = named(seen, wish.provider) if wish.provider else seen[0]
        return Target(head, _version(head, wish.version))

    async def improvements(
        self, caller: Caller, wish: Wish, target: Target, source: str, chat: Chat | None
    ) -> Improvements:
        """The answer.

        Args:
            caller: Who asks.
            wish: What for.
            target: What `target` said.
            source: Where the description was read from, for the name in a diff.
            chat: A model that words texts where none is configured.

        Raises:
            NotFound: The description was removed meanwhile, or not read yet.
            InvalidInput: The cursor is none of this question.
        """
        description = await self._shelf.description(caller.tenant, target.version)
        judged = await self._judge(description)
        operations = await self._shelf.operations(caller.tenant, target.version)
        missed = await self._missed(caller, operations, target)
        findings = fitting([*missed_findings(missed, description), *judged.findings], wish, target.operation)
        start = _start(wish, description.digest)
        shown = findings[start : start + wish.limit]
        patch, worded_by = None, "rules"
        notes: list[str] = []
        if wish.patch:
            patch, worded = await self._patch(description, judged, findings, missed, source, chat or self._chat)
            worded_by, notes = worded.by, [*worded.notes, *_about(patch)]
        answer = _answer(target, operations, judged.scores, findings)
        left = len(findings) - start - len(shown)
        if left:
            notes.append(f"{left} more findings: ask with the cursor, or raise `limit` (at most {LIMIT_CAP}).")
        return replace(
            answer,
            findings=tuple(shown),
            patch=patch,
            worded_by=worded_by,
            left_out=(*answer.left_out, *notes),
            cursor=f"{_stamp(wish, description.digest)}.{start + len(shown)}" if left else "",
        )

    async def _of_endpoint(self, caller: Caller, wish: Wish) -> Target:
        found = await self._shelf.located(caller, wish.endpoint)
        if not found:
            raise NotFound(f"There is no operation '{wish.endpoint}'.", hint="Ids come from search_api_docs.")
        return Target(found[0].provider, found[0].version, found[0].brief.key)

    async def _judge(self, description: Description) -> _Judged:
        """The findings and scores, once for a text."""
        async with self._judging:
            kept = self._judged.get(description.digest)
            if kept is None:
                kept = await asyncio.to_thread(_judged, description)
                self._judged[description.digest] = kept
                while len(self._judged) > _REVIEWS:
                    self._judged.popitem(last=False)
            self._judged.move_to_end(description.digest)
            return kept

    async def _missed(
        self, caller: Caller, operations: Operations, target: Target
    ) -> Mapping[str, tuple[MissedQuery, ...]]:
        """The queries that missed, by key of the operation."""
        wanted = [operations.by_key[target.operation].endpoint] if target.operation in operations.by_key else []
        found = await missed_queries(self._database, caller, wanted)
        known = operations.by_endpoint
        return {known[endpoint].key: queries for endpoint, queries in found.items() if endpoint in known}

    async def _patch(
        self,
        description: Description,
        judged: _Judged,
        findings: Sequence[Finding],
        missed: Mapping[str, tuple[MissedQuery, ...]],
        source: str,
        chat: Chat | None,
    ) -> tuple[Patch | None, Rewording]:
        edits = await asyncio.to_thread(suggest_edits, description, findings)
        worded = await reworded(chat, description, edits, missed, self._seconds)
        before = Review(judged.findings, judged.scores.whole)
        patch = await asyncio.to_thread(
            make_patch, description, worded.edits, before=before, name=file_of(source, description.format)
        )
        return (patch if patch.edits or patch.dropped else None), worded


def check(wish: Wish) -> None:
    """Whether the filters are such.

    Raises:
        InvalidInput: One is none.
    """
    for word in wish.kinds:
        _known(word, KINDS, "kind of feedback")
    _known(wish.min_severity, SEVERITIES, "severity")
    check_limit(wish.limit, LIMIT_CAP)


def fitting(findings: Collection[Finding], wish: Wish, operation: str) -> list[Finding]:
    """The findings that are asked for, worst first; within a severity they keep their order."""
    worst = {severity: place for place, severity in enumerate(SEVERITIES)}
    kept = [
        finding
        for finding in findings
        if worst[finding.severity] <= worst[wish.min_severity]
        and (not wish.kinds or finding.kind in wish.kinds)
        and (not operation or finding.operation == operation)
    ]
    return sorted(kept, key=lambda finding: worst[finding.severity])


def source_of(provider: Provider, label: str) -> str:
    """Where a version was read from; empty where there is no such version."""
    return next((version.source for version in provider.versions if version.label == label), "")


def file_of(source: str, form: str) -> str:
    """The name of a source's file, for a diff."""
    path = unquote(urlsplit(source).path) if "://" in source else source.replace("\\", "/")
    name = path.rstrip("/").rpartition("/")[2]
    return name if "." in name else f"{name or 'openapi'}.{form}"


def _about(patch: Patch | None) -> list[str]:
    """What to know of a patch before it is used."""
    if patch is None or max(map(len, patch.diff.split("\n"))) < _LONG_LINE:
        return []
    size = f"{len(patch.diff) / 1e6:.1f} million characters"
    return [f"The description stands on one line, which the diff holds twice ({size}): take the overlay instead."]


def _known(word: str, words: Sequence[str], what: str) -> None:
    if word not in words:
        near = did_you_mean(nearest(word, words))
        raise InvalidInput(f"{word!r} is no {what}.", hint=f"{near} Choose of {', '.join(words)}.".strip())


def _version(head: ProviderHead, label: str) -> VersionHead:
    found = [version for version in head.versions if not label or version.label == label]
    if not found:
        labels = ", ".join(version.label for version in head.versions)
        raise NotFound(f"'{head.name}' has no version '{label}'.", hint=f"It has {labels or 'none yet'}.")
    return found[0]


def _judged(description: Description) -> _Judged:
    findings = tuple(find_problems(description))
    return _Judged(findings, score(findings, description))


def _answer(
    target: Target, operations: Operations, scores: DescriptionScores, findings: Sequence[Finding]
) -> Improvements:
    """The scores and counts, without a page of findings."""
    wanted = {key: found for key, found in scores.per_operation.items() if target.operation in ("", key)}
    worst = sorted(wanted.items(), key=lambda each: each[1].value)
    per_endpoint: dict[str, Score] = {
        operations.by_key[key].endpoint: found for key, found in worst[:_ENDPOINTS] if key in operations.by_key
    }
    tags = sorted(scores.per_tag.items(), key=lambda each: each[1].value)
    left: list[str] = []
    if len(worst) > _ENDPOINTS:
        left.append(f"Scores of {len(worst) - _ENDPOINTS} better operations: ask with `endpoint_id`.")
    if len(tags) > _TAGS:
        left.append(f"Scores of {len(tags) - _TAGS} better tags.")
    return Improvements(
        provider=target.provider.name,
        version=target.version.label,
        score=scores.whole,
        per_tag={} if target.operation else dict(tags[:_TAGS]),
        per_endpoint=per_endpoint,
        findings=(),
        total=len(findings),
        by_rule=dict(Counter(finding.rule for finding in findings).most_common()),
        left_out=tuple(left),
    )


def _stamp(wish: Wish, digest: str) -> str:
    """What a cursor is good for: this question about this text."""
    asked = repr((digest, wish.endpoint, sorted(wish.kinds), wish.min_severity))
    return hashlib.sha256(asked.encode()).hexdigest()[:10]


def _start(wish: Wish, digest: str) -> int:
    """At which finding the answer begins.

    Raises:
        InvalidInput: The cursor is of another question, or the description has changed.
    """
    if not wish.cursor:
        return 0
    stamp, _, number = wish.cursor.partition(".")
    if stamp != _stamp(wish, digest) or not (number.isascii() and number.isdigit()) or len(number) > 9:
        raise InvalidInput(
            "The cursor is none of this question, or the description has changed.", hint="Ask again without a cursor."
        )
    return int(number)
