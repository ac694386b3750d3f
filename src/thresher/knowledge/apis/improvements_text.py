"""Improvements as Markdown, for people and models.

Invariant: pure; what a description says stands in code marks or fences that it cannot end.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from thresher.core import dumps
from thresher.knowledge.apis.models import Improvements
from thresher.openapi import Finding, Patch, Score

LONGEST: Final = 20_000
"""Characters of a patch that are shown."""
_SCORES: Final = 10
_TICKS: Final = re.compile(r"`+")
_UNSEEN: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]+")
_MARKS: Final = re.compile(r"([\\`*_{}\[\]<>#|!~])")


def improvements_markdown(answer: Improvements) -> str:
    """The answer of `suggest_api_improvements` as Markdown."""
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
        yield f"  - Mend: {_plain(finding.fix)}"


def _patch(patch: Patch, worded_by: str) -> Iterator[str]:
    yield from ("", "## Patch", "")
    yield (
        f"{len(patch.edits)} texts, worded by {_plain(worded_by)}; {len(patch.mended)} findings less, "
        f"score {patch.before.value} to {patch.after.value}. The contract stays as it is."
    )
    if patch.edits:
        short = patch.diff and len(patch.diff) <= LONGEST
        yield from ("", *(_fenced(patch.diff, "diff") if short else _fenced(dumps(patch.overlay), "json")))
    if patch.dropped:
        yield from ("", f"Left as they are, {len(patch.dropped)}:", "")
        yield from (f"- {_code(edit.pointer)}: {_plain(reason)}" for edit, reason in patch.dropped[:_SCORES])


def _fenced(text: str, language: str) -> Sequence[str]:
    """A text in a fence that is longer than any in it; a long one is not shown, since a part of it would not apply."""
    if len(text) > LONGEST:
        return (f"It has {len(text):,} characters; ask for it as JSON, or for one operation.",)
    longest = max((len(found) for found in _TICKS.findall(text)), default=0)
    fence = "`" * max(3, longest + 1)
    return (f"{fence}{language}", text.rstrip("\n"), fence)


def _code(text: str) -> str:
    """A text of others as code in a line."""
    shown = _UNSEEN.sub(" ", text).strip() or " "
    longest = max((len(found) for found in _TICKS.findall(shown)), default=0)
    marks = "`" * (longest + 1)
    pad = " " if longest else ""
    return f"{marks}{pad}{shown}{pad}{marks}".replace("|", "\\|")


def _plain(text: str) -> str:
    """A text in a line, its marks taken as they are."""
    return _MARKS.sub(r"\\\1", _UNSEEN.sub(" ", text))
