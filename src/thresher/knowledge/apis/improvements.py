"""Findings about a description, its score, and a patch for what can be fixed.

Invariant: the score depends on the text alone, not on the request; a patch is only shown, never applied.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, get_args
from urllib.parse import unquote, urlsplit

from cachetools import LRUCache

from thresher.core import Caller, CursorCodec, InvalidInput, NotFound, check_limit, did_you_mean, nearest
from thresher.knowledge.apis.cache import DescriptionCache
from thresher.knowledge.apis.heads import Operations, ProviderHead, VersionHead
from thresher.knowledge.apis.models import FeedbackType, Improvements, Provider
from thresher.knowledge.apis.naming import find_provider
from thresher.knowledge.apis.rewording import Rewording, reword
from thresher.knowledge.apis.usage import MissedQuery, missed_findings, missed_queries
from thresher.llm import Chat
from thresher.openapi import (
    Description,
    DescriptionScores,
    Edit,
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
"""Number of descriptions whose findings are kept, about 2 MB each."""
_ENDPOINTS: Final = 50
"""Maximum number of operation scores in an answer, the worst first."""
_TAGS: Final = 200
_CURSOR: Final[CursorCodec[int]] = CursorCodec("suggest_api_improvements", int)
_LONG_LINE: Final = 20_000
"""Length from which a line is unreadable in a diff."""


@dataclass(frozen=True, slots=True)
class ImprovementRequest:
    """A request for improvements.

    Attributes:
        provider: Name or alias; may be empty if there is only one provider or an operation is named.
        endpoint: Public id of the only operation; empty for all.
        version: Label of the version; empty for the newest.
        kinds: The only kinds of findings; empty for all.
        min_severity: The lowest severity to include.
        limit: Maximum number of findings.
        cursor: Cursor of the previous answer.
        patch: Whether to make a patch.
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
class ReviewTarget:
    """The description under review.

    Attributes:
        provider: Its provider.
        version: Its version.
        operation: Key of the only operation to review; empty for all.
    """

    provider: ProviderHead
    version: VersionHead
    operation: str = ""


@dataclass(frozen=True, slots=True)
class _Assessment:
    """The findings and scores of a description."""

    findings: tuple[Finding, ...]
    scores: DescriptionScores


