"""What leaves by a rule: files of secrets, secrets by name, conversations.

Invariant: rules speak of secrets, addresses and commands all day; a leak is the thing, a verb that gives it away and
the way out, in this order or in one command.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from thresher.scanner.lexicon import ADDRESS, HIDDEN_TALK, NAMED_PRIVATE, OUTSIDE, PRIVATE_PLACE, TALK, words
from thresher.scanner.sentences import Sentence
from thresher.scanner.signs import AWAY, INTO, Said, used

GIVE: Final = r"""(?:\b(?:send|upload|post|transmit|forward|e-?mail|leak|relay|exfiltrat|beacon|stream|mirror|siphon
    |submit|steal|harvest)(?:e|es|s|ed|ing|ting)?\b|\bsent\b)"""
"""Verbs that send something away. To copy, write or put is what rules ask for in every line."""
_OUT: Final = rf"(?:{ADDRESS}|{OUTSIDE})"
_TAKE: Final = r"\b(?:read|open|cat|take|get|collect|load|cop(?:y|ies)|grab|gather|find)\w*\b"
_SECRET_FILE: Final = rf"""(?:{PRIVATE_PLACE})(?<!\.example)(?<!\.sample)(?<!\.template)
    (?!\.(?:example|sample|template|pub)\b)"""
_KEY_FILE: Final = r"""(?:[\w./~$\\{}-]{0,40}(?:\.ssh/(?!config|authorized_keys|known_hosts)[\w.*-]+
    |\bid_(?:rsa|ed25519|ecdsa|dsa)
    |\.aws/credentials|\.netrc|\.pgpass|\.git-credentials|\.gnupg/[\w.-]+|/etc/(?:passwd|shadow)|wallet\.dat|cookies\.sqlite)\b(?!\.pub\b))"""
"""Files that hold nothing but secrets, and that no rule gives to anybody."""
_CLIENT: Final = r"\b(?:curl|wget|https?ie|invoke-(?:webrequest|restmethod)|iwr|irm)\b"
_LIBRARY: Final = r"(?:\brequests\.(?:post|put)|\bhttpx\.\w+|\burlopen|\bfetch|\baxios(?:\.\w+)?|\bXMLHttpRequest)\s*\("

_FILE: Final = words(_SECRET_FILE)
_HOLDS: Final = words(rf"{_SECRET_FILE}|{_KEY_FILE}|\b(?:env|printenv)\b")
"""Most sentences name no such thing, and are spared the rest."""
_IT: Final = words(r"\b(?:it|its|them|this|that|these|those|contents?|files?|results?|output|data|everything|keys?)\b")
_GIVES: Final = words(GIVE)
_GIVEN: Final = words(rf"{GIVE}[^.;\n]{{0,60}}?{_SECRET_FILE}")
_TAKEN: Final = words(rf"{_TAKE}[^;\n]{{0,60}}?{_SECRET_FILE}[^\n]{{0,100}}?{GIVE}")
_ENCODED: Final = words(rf"\bencod\w*\b[^;\n]{{0,40}}?{_SECRET_FILE}[^\n]{{0,40}}?\bbase64\b")
_HANDED: Final = words(
    rf"""\b(?:attach|put|includ|insert|past|embed|cop(?:y|ie)|encod|append|add|giv|provid|pass)(?:e|es|s|ing)?\s+(?:me\s+)?(?:the\s+)?
    (?:\w+\s+)?(?:contents?\s+of\s+)?(?:the\s+)?(?:file\s+)?["']?{_KEY_FILE}"""
)
_PIPED: Final = words(
    rf"""{_CLIENT}[^\n]{{0,200}}?(?:@|<\s*|--post-file[=\s]|--upload-file[=\s]|\s-T\s|\$\(\s*(?:cat|base64|<)[^)]{{0,60}})
      ["']?[\w./~$\{{\}}-]{{0,40}}?{_SECRET_FILE}
    |(?:{_SECRET_FILE}|\b(?:env|printenv)\b)[^\n|]{{0,60}}\|[^\n]{{0,60}}(?:{_CLIENT}|\bn(?:c|cat)\b|\bopenssl\s+s_client\b)
    |\b(?:scp|rsync|sftp)\s+(?:-[a-hj-z]+\s+)*{_KEY_FILE}
    |{_LIBRARY}[^\n]{{0,200}}?{_KEY_FILE}"""
)
_TALKED: Final = words(
    rf"""{GIVE}[^.;\n]{{0,60}}?(?:{TALK}|{HIDDEN_TALK}|\b(?:all|every|each|any)\s+(?:\w+\s+)?(?:e-?mails?|files?|documents?)\b
      |\b(?:this|our|the)\s+(?:conversation|chat|dialog(?:ue)?|transcript|session)\b)[^;\n]{{0,100}}?{_OUT}"""
)
_DRAWN: Final = words(
    r"""!\[[^\]\[\n]{0,80}\]\(\s*https?://[^)\s\[!?]{1,200}\?[^)\n\[!]{0,200}
    (?:(?:conversation|history|prompt|secret|chat)[^)\n\[!]{0,80}\)|\)[^\n!]{0,80}\b(?:chat|conversation|prompt|history|secrets?|password)\b)"""
)
_NAMED: Final = words(
    rf"""{GIVE}\s+(?:(?:me|us|out)\s+)?(?:all|any|every|each|the\s+(?:user|person|customer)'?s?'?|their|found|discovered)\s+
    (?:\w+\s+){{0,4}}?(?:{NAMED_PRIVATE})[^;\n]{{0,100}}?{_OUT}"""
)
_BLIND_COPY: Final = words(rf"\bbcc\b[^;\n]{{0,60}}?(?:{ADDRESS}|\battackers?\b)")
_FETCHES: Final = words(_CLIENT)
_OWN_PLACE: Final = re.compile(r"example\.(?:com|org|net)|localhost|127\.0\.0\.1|your-?(?:domain|company|org)", re.I)

