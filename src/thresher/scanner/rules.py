"""Scans rules: text that is meant to instruct a model, and so may order what a tool's description may not.

Invariant: plain orders, roles, shell commands and talk of secrets are no finding; what people cannot see, overrides of
what the model was told, what takes secrets or conversations away and what steers other tools are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from thresher.scanner.characters import concealed, folded
from thresher.scanner.commands import FOLLOWS, REMOTE_ORDERS, shell
from thresher.scanner.crossing import steers
from thresher.scanner.decoding import uncovered
from thresher.scanner.instructions import ACT_COVERT, CONCEALS, COVERT_ACT, OVERRIDES, instructions
from thresher.scanner.lexicon import ADDRESS, HIDDEN_TALK, NAMED_PRIVATE, OUTSIDE, PRIVATE_PLACE, TALK, words
from thresher.scanner.records import ALONE, Finding
from thresher.scanner.scan import finding_of
from thresher.scanner.sentences import Sentence, sentences
from thresher.scanner.signs import AWAY, Said, used

_BEGINNINGS: Final = """
igno disr forg over bypa disc negl aban null viol diso atte foll supe hija inte impe shad repl chan modi alte redi rero
wrap bcc cc send uplo post tran forw mail emai leak rela exfi beac stre mirr siph subm stea harv curl wget nc ncat
iwr irm invo secr sile cove invi quie surr clan unno behi unbe dan jail unre unce god anyt boun rest limi deac disa turn
swit susp obey comp adhe furt addi new tell info noti aler warn ment reve expl ackn admi hide conc keep refr know
"""
"""First four letters of the words that a sign needs; a line without any is of no interest, which saves most work."""
_STEMS: Final = frozenset(_BEGINNINGS.split())
_WORDS: Final = re.compile("[a-z]+")
_WRAPPED: Final = re.compile(r"(?<=[\w,'\")])[ \t]*\n[ \t]*(?=[a-z])")
"""A line's end inside a sentence of prose that is wrapped."""
_EMPHASIS: Final = re.compile(r"\*{1,3}|`+|~~|(?<!\w)_{1,3}(?=\w)|(?<=\w)_{1,3}(?!\w)")
_MEANT: Final = words(
    r"\b(?:previous|prior|earlier|preceding|above|existing|foregoing|former|past|system|safety|security|original|all|any"
    r"|every|everything|your|users?'?s?)\b"
)
_UNBOUND: Final = words(
    r"""\b(?:DAN|jailbreak|jailbroken|unrestricted|uncensored|god)\s+mode\b|\bdo\s+anything\s+now\b
    |\byou\s+(?:are\s+(?:no\s+longer|not)\s+(?:bound|restricted|limited|subject)\s+(?:by|to)\b|have\s+no\s+(?:restrictions|limits|guidelines)\b)
    |\b(?:disabl|deactivat|turn\s+off|switch\s+off|suspend)(?:e|ing)?\s+(?:all\s+|any\s+|your\s+)+(?:\w+\s+){0,2}(?:safety|safeguards?|guardrails?)\b"""
)
_GIVE: Final = r"""\b(?:send|upload|post|transmit|forward|e-?mail|leak|relay|exfiltrat|beacon|stream|mirror|siphon
    |submit|steal|harvest)(?:e|es|s|ed|ing|ting)?\b"""
_GIVES: Final = words(_GIVE)
_SECRET_FILE: Final = (
    rf"(?:{PRIVATE_PLACE})(?<!\.example)(?<!\.sample)(?<!\.template)(?!\.(?:example|sample|template|pub)\b)"
)
_FILE: Final = words(_SECRET_FILE)
_GIVEN: Final = words(rf"{_GIVE}[^.;\n]{{0,60}}?{_SECRET_FILE}")
_TAKEN: Final = words(
    rf"\b(?:read|open|cat|take|get|collect|load|cop(?:y|ies)|grab|gather|find)\w*\b[^;\n]{{0,60}}?{_SECRET_FILE}[^\n]{{0,100}}?{_GIVE}"
)
_IT: Final = words(r"\b(?:it|its|them|this|that|these|those|contents?|files?|results?|output|data|everything|keys?)\b")
_PIPED: Final = words(
    rf"""\b(?:curl|wget|https?ie|invoke-(?:webrequest|restmethod)|iwr|irm)\b[^\n]{{0,200}}?(?:@|<\s*|--post-file[=\s]|--upload-file[=\s]|\s-T\s|\$\(\s*(?:cat|base64|<)[^)]{{0,60}})["']?[\w./~$\{{\}}-]{{0,40}}?{_SECRET_FILE}
    |(?:{_SECRET_FILE}|\b(?:env|printenv)\b)[^\n|]{{0,60}}\|[^\n]{{0,60}}\b(?:curl|wget|n(?:c|cat)|openssl\s+s_client|iwr|irm)\b"""
)
_TALKED: Final = words(
    rf"""{_GIVE}[^.;\n]{{0,60}}?(?:{TALK}|{HIDDEN_TALK}|\b(?:all|every|each|any)\s+(?:\w+\s+)?(?:e-?mails?|files?|documents?)\b)
    [^;\n]{{0,100}}?(?:{ADDRESS}|{OUTSIDE})"""
)
_SECRETS: Final = words(
    rf"""{_GIVE}\s+(?:(?:me|us|out)\s+)?(?:all|any|every|each|the\s+(?:user|person|customer)'?s?'?|their|found|discovered)\s+(?:\w+\s+){{0,4}}?(?:{NAMED_PRIVATE})
    [^;\n]{{0,100}}?(?:{ADDRESS}|{OUTSIDE})"""
)
_BLIND_COPY: Final = words(rf"\bbcc\b[^;\n]{{0,60}}?(?:{ADDRESS}|\battackers?\b)")
_RANKS: Final = words(
    r"""\bth(?:is|ese)\s+(?:skill|pack|rule|guide|instruction)s?\s+(?:\w+\s+)?(?:supersed|replac|overrid|disabl|tak)(?:e|es)\s+(?:precedence\s+over\s+)?
    (?:all|any|every)\s+(?:other\s+)?(?:\w+\s+){0,2}(?:tools?|skills?|packs?|servers?)\b"""
)
_OWN_PLACE: Final = re.compile(r"example\.(?:com|org|net)|localhost|127\.0\.0\.1|your-?(?:domain|company|org)", re.I)

