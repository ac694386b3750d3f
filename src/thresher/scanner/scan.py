"""Scans a definition: each of its texts, and what is hidden in them.

Invariant: pure, and linear in the length of the definition; each finding names its place, and gives one reason for a
place only once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from thresher.core import Tool, first_sentence
from thresher.scanner.classifier import HARMLESS, POISONED, is_read, poisoned
from thresher.scanner.commands import commands, shell
from thresher.scanner.crossing import crossing, imitates, poses
from thresher.scanner.exfiltration import exfiltration
from thresher.scanner.hidden_text import concealed, folded, uncovered, visible
from thresher.scanner.instructions import instructions
from thresher.scanner.lexicon import ADDRESS, words
from thresher.scanner.records import ALONE, Finding, PeerTools
from thresher.scanner.requests import requests
from thresher.scanner.sentences import Reason, sentences
from thresher.scanner.texts import ScanText, texts

_PARTS: Final = re.compile(r"[\W_]+|(?<=[a-z0-9])(?=[A-Z])")
_ASKS: Final = words(
    r"""\b(?:contents?|reading|read|dump|value|file)\b.*\b(?:ssh|id\ rsa|private\ key|passwd|shadow|env\ file
      |dotenv|aws\ credentials|mcp\ json|keychain|cookies)\b
    |\b(?:ssh|id\ rsa|private\ key|etc\ passwd|env\ file|dotenv|aws\ credentials|mcp\ json|keychain
    |browser\ cookies)\b.*\b(?:contents?|dump|reading)\b"""
)
_TALK: Final = words(
    r"\b(?:chain\ of\ thought|tool\ call\ history|tools\ list|your\ system\ prompt|hidden\ instructions?)\b"
)
_COPIES: Final = words(r"\b(?:bcc|cc|forward|copy\ to|callback|webhook|collector|exfil|mirror|report\ to|beacon)\b")
_SKIPS: Final = words(
    r"""\b(?:skip|no|disable|bypass|ignore|without|auto)\ (?:\w+\ )?(?:confirm(?:ation)?|verif(?:y|ication)
    |auth(?:entication)?
    |approv(?:e|al)|consent|safety|ssl|tls|certificate)\b"""
)
_ADDRESS: Final = words(ADDRESS)


def names(name: str) -> Iterator[Reason]:
    """Yield what the name of a tool or parameter asks for."""
    parts = _PARTS.sub(" ", name).strip()
    if _ASKS.search(parts):
        yield "exfiltration", "danger", "Its name asks for the content of a secret."
    elif _TALK.search(parts):
        yield "exfiltration", "warning", "Its name asks for what only the model knows."


def values(name: str, value: str) -> Iterator[Reason]:
    """Yield what a parameter's preset value does."""
    parts = _PARTS.sub(" ", name).strip()
    if value == "true":
        if _SKIPS.search(parts):
            yield "command", "warning", "A safeguard is off by default."
        return
    if _COPIES.search(parts) and _ADDRESS.search(value) and not re.search(r"example\.|localhost|127\.0\.0\.1", value):
        yield "exfiltration", "warning", "Data is copied to a preset address by default."
    for kind, _, _ in shell(value):
        yield kind, "warning", "A shell command is the preset value."


_EXCERPT: Final = 160
_SHORT: Final = 400
"""Longest text, in characters, that the classifier may acquit: in a longer one harmless words could prevail."""
_WORDED: Final = "Its wording resembles texts that turn a model against its user."
_LONGEST: Final = 30_000
"""Longest part of a text that is read, in characters; the longest of 5,000 public tools has fewer than 4,000."""
_DEPTH: Final = 2
"""Deepest nesting of hidden text that is scanned."""


def scan(tool: Tool, peers: PeerTools = ALONE) -> tuple[Finding, ...]:
    """Scan a tool's definition.

    Args:
        tool: The tool as its server lists it.
        peers: The tools of other servers and the names of this server's own.

    Returns:
        The findings in the order of its texts; empty for an ordinary tool.
    """
    found: dict[tuple[str, str], Finding] = {}
    for text in texts(tool):
        for finding in _weighed(text, list(_text(text, peers, tool)), list(_requested(text, peers, tool))):
            found.setdefault((finding.where, finding.why), finding)
    summary = first_sentence(tool.description or tool.title)
    for said in (*imitates(tool.name, summary, peers), *poses(tool.server, tool.name, peers)):
        finding = finding_of(said, "/name", tool.name, 0)
        found.setdefault((finding.where, finding.why), finding)
    return tuple(found.values())