_FILES_LEAVE: Final = "It has a file of secrets sent away."
_AWAY: Final = (
    (_NAMED, "It has secrets sent away."),
    (_TALKED, "It has what people say or hold passed on."),
    (_DRAWN, "It has what people say or hold passed on."),
    (_BLIND_COPY, "It has a hidden copy go to an address of its own."),
)


def leaks(sentence: Sentence) -> Iterator[tuple[Said, int]]:
    """What a sentence of a rule gives away, and where it says so."""
    away = AWAY.search(sentence.text) is not None
    for pattern, why in _AWAY if away else ():
        if (found := used(sentence, pattern)) and not _OWN_PLACE.search(found[0]):
            yield ("exfiltration", "danger", why), found.start()
    if _HOLDS.search(sentence.pair) and (place := _file_given(sentence, away=away)) is not None:
        yield ("exfiltration", "danger", _FILES_LEAVE), place


def leaves(sentence: Sentence) -> bool:
    """Whether, in a sentence and the one before, anything goes to an address, or a file of secrets is named."""
    pair = sentence.pair
    away = AWAY.search(pair) is not None and (_GIVES.search(pair) or _FETCHES.search(pair)) is not None
    return away or _FILE.search(pair) is not None


def _file_given(sentence: Sentence, *, away: bool) -> int | None:
    """Where a sentence, with the one before, sends a file of secrets somewhere; None where it does not."""
    text = sentence.text
    if (found := used(sentence, _PIPED)) and not _OWN_PLACE.search(found[0]):
        return found.start()
    if _OWN_PLACE.search(text) or not (away or INTO.search(text)):
        return None
    if found := used(sentence, _HANDED):
        return found.start()
    for pattern in (_GIVEN, _TAKEN, _ENCODED) if away else ():
        if found := used(sentence, pattern):
            return found.start()
    gives = used(sentence, _GIVES) if away and _FILE.search(sentence.before) else None
    return gives.start() if gives and _IT.search(text, gives.end()) else None