_ORDERS: Final = (
    (OVERRIDES, "instruction", "It tells the model to disregard what it was told."),
    (_UNBOUND, "instruction", "It tells the model that no limits hold."),
    (_PIPED, "exfiltration", "It has a file of secrets sent away."),
    (_SECRETS, "exfiltration", "It has secrets sent away."),
    (_TALKED, "exfiltration", "It has what people say or hold passed on."),
    (_RANKS, "override", "It puts itself in the place of others."),
    (_BLIND_COPY, "exfiltration", "It has a hidden copy go to an address of its own."),
)


def scan_rules(text: str, *, where: str = "") -> tuple[Finding, ...]:
    """Look at one text of a rule book.

    Args:
        text: The text, of any length; time grows with it and no faster.
        where: What the findings are said to be in, such as `/rules`.

    Returns:
        What is suspicious about it; `danger` is meant to keep the rules out of use until a person has looked.
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
    """Findings in a text that was hidden; there it may not order what rules in the open may."""
    plain = folded(says)
    reasons = [said[2] for _, said, _ in _prose(plain) if said[1] == "danger"]
    for sentence in sentences(plain):
        reasons += [why for _, severity, why in instructions(sentence) if severity == "danger"]
    if encoded:
        reasons += [why for _, _, why in shell(plain)]
    for why in reasons:
        yield finding_of(("hidden", "danger", f"Hidden ({how}): {why}"), where, says, 0)


def _prose(plain: str) -> Iterator[tuple[Sentence, Said, int]]:
    for sentence in sentences(_EMPHASIS.sub("", _WRAPPED.sub(" ", _touched(plain)))):
        if _touches(sentence.text):
            for said, place in _sentence(sentence):
                yield sentence, said, place


def _touched(plain: str) -> str:
    """The lines that hold a sign's word, each with its neighbours; an empty line stands for what is left out."""
    lines = plain.split("\n")
    touched = [False, *map(_touches, lines), False]
    kept = (line if any(touched[at : at + 3]) else "" for at, line in enumerate(lines))
    return "\n".join(kept)


def _touches(text: str) -> bool:
    low = text.lower()
    return "without" in low or not _STEMS.isdisjoint([word[:4] for word in _WORDS.findall(low)])


def _sentence(sentence: Sentence) -> Iterator[tuple[Said, int]]:
    for pattern, kind, why in _ORDERS:
        if (found := used(sentence, pattern)) and _is_meant(pattern, found):
            yield (kind, "danger", why), found.start()  # pyright: ignore[reportReturnType] - kinds of the table above
    if place := _file_given(sentence):
        yield ("exfiltration", "danger", "It has a file of secrets sent away."), place
    if used(sentence, REMOTE_ORDERS) and FOLLOWS.search(sentence.text):
        yield ("command", "danger", "It has orders fetched from elsewhere."), 0
    if not sentence.watches and steers(sentence, ALONE):
        yield ("override", "danger", "It changes what another tool does."), 0
    yield from _hushed(sentence)


def _is_meant(pattern: re.Pattern[str], found: re.Match[str]) -> bool:
    """Whether the words are more than an author speaking of his own rules or of places that stand for any."""
    if pattern is OVERRIDES:
        return _MEANT.search(found[0]) is not None
    return _OWN_PLACE.search(found[0]) is None


def _file_given(sentence: Sentence) -> int | None:
    """Where a sentence, with the one before, sends a file of secrets to an address; None where it does not."""
    text = sentence.text
    if not AWAY.search(text) or _OWN_PLACE.search(text):
        return None
    for pattern in (_GIVEN, _TAKEN):
        if found := used(sentence, pattern):
            return found.start() + 1
    gives = used(sentence, _GIVES) if _FILE.search(sentence.before) else None
    return gives.start() + 1 if gives and _IT.search(text, gives.end()) else None


def _hushed(sentence: Sentence) -> Iterator[tuple[Said, int]]:
    """What people are not to notice: a danger where something leaves, else something that they should know."""
    leaves = AWAY.search(sentence.pair) is not None and _GIVES.search(sentence.pair) is not None
    grave = leaves or _FILE.search(sentence.pair) is not None
    if found := used(sentence, COVERT_ACT) or used(sentence, ACT_COVERT):
        yield ("instruction", "danger" if grave else "warning", "Something is to be done unnoticed."), found.start()
    if found := used(sentence, CONCEALS):
        why = "It tells the model to keep something from people."
        yield ("instruction", "danger" if grave else "warning", why), found.start()
