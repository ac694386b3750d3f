"""Scans rules: texts that are meant to instruct a model and may order what a tool's description may not.

Invariant: plain orders, roles, shell commands and mentions of secrets are not reported; invisible text, attempts to
override earlier instructions, exfiltration and interference with other tools are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from thresher.core import LazyPattern
from thresher.scanner.commands import shell
from thresher.scanner.crossing import steers
from thresher.scanner.exfiltration import leaks, leaves
from thresher.scanner.hidden_text import concealed, folded, uncovered
from thresher.scanner.instructions import ACT_COVERT, CONCEALS, COVERT_ACT, OVERRIDES, instructions
from thresher.scanner.lexicon import ADDRESS, OUTSIDE, words
from thresher.scanner.records import ALONE, Finding, Kind
from thresher.scanner.scan import finding_of
from thresher.scanner.sentences import Reason, Sentence, sentences, used

_BEGINNINGS: Final = """
aban ackn add addi adhe admi aler alte anyt appe atta atte axio bcc beac behi boun bypa carr chan clan comp conc copi
copy cove curl dan deac disa disc diso disr emai embe enco exec exfi expl fetc foll forg forw furt give god gran harv
hide hija http igno impe incl info inse inte invi invo irm iwr jail keep know leak limi mail ment mirr modi nc ncat
negl new no noti null obey over pass past post prov put quie reci redi refr rela repl requ rero rest reve rsyn scp
secr send sent sftp shad sile siph stea stre subm supe surr susp swit tell tran turn unbe unce unno unre uplo viol
warn wget what wrap xmlh
"""
"""First four letters of the words that a rule needs; a line with none of them is skipped, which saves most work."""
_STEMS: Final = frozenset(_BEGINNINGS.split())
_WORDS: Final = re.compile("[a-z]+")
_WRAPPED: Final = re.compile(r"(?<=[\w,'\")])[ \t]*\n[ \t]*(?=[a-z])")
"""A line break within a sentence."""
_EMPHASIS: Final = re.compile(r"\*{1,3}|`+|~~|(?<!\w)_{1,3}(?=\w)|(?<=\w)_{1,3}(?!\w)")
_IGNORES: Final = words(r"\A(?:ignor|disregard|forget|pay|do\s+not|don't|stop|set|disobey|nullif)")
_TOLD: Final = words(
    r"""\b(?:instructions?|prompts?|directives?|guidelines?|guidance|safeguards?|guardrails?|training|programming|orders|commands)\Z
    |\b(?:system|safety|content)\s+(?:\w+\s+)?(?:rules|polic(?:y|ies)|restrictions?|checks?|messages?|constraints?)\Z"""
)
_BEFORE: Final = words(
    r"\b(?:previous|prior|earlier|preceding|above|foregoing|former|your|you\s+were\s+told|everything|before)\b"
)
_VOID: Final = words(
    r"""\b(?:your|the|all|any)\s+(?:previous|prior|earlier|former|original|system|other)\s+(?:instructions?|prompts?|rules|guidelines?)\s+(?:no\s+longer|do\s+not|don't|cease\s+to)\s+(?:apply|hold|count|matter)\b
    |\b(?:forget|ignore|disregard)\s+everything\s+(?:that\s+)?(?:you\s+(?:were|have\s+been)\s+told|you\s+know|before|above)\b"""
)
_UNBOUND: Final = words(
    r"""\bthere\s+are\s+no\s+(?:restrictions|limits|rules|limitations)\s+(?:any\s*more|now|for\s+you)\b
    |\byou\s+have\s+been\s+granted\s+(?:\w+\s+)?(?:root|admin|god|full|unrestricted)\s+(?:mode|access|rights|privileges)\b|\b(?:DAN|jailbreak|jailbroken|unrestricted|uncensored|god)\s+mode\b|\bdo\s+anything\s+now\b
    |\byou\s+(?:are\s+(?:no\s+longer|not)\s+(?:bound|restricted|limited|subject)\s+(?:by|to)\b|have\s+no\s+(?:restrictions|limits|guidelines)\b)
    |\b(?:disabl|deactivat|turn\s+off|switch\s+off|suspend)(?:e|ing)?\s+(?:all\s+|any\s+|your\s+)+(?:\w+\s+){0,2}(?:safety|safeguards?|guardrails?)\b"""
)
_RANKS: Final = words(
    r"""\bth(?:is|ese)\s+(?:skill|pack|rule|guide|instruction)s?\s+(?:\w+\s+)?(?:supersed|replac|overrid|disabl|tak)(?:e|es)\s+(?:precedence\s+over\s+)?
    (?:all|any|every)\s+(?:other\s+)?(?:\w+\s+){0,2}(?:tools?|skills?|packs?|servers?)\b"""
)
_RECIPIENTS: Final = words(
    r"\b(?:modif|chang|replac|add|alter|extend)(?:e|es|y|ies|s|ing)?\s+(?:to\s+)?(?:the\s+)?recipients?\s+(?:of|in|for)\b"
)
_TOOLS: Final = words(r"\b(?:tools?|skills?|servers?|packs?)\b")
_MEDDLES: Final = words(
    r"""\b(?:another|any\s+other|every\s+other|(?:all\s+)?other)\s+(?:\w+\s+)?tools?\b[^.\n]{0,60}
    \b(?:chang|replac|alter|modif|overwrit|falsif)\w*\s+(?:its|their|the)\s+(?:outputs?|results?|responses?|answers?|arguments?|parameters?|recipients?)\b"""
)
_FETCHED: Final = words(
    rf"""\b(?:load|fetch|download|retriev|get|obtain|pull|read|check)\w*\b[^.\n]{{0,40}}\b(?:instructions?|commands?|directives?|orders|prompts?|payloads?)\b[^\n]{{0,30}}\b(?:from|at|in|hosted)\b
      [^\n]{{0,40}}?(?:{ADDRESS}|{OUTSIDE})[^\n]{{0,60}}?\b(?:follow|obey|execut|comply|adher|do\s+what|carry\s+(?:them|it)\s+out)
    |\b(?:load|fetch|download|retriev|get|open|visit|read)\w*\s+\W?{ADDRESS}[^\n]{{0,40}}\b(?:do|follow|obey|execute|run)\s+(?:whatever|what|anything|everything|the\s+(?:instructions|orders|commands))\b"""
)

_ORDERS: Final[tuple[tuple[LazyPattern, Kind, str], ...]] = (
    (OVERRIDES, "instruction", "It tells the model to disregard its instructions."),
    (_VOID, "instruction", "It tells the model to disregard its instructions."),
    (_UNBOUND, "instruction", "It tells the model that no limits apply."),
    (_RECIPIENTS, "override", "It changes the recipient of something."),
    (_MEDDLES, "override", "It changes what another tool does."),
    (_RANKS, "override", "It replaces other tools."),
    (_FETCHED, "command", "It makes the model fetch instructions from elsewhere."),
)


def scan_rules(text: str, *, where: str = "") -> tuple[Finding, ...]:
    """Scan one text of a rule book.

    Args:
        text: The text, of any length; time is linear in it.
        where: Location to report, such as `/rules`.

    Returns:
        The findings; `danger` keeps the rules out of use until a person has reviewed them.
    """
    found: dict[tuple[str, str], Finding] = {}
    for finding in _findings(text, where):
        found.setdefault((finding.kind, finding.why), finding)
    return tuple(found.values())


def _findings(text: str, where: str) -> Iterator[Finding]:
    for run in concealed(text):
        yield finding_of(("hidden", run.severity, f"{run.what[0].upper()}{run.what[1:]}."), where, text, run.place)
        if run.says:
            yield from _uncovered(run.says, run.what, where, encoded=True)
    plain = folded(text)
    for sentence, said, place in _prose(plain):
        yield finding_of(said, where, sentence.text, place)
    for place, how, says in uncovered(plain):
        if not plain.startswith("/*", place):
            yield from _uncovered(says, how, where, encoded=not how.startswith("not shown"))


def _uncovered(says: str, how: str, where: str, *, encoded: bool) -> Iterator[Finding]:
    """Yield findings in hidden text, which may not order what visible rules may."""
    plain = folded(says)
    reasons = [said[2] for _, said, _ in _prose(plain) if said[1] == "danger"]
    for sentence in sentences(plain):
        reasons += [why for _, severity, why in instructions(sentence) if severity == "danger"]
    if encoded:
        reasons += [why for _, _, why in shell(plain)]
    for why in reasons:
        yield finding_of(("hidden", "danger", f"Hidden ({how}): {why}"), where, says, 0)


def _prose(plain: str) -> Iterator[tuple[Sentence, Reason, int]]:
    for sentence in sentences(_EMPHASIS.sub("", _WRAPPED.sub(" ", _touched(plain)))):
        if _touches(sentence.text):
            for said, place in _sentence(sentence):
                yield sentence, said, place


def _touched(plain: str) -> str:
    """Return the lines with a relevant word and their neighbours; an empty line stands for omitted ones."""
    lines = plain.split("\n")
    touched = [False, *map(_touches, lines), False]
    kept = (line if any(touched[at : at + 3]) else "" for at, line in enumerate(lines))
    return "\n".join(kept)


def _touches(text: str) -> bool:
    low = text.lower()
    return "without" in low or not _STEMS.isdisjoint([word[:4] for word in _WORDS.findall(low)])


def _sentence(sentence: Sentence) -> Iterator[tuple[Reason, int]]:
    for pattern, kind, why in _ORDERS:
        if (found := used(sentence, pattern)) and (pattern is not OVERRIDES or _is_meant(found[0])):
            yield (kind, "danger", why), found.start()
    yield from leaks(sentence)
    if _TOOLS.search(sentence.text) and not sentence.watches and steers(sentence, ALONE):
        yield ("override", "danger", "It changes what another tool does."), 0
    yield from _hushed(sentence)


def _is_meant(found: str) -> bool:
    """Return whether the words are about the model's instructions, and not about rules of a linter or style sheet."""
    told = _TOLD.search(found.rstrip(" ,;.")) is not None
    return told if not _IGNORES.search(found) else told or _BEFORE.search(found) is not None


def _hushed(sentence: Sentence) -> Iterator[tuple[Reason, int]]:
    """Yield what people must not notice: a danger if something is sent away, else a warning."""
    if found := used(sentence, COVERT_ACT) or used(sentence, ACT_COVERT):
        severity = "danger" if leaves(sentence) else "warning"
        yield ("instruction", severity, "It asks for something to be done unnoticed."), found.start()
    if found := used(sentence, CONCEALS):
        severity = "danger" if leaves(sentence) else "warning"
        yield ("instruction", severity, "It tells the model to keep something from people."), found.start()