class ImprovementFinder:
    """Finds what to improve in descriptions.

    Args:
        database: Where the log of searches is stored.
        cache: Where descriptions are found.
        chat: The configured model, if any.
        seconds: Time limit of a model's answer.
    """

    def __init__(self, database: Database, cache: DescriptionCache, chat: Chat | None, seconds: float) -> None:
        self._database = database
        self._cache = cache
        self._chat = chat
        self._seconds = seconds
        self._judged: LRUCache[str, _Assessment] = LRUCache(_REVIEWS)
        self._judging = asyncio.Lock()

    async def target(self, caller: Caller, request: ImprovementRequest) -> ReviewTarget:
        """Return the description that a request is about.

        Raises:
            NotFound: There is no such provider, version or operation.
            InvalidInput: No provider is named and there are several, or a filter is not valid.
        """
        check_request(request)
        if request.endpoint:
            found = await self._cache.located(caller, request.endpoint)
            if not found:
                raise NotFound(f"There is no operation '{request.endpoint}'.", hint="Ids come from search_api_docs.")
            return ReviewTarget(found[0].provider, found[0].version, found[0].brief.key)
        seen = await self._cache.directory(caller)
        if not request.provider and len(seen) != 1:
            names = ", ".join(head.name for head in seen[:20])
            hint = f"Known APIs: {names}." if names else "Add an API first: thresher apis add NAME SOURCE."
            raise InvalidInput("No API is named.", hint=hint)
        head = find_provider(seen, request.provider) if request.provider else seen[0]
        return ReviewTarget(head, _version(head, request.version))

    async def improvements(
        self, caller: Caller, request: ImprovementRequest, target: ReviewTarget, source: str, chat: Chat | None
    ) -> Improvements:
        """Answer a request.

        Args:
            caller: The tenant and user.
            request: The request.
            target: The description, as `target` returns it.
            source: Source of the description, which names the file in a diff.
            chat: A model to word texts if none is configured.

        Raises:
            NotFound: The description was removed in the meantime, or not read yet.
            InvalidCursor: The cursor belongs to another request, or the description has changed.
        """
        description = await self._cache.description(caller.tenant, target.version)
        judged = await self._judge(description)
        operations = await self._cache.operations(caller.tenant, target.version)
        missed = await self._missed(caller, operations, target)
        known = [*missed_findings(missed, description), *judged.findings]
        findings = matching_findings(known, request, target.operation)
        question = (description.digest, request.endpoint, "\t".join(sorted(request.kinds)), request.min_severity)
        (start,) = _CURSOR.decode(request.cursor, question) if request.cursor else (0,)
        shown = findings[start : start + request.limit]
        patch, worded_by = None, "rules"
        notes: list[str] = []
        if request.patch:
            patch, worded = await self._patch(description, judged, findings, missed, source, chat or self._chat)
            worded_by, notes = worded.by, [*worded.notes, *_patch_notes(patch)]
        answer = _answer(target, operations, judged.scores, findings)
        left = len(findings) - start - len(shown)
        if left:
            notes.append(f"{left} more findings: use the cursor, or raise `limit` (at most {LIMIT_CAP}).")
        return replace(
            answer,
            findings=tuple(shown),
            patch=patch,
            worded_by=worded_by,
            left_out=(*answer.left_out, *notes),
            cursor=_CURSOR.encode(start + len(shown), question=question) if left else "",
        )

    async def _judge(self, description: Description) -> _Assessment:
        """Return the findings and scores of a description; computed once for each text."""
        async with self._judging:
            kept = self._judged.get(description.digest)
            if kept is None:
                kept = await asyncio.to_thread(_judged, description)
                self._judged[description.digest] = kept
            return kept

    async def _missed(
        self, caller: Caller, operations: Operations, target: ReviewTarget
    ) -> Mapping[str, tuple[MissedQuery, ...]]:
        """Return the queries that missed operations, by key of the operation."""
        wanted = [operations.by_key[target.operation].endpoint] if target.operation in operations.by_key else []
        found = await missed_queries(self._database, caller, wanted)
        known = operations.by_endpoint
        return {known[endpoint].key: queries for endpoint, queries in found.items() if endpoint in known}

    async def _patch(
        self,
        description: Description,
        judged: _Assessment,
        findings: Sequence[Finding],
        missed: Mapping[str, tuple[MissedQuery, ...]],
        source: str,
        chat: Chat | None,
    ) -> tuple[Patch | None, Rewording]:
        suggested = await asyncio.to_thread(suggest_edits, description, findings)
        edits, withheld = helpful_edits(suggested, description)
        worded = await reword(chat, description, edits, missed, self._seconds)
        if withheld:
            note = f"{withheld} texts are not proposed: measured, texts of their rules make operations harder to find."
            worded = replace(worded, notes=(*worded.notes, note))
        before = Review(judged.findings, judged.scores.whole)
        patch = await asyncio.to_thread(
            make_patch, description, worded.edits, before=before, name=file_of(source, description.format)
        )
        return (patch if patch.edits or patch.dropped else None), worded


EFFECTS: Final[Mapping[str, float]] = {
    "near-duplicate-description": 0.002,
    "description-short": 0.0011,
    "operation-description": 0.0011,
    "description-repeats-summary": 0.0011,
    "summary-not-unique": -0.0015,
    "summary-repeats-name": 0.0,
    "operation-summary": -0.0086,
}
"""Change of the mean reciprocal rank of right operations by all texts of a rule, over questions to four public
descriptions that no text was written from (`docs/decisions/0075-apis-nobody-asked-about.md`)."""
_TITLE_EFFECT: Final = -0.006
"""That of a description where there is no summary: search takes the description for the title."""
_READ: Final = frozenset({"summary", "description"})
"""Texts of an operation that search reads."""


