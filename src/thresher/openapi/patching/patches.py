"""Makes a patch from edits and verifies it.

Invariant: the patched source is read again. The document differs from the original by the edits and nothing else, the
contract is the same, each finding that an edit addresses is gone, and no finding is new where it edits. Edits that
break this are dropped. Whether two operations read alike depends on all others, so that finding may change elsewhere.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from thresher.core import InvalidInput
from thresher.openapi.patching.contracts import contract, objection
from thresher.openapi.patching.documents import applied, differences, overlay_of, walked
from thresher.openapi.patching.editor import EditedText, edit_text
from thresher.openapi.patching.splices import spliced, unified_diff
from thresher.openapi.pointers import parent, split
from thresher.openapi.reader.description import Description, read_description
from thresher.openapi.records import Edit, Finding, Patch, Score
from thresher.openapi.rules import find_problems, score

ROUNDS: Final = 5
"""Most attempts, each without the edits that failed before."""
_SHOWN: Final = 2_000
"""Most differences that are traced back to edits."""
_BOM: Final = "\ufeff"

Dropped: TypeAlias = tuple[Edit, str]
Failures: TypeAlias = Mapping[str, str]
"""Reasons to drop edits, by pointer."""


@dataclass(frozen=True, slots=True)
class Review:
    """What the rules say about a description.

    Attributes:
        findings: All findings.
        score: Score of the whole description.
    """

    findings: Sequence[Finding]
    score: Score


Reviewer: TypeAlias = Callable[[Description], Review]


def review(description: Description) -> Review:
    """Apply all rules to a description."""
    findings = find_problems(description)
    return Review(findings, score(findings, description).whole)


def make_patch(
    description: Description,
    edits: Iterable[Edit],
    *,
    before: Review | None = None,
    reviewer: Reviewer = review,
    name: str = "",
) -> Patch:
    """Make a patch of the edits that pass verification.

    Args:
        description: The description to improve.
        edits: The edits to make; of several for one place the first counts.
        before: Review of the description, if known.
        reviewer: Applies the rules.
        name: File name for the diff; the description's own by default.

    Returns:
        The patch. If no edit passes, all are in `dropped` with their reasons.
    """
    before = before or reviewer(description)
    wished, dropped = _admitted(description, edits)
    for _ in range(ROUNDS):
        edited = edit_text(description.text, description.format, wished)
        dropped += edited.dropped
        tried = _Trial(description, edited, before)
        failed = tried.failures(reviewer)
        if not failed:
            return tried.patch(dropped, name)
        dropped += [(edit, failed[edit.pointer]) for edit in edited.done if edit.pointer in failed]
        wished = [edit for edit in edited.done if edit.pointer not in failed]
    dropped += [(edit, "Too many edits with it failed.") for edit in wished]
    return _Trial(description, EditedText((), (), ()), before).patch(dropped, name)


def _admitted(description: Description, edits: Iterable[Edit]) -> tuple[list[Edit], list[Dropped]]:
    """Return the edits to try, and the others with their reasons."""
    wished: dict[str, Edit] = {}
    dropped: list[Dropped] = []
    for edit in edits:
        there, old = walked(description.root, split(edit.pointer))
        reason = objection(description.root, edit)
        if not reason and edit.pointer in wished:
            reason = "Another edit sets the same place."
        if not reason and there and old == edit.value:
            reason = "The place has this value already."
        if reason:
            dropped.append((edit, reason))
        else:
            wished[edit.pointer] = edit
    return list(wished.values()), dropped


class _Trial:
    """Edits made in the text, to be verified.

    Args:
        description: The original.
        edited: The changes of its text.
        before: Review of the original.
    """

    def __init__(self, description: Description, edited: EditedText, before: Review) -> None:
        self._description = description
        self._edited = edited
        self._before = before
        self._after = before
        self._places = {edit.pointer for edit in edited.done}
        self._held: dict[str, list[str]] = {}
        for edit in edited.done:
            self._held.setdefault(parent(edit.pointer), []).append(edit.pointer)
        self._operations = [each for each in description.operations if each.pointer in self._held]

    def failures(self, reviewer: Reviewer) -> Failures:
        """Return the edits to drop; empty if all pass."""
        if not self._edited.done:
            return {}
        new = spliced(self._description.text, self._edited.splices)
        try:
            read = read_description(new.encode("utf-8", "surrogatepass"), name=self._description.name)
        except InvalidInput as error:
            return self.unreadable(error)
        return self._strange(read) or self._unmended(read, reviewer)

    def patch(self, dropped: Sequence[Dropped], name: str) -> Patch:
        """Return the patch."""
        description, done = self._description, self._edited.done
        gone = {_key(finding) for finding in self._before.findings} - {_key(each) for each in self._after.findings}
        return Patch(
            edits=done,
            overlay=overlay_of(done, description.root, f"Texts of {description.title or 'an API'}"),
            diff=self._diff(name),
            before=self._before.score,
            after=self._after.score,
            mended=tuple(finding for finding in self._before.findings if _key(finding) in gone),
            dropped=tuple(dropped),
        )

    def _diff(self, name: str) -> str:
        """Return the diff; empty if the file's encoding does not match a diff in UTF-8."""
        text = self._description.text
        digests = {
            hashlib.sha256((mark + text).encode("utf-8", "surrogatepass")).hexdigest(): mark for mark in ("", _BOM)
        }
        mark = digests.get(self._description.digest)
        if mark is None:
            return ""
        return unified_diff(text, self._edited.splices, name or self._description.name, mark=mark)

    def unreadable(self, error: InvalidInput) -> Failures:
        """Return the edits to drop because the source cannot be read; halving finds them, as the error names none."""
        done = self._edited.done
        if len(done) == 1:
            return {done[0].pointer: f"The source cannot be read with it: {error.message}"}
        half = len(done) // 2
        blamed: dict[str, str] = {}
        for part in (done[:half], done[half:]):
            edited = edit_text(self._description.text, self._description.format, part)
            new = spliced(self._description.text, edited.splices)
            try:
                read_description(new.encode("utf-8", "surrogatepass"))
            except InvalidInput as found:
                blamed |= _Trial(self._description, edited, self._before).unreadable(found)
        return blamed or _all(done, "The source cannot be read with all of them together.")

    def _strange(self, read: Description) -> Failures:
        """Return the edits that changed the document in an unintended way."""
        wanted = applied(self._description.root, self._edited.done)
        found = _first(differences(wanted, read.root))
        if found:
            return self._blamed(found, "With it the source would mean something else than intended.", all_else=True)
        if list(differences(contract(self._description.root), contract(read.root))):
            return _all(self._edited.done, "The contract would change.")
        known = {(problem.code, problem.place.pointer) for problem in self._description.problems}
        fresh = [each.place.pointer for each in read.problems if (each.code, each.place.pointer) not in known]
        return self._blamed(fresh, "A part of the description cannot be read with it.", all_else=True)

    def _unmended(self, read: Description, reviewer: Reviewer) -> Failures:
        """Return the edits whose finding persists, or that cause a new one."""
        self._after = reviewer(read)
        known = {_key(finding) for finding in self._before.findings}
        stayed = {_key(finding) for finding in self._after.findings}
        within = {(rule, each) for rule, pointer in stayed for each in _lineage(pointer)}
        failed: dict[str, str] = {}
        for edit in self._edited.done:
            if (edit.rule, edit.pointer) in within or (edit.rule, parent(edit.pointer)) in stayed:
                failed[edit.pointer] = f"`{edit.rule}` still reports the place."
        for finding in self._after.findings:
            if _key(finding) not in known:
                reason = f"`{finding.rule}` reports it."
                blamed = self._blamed([finding.place.pointer], reason) or self._of_operations(finding, reason)
                for pointer, why in blamed.items():
                    failed.setdefault(pointer, why)
        if not failed and self._after.score.value < self._before.score.value:
            return _all(self._edited.done, "The score would fall.")
        return failed

    def _of_operations(self, finding: Finding, reason: str) -> Failures:
        """Return the edits of the operation that a finding is about, else of the operations in its evidence."""
        own = [each.pointer for each in self._operations if each.key == finding.operation]
        return self._under(own, reason) or self._under(
            [each.pointer for each in self._operations if finding.evidence and each.key in finding.evidence], reason
        )

    def _under(self, holders: Iterable[str], reason: str) -> Failures:
        return {pointer: reason for holder in holders for pointer in self._held.get(holder, ())}

    def _blamed(self, pointers: Collection[str], reason: str, *, all_else: bool = False) -> Failures:
        """Return the edits at these places; if there are none, all edits or nothing."""
        if not pointers:
            return {}
        near = {each for pointer in pointers for each in _lineage(pointer)} & self._places
        failed = {**dict.fromkeys(sorted(near), reason), **self._under(pointers, reason)}
        return failed or (_all(self._edited.done, reason) if all_else else {})


def _key(finding: Finding) -> tuple[str, str]:
    return finding.rule, finding.place.pointer


def _lineage(pointer: str) -> Iterable[str]:
    """Yield a pointer and those of its ancestors."""
    while pointer:
        yield pointer
        pointer = parent(pointer)


def _first(pointers: Iterable[str]) -> list[str]:
    return [pointer for _, pointer in zip(range(_SHOWN), pointers, strict=False)]


def _all(edits: Iterable[Edit], reason: str) -> Failures:
    return {edit.pointer: reason for edit in edits}
