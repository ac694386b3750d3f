"""Exfiltration: secrets, or what users say, go into a parameter or to an address.

`leaks` reads rules, which mention secrets, addresses and commands all the time: a leak is the thing, a verb that gives
it away, and the destination, in this order or in one command. `exfiltration` reads tool definitions.

Invariant: two signs are needed, the thing and its destination; a tool that honestly reads a key file, or sends what it
is given, shows only one of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from thresher.scanner.lexicon import (
    ADDRESS,
    COMMANDING,
    HIDDEN_TALK,
    NAMED_PRIVATE,
    OUTSIDE,
    PRIVATE_PLACE,
    SEND,
    TAKE,
    TALK,
    TELL,
    words,
)
from thresher.scanner.sentences import AWAY, ELSEWHERE, INTO, Reason, Sentence, active, is_denied, is_ordered, used

GIVE: Final = r"""(?:\b(?:send|upload|post|transmit|forward|e-?mail|leak|relay|exfiltrat|beacon|stream|mirror|siphon
    |submit|steal|harvest)(?:e|es|s|ed|ing|ting)?\b|\bsent\b)"""
"""Verbs that send something away. Copy, write and put are too common in rules."""
_OUT: Final = rf"(?:{ADDRESS}|{OUTSIDE})"
_TAKE: Final = r"\b(?:read|open|cat|take|get|collect|load|cop(?:y|ies)|grab|gather|find)\w*\b"
_SECRET_FILE: Final = rf"""(?:{PRIVATE_PLACE})(?<!\.example)(?<!\.sample)(?<!\.template)
    (?!\.(?:example|sample|template|pub)\b)"""
_KEY_FILE: Final = r"""(?:[\w./~$\\{}-]{0,40}(?:\.ssh/(?!config|authorized_keys|known_hosts)[\w.*-]+
    |\bid_(?:rsa|ed25519|ecdsa|dsa)
    |\.aws/credentials|\.netrc|\.pgpass|\.git-credentials|\.gnupg/[\w.-]+|/etc/(?:passwd|shadow)|wallet\.dat|cookies\.sqlite)\b(?!\.pub\b))"""
"""Files that hold nothing but secrets and that no rule hands out."""
_CLIENT: Final = r"\b(?:curl|wget|https?ie|invoke-(?:webrequest|restmethod)|iwr|irm)\b"
_LIBRARY: Final = r"(?:\brequests\.(?:post|put)|\bhttpx\.\w+|\burlopen|\bfetch|\baxios(?:\.\w+)?|\bXMLHttpRequest)\s*\("

_FILE: Final = words(_SECRET_FILE)
_HOLDS: Final = words(rf"{_SECRET_FILE}|{_KEY_FILE}|\b(?:env|printenv)\b")
"""Quick test: most sentences name none of these and are skipped."""
_IT: Final = words(r"\b(?:it|its|them|this|that|these|those|contents?|files?|results?|output|data|everything|keys?)\b")
_GIVES_AWAY: Final = words(GIVE)
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

_FILES_LEAVE: Final = "It sends a file of secrets away."
_AWAY: Final = (
    (_NAMED, "It sends secrets away."),
    (_TALKED, "It passes on what users say or own."),
    (_DRAWN, "It passes on what users say or own."),
    (_BLIND_COPY, "It sends a hidden copy to its own address."),
)


def leaks(sentence: Sentence) -> Iterator[tuple[Reason, int]]:
    """Yield what a sentence of a rule leaks, and where."""
    away = AWAY.search(sentence.text) is not None
    for pattern, why in _AWAY if away else ():
        if (found := used(sentence, pattern)) and not _OWN_PLACE.search(found[0]):
            yield ("exfiltration", "danger", why), found.start()
    if _HOLDS.search(sentence.pair) and (place := _file_given(sentence, away=away)) is not None:
        yield ("exfiltration", "danger", _FILES_LEAVE), place


def leaves(sentence: Sentence) -> bool:
    """Return whether a sentence, with the previous one, sends something to an address or names a file of secrets."""
    pair = sentence.pair
    away = AWAY.search(pair) is not None and (_GIVES_AWAY.search(pair) or _FETCHES.search(pair)) is not None
    return away or _FILE.search(pair) is not None


def _file_given(sentence: Sentence, *, away: bool) -> int | None:
    """Return where a sentence, with the previous one, sends a file of secrets; None if it does not."""
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
    gives = used(sentence, _GIVES_AWAY) if away and _FILE.search(sentence.before) else None
    return gives.start() if gives and _IT.search(text, gives.end()) else None


_PLACE: Final = words(PRIVATE_PLACE)
_WORD: Final = words(NAMED_PRIVATE)
_HIDDEN_TALK: Final = words(HIDDEN_TALK)
_TALK: Final = words(TALK)
_MOVES: Final = words(f"{TAKE}|{SEND}|{TELL}")
_SENDS: Final = words(SEND)
_TELLS: Final = words(TELL)
_TOUCHES: Final = words(
    r"""[/~@]|\.(?:env|ssh|aws|kube|gnupg|docker|azure|net|npm|py|git|cur|cl|co|ge|ba|zsh|pg|json)|id_|https?|ftp|key|token|cook|pass|cred|secret|seed|env|prompt|instruct|messag
    |direct|your|conversation|chat|dialog|histor|context|transcript|quer|input|request|clipboard|said|says|typed|wr[io]te|ask|file|document|mail
    |contact|data|location|brows|screen|everything|collector|webhook|attack|external|remote|third|outside|foreign|unknown|rogue|malicious
    |untrusted|unrelated|site|our|my|wallet|exfil|steal|siphon|harvest|\d\.\d"""
)
"""Quick test: a sentence without any of these word beginnings is skipped; most are."""
_EXFILTRATES: Final = words(r"\b(?:exfiltrat|steal|siphon|harvest)(?:e|es|s|ing|ed)?\b")
_GIVES: Final = words(rf"{SEND}|\b(?:includ|attach|embed|insert|past|add|stor|sav)(?:e|es|s|ing)?\b")
_OTHERS_WORD: Final = words(
    rf"""\b(?:all|every|each|any|(?:users?|human|person|customer)'?s?'?|their|contents?\s+of(?:\s+the)?)\s+(?:\w+\s+){{0,2}}?(?:{NAMED_PRIVATE})"""
)
_DIVERTS: Final = words(
    rf"\b(?:b?cc|b?cc'?d|forward|redirect|rerout|divert)(?:e|es|s|ing|ed)?\b[^.;]{{0,60}}?(?:{ADDRESS}|\battackers?\b)"
)
_COMMANDED: Final = words(COMMANDING)
_DEEP: Final = words(r"\b(?:your|hidden|full|entire|complete|verbatim|own|whole|secret|internal)\b")
_BESIDES: Final = words(
    rf"""(?:\b(?:also|additionally|as\s+well|in\s+addition|then|plus|besides|secretly|silently|and)\s+(?:\w+\s+)?{SEND}|\b(?:a\s+)?(?:copy|duplicate)\s+of\b|\bsends?\s+a\s+copy\b)
    [^.]{{0,100}}?(?:{OUTSIDE}|{ADDRESS})"""
)


def exfiltration(sentence: Sentence) -> Iterator[Reason]:
    """Yield what a sentence exfiltrates."""
    if not _TOUCHES.search(sentence.text) or (sentence.watches and not AWAY.search(sentence.text)):
        return
    for rule in (_files, _talk, _secrets, _copies):
        yield from rule(sentence)


def _files(sentence: Sentence) -> Iterator[Reason]:
    """Yield files of secrets named in this sentence or the previous one."""
    text = sentence.text
    place = _PLACE.search(text)
    moved = place and active(_MOVES, text) is not None and not sentence.mentions(place.start())
    if moved and (AWAY.search(text) or INTO.search(text) or _COMMANDED.search(text)):
        yield "exfiltration", "danger", "It makes the model read a file of secrets."
        return
    sent = active(_SENDS, text)
    if sent is not None and _PLACE.search(sentence.pair) and AWAY.search(text) and not sentence.mentions(sent):
        yield "exfiltration", "danger", "It sends a file of secrets away."


def _talk(sentence: Sentence) -> Iterator[Reason]:
    """Yield what the model was told and what users say to it."""
    text = sentence.text
    told = _HIDDEN_TALK.search(text)
    asked = told and active(_TELLS, text[: told.start()]) is not None and not sentence.mentions(told.start())
    if told and asked and (_DEEP.search(text) or is_ordered(sentence, told.start())):
        yield "exfiltration", "danger", "It asks for what only the model was told."
    sent = active(_MOVES, text) if _TALK.search(text) else None
    if sent is not None and not sentence.mentions(sent) and _leaves(sentence):
        yield "exfiltration", "danger", "It passes on what users say or own."


def _secrets(sentence: Sentence) -> Iterator[Reason]:
    """Yield secrets by name, sent to an outside party; or those of other people, given to anyone."""
    text = sentence.text
    sent = active(_SENDS, text)
    if sent is not None and _WORD.search(text) and ELSEWHERE.search(text):
        yield "exfiltration", "danger" if is_ordered(sentence, sent) else "warning", "It sends secrets away."
        return
    found, given = _OTHERS_WORD.search(text), active(_GIVES, text)
    if found is None or given is None or sentence.mentions(given):
        return
    if AWAY.search(text) or (INTO.search(text) and is_ordered(sentence, found.start())):
        yield "exfiltration", "danger", "It passes on secrets of other people."


def _copies(sentence: Sentence) -> Iterator[Reason]:
    """Yield copies sent to the tool's own address, and exfiltration that the tool admits."""
    text = sentence.text
    if (found := _DIVERTS.search(text)) and is_ordered(sentence, found.start()) and not is_denied(text, found.start()):
        yield "exfiltration", "danger", "It sends a copy to its own address."
    taken = not sentence.watches and used(sentence, _EXFILTRATES)
    if taken and (_PLACE.search(text) or _WORD.search(text) or AWAY.search(text)):
        yield "exfiltration", "danger", "It says that it exfiltrates data."
    if used(sentence, _BESIDES):
        yield "exfiltration", "warning", "It sends something elsewhere besides doing its task."


def _leaves(sentence: Sentence) -> bool:
    """Return whether something goes to an address, or into a parameter by an order."""
    if AWAY.search(sentence.text):
        return is_ordered(sentence, 0) or ELSEWHERE.search(sentence.text) is not None
    return INTO.search(sentence.text) is not None and is_ordered(sentence, 0)