def helpful_edits(edits: Sequence[Edit], description: Description) -> tuple[list[Edit], int]:
    """Return the edits with their measured effects, without those that make operations harder to find.

    Args:
        edits: Edits that fix findings.
        description: The description.

    Returns:
        The edits to propose, and the number of the others.
    """
    operations = {operation.pointer: operation for operation in description.operations}

    def measured(edit: Edit) -> Edit:
        holder, _, word = edit.pointer.rpartition("/")
        if holder not in operations or word not in _READ:
            return edit
        is_title = word == "description" and operations[holder].description and not operations[holder].summary
        return replace(edit, effect=_TITLE_EFFECT if is_title else EFFECTS.get(edit.rule, 0.0))

    carried = [measured(edit) for edit in edits]
    kept = [edit for edit in carried if edit.effect is None or edit.effect >= 0]
    return kept, len(carried) - len(kept)


def check_request(request: ImprovementRequest) -> None:
    """Check the filters of a request.

    Raises:
        InvalidInput: A filter is not valid.
    """
    for word in request.kinds:
        _known(word, KINDS, "kind of feedback")
    _known(request.min_severity, SEVERITIES, "severity")
    check_limit(request.limit, LIMIT_CAP)


def matching_findings(findings: Collection[Finding], request: ImprovementRequest, operation: str) -> list[Finding]:
    """Return the findings that a request asks for, worst first; the order within a severity is kept."""
    worst = {severity: place for place, severity in enumerate(SEVERITIES)}
    kept = [
        finding
        for finding in findings
        if worst[finding.severity] <= worst[request.min_severity]
        and (not request.kinds or finding.kind in request.kinds)
        and (not operation or finding.operation == operation)
    ]
    return sorted(kept, key=lambda finding: worst[finding.severity])


def version_source(provider: Provider, label: str) -> str:
    """Return the source of a version; empty if there is no such version."""
    return next((version.source for version in provider.versions if version.label == label), "")


def file_of(source: str, form: str) -> str:
    """Return the file name of a source, for a diff."""
    path = unquote(urlsplit(source).path) if "://" in source else source.replace("\\", "/")
    name = path.rstrip("/").rpartition("/")[2]
    return name if "." in name else f"{name or 'openapi'}.{form}"


def _patch_notes(patch: Patch | None) -> list[str]:
    """Return what to know before a patch is used."""
    if patch is None or max(map(len, patch.diff.split("\n"))) < _LONG_LINE:
        return []
    size = f"{len(patch.diff) / 1e6:.1f} million characters"
    return [f"The description is one line, which the diff contains twice ({size}): use the overlay instead."]


def _known(word: str, words: Sequence[str], what: str) -> None:
    if word not in words:
        near = did_you_mean(nearest(word, words))
        raise InvalidInput(f"{word!r} is not a valid {what}.", hint=f"{near} Choose one of {', '.join(words)}.".strip())


def _version(head: ProviderHead, label: str) -> VersionHead:
    found = [version for version in head.versions if not label or version.label == label]
    if not found:
        labels = ", ".join(version.label for version in head.versions)
        raise NotFound(f"'{head.name}' has no version '{label}'.", hint=f"It has {labels or 'none yet'}.")
    return found[0]


def _judged(description: Description) -> _Assessment:
    findings = tuple(find_problems(description))
    return _Assessment(findings, score(findings, description))


def _answer(
    target: ReviewTarget, operations: Operations, scores: DescriptionScores, findings: Sequence[Finding]
) -> Improvements:
    """Return the scores and counts, without findings."""
    wanted = {key: found for key, found in scores.per_operation.items() if target.operation in ("", key)}
    worst = sorted(wanted.items(), key=lambda each: each[1].value)
    per_endpoint: dict[str, Score] = {
        operations.by_key[key].endpoint: found for key, found in worst[:_ENDPOINTS] if key in operations.by_key
    }
    tags = sorted(scores.per_tag.items(), key=lambda each: each[1].value)
    left: list[str] = []
    if len(worst) > _ENDPOINTS:
        left.append(f"Scores of {len(worst) - _ENDPOINTS} better operations: name one with `endpoint_id`.")
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
