"""Improvements as Markdown, and their patch in the form a caller asks for.

Invariant: pure; text of a description appears in code marks or fences that it cannot end.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, Literal, TypeAlias

from thresher.core import dumps
from thresher.knowledge.apis.models import Improvements
from thresher.openapi import Finding, Patch, Score

LONGEST: Final = 20_000
"""Maximum characters of a patch to show."""
_SCORES: Final = 10
_TICKS: Final = re.compile(r"`+")
_UNSEEN: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]+")
_MARKS: Final = re.compile(r"([\\`*_{}\[\]<>#|!~])")


def improvements_markdown(answer: Improvements) -> str:
    """Render the answer of `suggest_api_improvements` as Markdown."""
    return "\n".join(_lines(answer)).rstrip() + "\n"


def _lines(answer: Improvements) -> Iterator[str]:
    yield f"# {_plain(answer.provider)} {_plain(answer.version)}: {answer.score.value} of 100"
    yield ""
    yield f"Score: {_plain(answer.score.formula)}."
    yield f"Findings: {answer.total}."
    yield from _scores("Tags", answer.per_tag)
    yield from _scores("Operations", answer.per_endpoint)
    if answer.by_rule:
        yield from ("", "| Rule | Findings |", "|---|---|")
        yield from (f"| {_code(rule)} | {count} |" for rule, count in answer.by_rule.items())
    if answer.findings:
        yield from ("", "## Findings", "")
        for finding in answer.findings:
            yield from _finding(finding)
    if answer.patch is not None:
        yield from _patch(answer.patch, answer.worded_by)
    if answer.left_out:
        yield from ("", "## Left out", "")
        yield from (f"- {_plain(note)}" for note in answer.left_out)


def _scores(what: str, scores: Mapping[str, Score]) -> Iterator[str]:
    if scores:
        worst = sorted(scores.items(), key=lambda each: each[1].value)[:_SCORES]
        yield ""
        yield f"{what}, the worst: {', '.join(f'{_code(name)} {found.value}' for name, found in worst)}."


def _finding(finding: Finding) -> Iterator[str]:
    at = f", line {finding.place.line}, column {finding.place.column}" if finding.place.line else ""
    of = f" in {_code(finding.operation)}" if finding.operation else ""
    yield f"- **{finding.severity}** {_code(finding.rule)}{of}{at}: {_plain(finding.message)}"
    yield f"  - Where: {_code(finding.place.pointer or '/')}"
    if finding.evidence:
        yield f"  - Seen: {_code(finding.evidence)}"
    if finding.why:
        yield f"  - Why: {_plain(finding.why)}"
    if finding.fix:
        yield f"  - Fix: {_plain(finding.fix)}"


def _patch(patch: Patch, worded_by: str) -> Iterator[str]:
    yield from ("", "## Patch", "")
    yield (
        f"{len(patch.edits)} texts, worded by {_plain(worded_by)}; {len(patch.mended)} fewer findings, "
        f"score {patch.before.value} to {patch.after.value}. The contract does not change."
    )
    if patch.edits:
        short = patch.diff and len(patch.diff) <= LONGEST
        yield from ("", *(_fenced(patch.diff, "diff") if short else _fenced(dumps(patch.overlay), "json")))
    if patch.dropped:
        yield from ("", f"Left unchanged, {len(patch.dropped)}:", "")
        yield from (f"- {_code(edit.pointer)}: {_plain(reason)}" for edit, reason in patch.dropped[:_SCORES])


def _fenced(text: str, language: str) -> Sequence[str]:
    """Return a text in a fence longer than any in it; a long text is omitted, since part of a patch does not apply."""
    if len(text) > LONGEST:
        return (f"It has {len(text):,} characters; ask for it as JSON, or for one operation.",)
    longest = max((len(found) for found in _TICKS.findall(text)), default=0)
    fence = "`" * max(3, longest + 1)
    return (f"{fence}{language}", text.rstrip("\n"), fence)


def _code(text: str) -> str:
    """Return a text as inline code."""
    shown = _UNSEEN.sub(" ", text).strip() or " "
    longest = max((len(found) for found in _TICKS.findall(shown)), default=0)
    marks = "`" * (longest + 1)
    pad = " " if longest else ""
    return f"{marks}{pad}{shown}{pad}{marks}".replace("|", "\\|")


def _plain(text: str) -> str:
    """Return a text on one line with its Markdown escaped."""
    return _MARKS.sub(r"\\\1", _UNSEEN.sub(" ", text))


PatchForm: TypeAlias = Literal["none", "overlay", "diff"]
PATCH_CHARACTERS: Final = 1_000_000
"""Maximum characters of a patch in an answer; the diff of a one-line file contains the file twice."""


def in_form(answer: Improvements, form: PatchForm, most: int = PATCH_CHARACTERS) -> Improvements:
    """Return improvements with their patch in one form, or without it if it is too long.

    Args:
        answer: Improvements with or without a patch.
        form: `overlay` or `diff`; `none` removes the patch.
        most: Maximum characters of the patch.
    """
    if answer.patch is None or form == "none":
        return replace(answer, patch=None)
    if form == "diff":
        one = replace(answer.patch, overlay={})
        length = len(one.diff)
    else:
        one = replace(answer.patch, diff="")
        length = len(json.dumps(one.overlay))
    if length <= most:
        return replace(answer, patch=one)
    what = f"the {form} of {len(one.edits):,} edits ({length:,} characters)"
    left = f"{what}: ask for one operation, or: thresher apis improve {answer.provider} --patch {form}"
    return replace(answer, patch=replace(one, diff="", overlay={}), left_out=(*answer.left_out, left))