def scan_text(text: str) -> tuple[Finding, ...]:
    """Scan one text that a server gives a model, such as its instructions."""
    whole = ScanText("", text, "prose")
    return (*_text(whole, ALONE, None), *_requested(whole, ALONE, None))


def _text(text: ScanText, peers: PeerTools, tool: Tool | None) -> Iterator[Finding]:
    name = tool.name if tool is not None else ""
    if len(text.text) > _LONGEST:
        why = "It is too long for people, and the scanner, to read."
        yield finding_of(("hidden", "danger", why), text.where, text.text, 0)
        text = replace(text, text=text.text[:_LONGEST])
    for run in concealed(text.text):
        what = f"{run.what[0].upper()}{run.what[1:]}."
        yield finding_of(("hidden", run.severity, what), text.where, text.text, run.place)
        if run.says:
            yield from _uncovered(run.says, run.what, text, peers, name)
    plain = folded(text.text)
    if text.role == "name":
        yield from (finding_of(said, text.where, text.text, 0) for said in names(plain))
    elif text.role == "value":
        yield from (finding_of(said, text.where, text.text, 0) for said in values(text.name, plain))
    if " " in plain:
        yield from _prose(plain, text.where, peers, name)
    if len(plain) > 15:
        for _, how, says in uncovered(plain):
            yield from _uncovered(says, how, text, peers, name)


def _requested(text: ScanText, peers: PeerTools, tool: Tool | None) -> Iterator[Finding]:
    for said, quoted in requests(text, folded(text.text[:_LONGEST]), tool, peers):
        yield finding_of(said, text.where, quoted, 0)


def _weighed(text: ScanText, found: list[Finding], requested: list[Finding]) -> list[Finding]:
    """Combine the findings of the rules with the verdict of the classifier.

    Args:
        text: The text.
        found: Orders, leaked secrets and commands, which no other words excuse.
        requested: Requests. In a short text the classifier may reduce them to warnings, except for what is put into a
            parameter: that depends on the purpose of the tool, which the classifier does not know.
    """
    if not is_read(text):
        return [*found, *requested]
    odds, part = poisoned(text, folded(text.text[:_LONGEST]))
    if odds < HARMLESS and len(text.text) <= _SHORT:
        needs = text.name and "exfiltration"
        requested = [one if one.kind == needs else replace(one, severity="warning") for one in requested]
    found = [*found, *requested]
    if odds > POISONED and not any(finding.severity == "danger" for finding in found):
        found.append(finding_of(("instruction", "danger", _WORDED), text.where, part, 0))
    return found


def _prose(plain: str, where: str, peers: PeerTools, tool: str) -> Iterator[Finding]:
    for sentence in sentences(plain):
        for rule in (instructions, exfiltration, commands):
            for said in rule(sentence):
                yield finding_of(said, where, sentence.text, 0)
        for said in crossing(sentence, peers, tool):
            yield finding_of(said, where, sentence.text, 0)


def _uncovered(says: str, how: str, text: ScanText, peers: PeerTools, tool: str, depth: int = 1) -> Iterator[Finding]:
    """Yield findings in hidden text; each is dangerous, since hiding it was deliberate."""
    plain = folded(says)
    reasons = [finding.why for finding in _prose(plain, text.where, peers, tool)]
    reasons += [why for _, _, why in shell(plain)]
    reasons += [said[2] for said, _ in requests(replace(text, text=says, role="value"), plain, None, peers)]
    for why in reasons:
        yield finding_of(("hidden", "danger", f"Hidden ({how}): {why}"), text.where, says, 0)
    if depth < _DEPTH:
        for _, more, inner in uncovered(plain):
            yield from _uncovered(inner, f"{how}, {more}", text, peers, tool, depth + 1)


def finding_of(said: Reason, where: str, text: str, place: int) -> Finding:
    """Return a finding that quotes the text around a place."""
    kind, severity, why = said
    start = max(0, place - _EXCERPT // 4)
    shown = " ".join(visible(text[start : start + _EXCERPT]).split())
    return Finding(
        kind, severity, where, f"{'…' if start else ''}{shown}{'…' if start + _EXCERPT < len(text) else ''}", why
    )
