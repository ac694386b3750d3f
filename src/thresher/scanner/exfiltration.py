"""Exfiltration: secrets, or what people say, are read and go into a parameter or to an address.

Invariant: two signs are needed, the thing and its way out; a tool that honestly reads a file of keys, or sends what it
is given, shows one of them alone.
"""

from __future__ import annotations

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
from thresher.scanner.sentences import Sentence
from thresher.scanner.signs import AWAY, ELSEWHERE, INTO, Said, active, is_denied, is_ordered, used

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
"""A sentence without any of these beginnings is of no interest here; most have none."""
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


def exfiltration(sentence: Sentence) -> Iterator[Said]:
    """What a sentence has taken away."""
    if not _TOUCHES.search(sentence.text) or (sentence.watches and not AWAY.search(sentence.text)):
        return
    for rule in (_files, _talk, _secrets, _copies):
        yield from rule(sentence)


def _files(sentence: Sentence) -> Iterator[Said]:
    """Files of secrets, named in this sentence or the one before."""
    text = sentence.text
    place = _PLACE.search(text)
    moved = place and active(_MOVES, text) is not None and not sentence.mentions(place.start())
    if moved and (AWAY.search(text) or INTO.search(text) or _COMMANDED.search(text)):
        yield "exfiltration", "danger", "It has a file of secrets read."
        return
    sent = active(_SENDS, text)
    if sent is not None and _PLACE.search(sentence.pair) and AWAY.search(text) and not sentence.mentions(sent):
        yield "exfiltration", "danger", "It has a file of secrets sent away."


def _talk(sentence: Sentence) -> Iterator[Said]:
    """What the model was told, and what people say to it."""
    text = sentence.text
    told = _HIDDEN_TALK.search(text)
    asked = told and active(_TELLS, text[: told.start()]) is not None and not sentence.mentions(told.start())
    if told and asked and (_DEEP.search(text) or is_ordered(sentence, told.start())):
        yield "exfiltration", "danger", "It asks for what only the model has been told."
    sent = active(_MOVES, text) if _TALK.search(text) else None
    if sent is not None and not sentence.mentions(sent) and _leaves(sentence):
        yield "exfiltration", "danger", "It has what people say or hold passed on."


def _secrets(sentence: Sentence) -> Iterator[Said]:
    """Secrets by name, sent to strangers; or other people's, given to anybody."""
    text = sentence.text
    sent = active(_SENDS, text)
    if sent is not None and _WORD.search(text) and ELSEWHERE.search(text):
        yield "exfiltration", "danger" if is_ordered(sentence, sent) else "warning", "It has secrets sent away."
        return
    found, given = _OTHERS_WORD.search(text), active(_GIVES, text)
    if found is None or given is None or sentence.mentions(given):
        return
    if AWAY.search(text) or (INTO.search(text) and is_ordered(sentence, found.start())):
        yield "exfiltration", "danger", "It has people's secrets passed on."


def _copies(sentence: Sentence) -> Iterator[Said]:
    """Copies that go to an address of the tool's own, and what it says of itself."""
    text = sentence.text
    if (found := _DIVERTS.search(text)) and is_ordered(sentence, found.start()) and not is_denied(text, found.start()):
        yield "exfiltration", "danger", "It has a copy go to an address of its own."
    taken = not sentence.watches and used(sentence, _EXFILTRATES)
    if taken and (_PLACE.search(text) or _WORD.search(text) or AWAY.search(text)):
        yield "exfiltration", "danger", "It says that data are taken away."
    if used(sentence, _BESIDES):
        yield "exfiltration", "warning", "Beside its task it sends something elsewhere."


def _leaves(sentence: Sentence) -> bool:
    """Whether something goes to an address, or into a parameter on somebody's order."""
    if AWAY.search(sentence.text):
        return is_ordered(sentence, 0) or ELSEWHERE.search(sentence.text) is not None
    return INTO.search(sentence.text) is not None and is_ordered(sentence, 0)
