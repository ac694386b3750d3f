"""Cuts a message into the tasks that it asks for.

A message such as "Find trending repositories and write a summary to notes.md" needs two tools of different kinds. One
vector for the whole lies between both and is near to neither, so each task is searched on its own as well. Most
messages hold one task, and cutting those does harm, so the rules are shy: a cut needs a new request (an action verb, a
question or a request phrase) on both sides.

Invariant: plain text work without a model; the whole message is always searched too.
"""

from __future__ import annotations

import unicodedata
from typing import Final

from thresher.search import wording

MAX_CLAUSES: Final = 6
"""Tasks kept at most; each costs one more query vector."""
MIN_WORDS: Final = 3
"""A shorter piece says too little to be searched on its own."""
MIN_PIECE: Final = 2
"""Words that both sides of a cut inside one sentence need at least."""
_LONGEST_ABBREVIATION: Final = 10
_AHEAD: Final = 200
"""Characters behind a joint that tell whether a task begins there; without a bound a long list takes seconds."""


def prose(message: str) -> str:
    """The message without fenced code and pasted log lines, or the message itself where nothing else is left."""
    outside = wording.GAP.sub(" ", wording.FENCE.sub("\n", unicodedata.normalize("NFC", message)))
    lines = [line for line in outside.splitlines() if not wording.LOG_LINE.match(line)]
    kept = "\n".join(lines).strip().strip('"“”').strip()
    return kept if _words(kept) else message.strip()


def clauses(message: str, limit: int = MAX_CLAUSES) -> list[str]:
    """The message as search texts: the whole first, then one text per task where it holds several.

    Args:
        message: What the user wrote.
        limit: Tasks kept at most; of more, those at both ends, since what lies between is mostly pasted material.

    Returns:
        One text for a message with a single task, else the whole and two or more tasks. Empty for a blank message.
    """
    whole = prose(message)
    if not whole:
        return []
    tasks = _tasks(whole)
    if len(tasks) < 2:
        return [whole]
    if len(tasks) > limit:
        tasks = tasks[: limit - limit // 2] + tasks[len(tasks) - limit // 2 :]
    return [whole, *tasks]


def _tasks(text: str) -> list[str]:
    """One text per task; a sentence without a request of its own joins its neighbour."""
    tasks: list[str] = []
    waiting = ""
    for sentence in _sentences(text):
        if not is_request(sentence) or (tasks and not waiting and _trails(sentence)):
            if tasks and not waiting:
                tasks[-1] = f"{tasks[-1]} {sentence}"
            else:
                waiting = f"{waiting} {sentence}".strip()
            continue
        if waiting and wording.ADDITIVE.search(sentence) and is_request(waiting):
            tasks.append(waiting)
            waiting = ""
        pieces = _pieces(sentence)
        if len(pieces) == 1 and not waiting and not tasks and _is_wish(sentence):
            waiting = sentence
            continue
        tasks.append(f"{waiting} {pieces[0]}".strip())
        tasks.extend(pieces[1:])
        waiting = ""
    if waiting:
        tasks.append(waiting)
    return [task for task in tasks if _size(task) >= MIN_WORDS]


def _sentences(text: str) -> list[str]:
    """Sentences and list items; abbreviations do not end one."""
    out: list[str] = []
    for part in wording.SENTENCE_END.split(text):
        piece = (part or "").strip()
        if not piece:
            continue
        if out and _goes_on(out[-1]):
            out[-1] = f"{out[-1]} {piece}"
        else:
            out.append(piece)
    return out


def _goes_on(piece: str) -> bool:
    """Whether a full stop at the end of a piece ends no sentence: an abbreviation, or the number of a list item."""
    return bool(wording.ABBREVIATION.search(piece[-_LONGEST_ABBREVIATION:]) or wording.LIST_NUMBER.match(piece))


def is_request(sentence: str) -> bool:
    """Whether a sentence asks for something of its own; a quoted line is material, not a request."""
    if wording.QUOTED.match(sentence):
        return False
    bare = wording.LEAD.sub("", sentence)
    if wording.REQUEST.match(bare) or wording.QUESTION.match(bare):
        return True
    words = _words(bare)
    return bool(words) and words[0] in wording.ACTIONS


def _is_wish(sentence: str) -> bool:
    """Whether a sentence tells a wish ("I want to see a film"), which the next request then makes precise."""
    return wording.WISH.match(wording.LEAD.sub("", sentence)) is not None


def _trails(sentence: str) -> bool:
    """Whether a request only narrows the one before ("Return it as JSON", "I want at most ten results")."""
    if wording.ADDITIVE.search(sentence):
        return False
    if _is_wish(sentence):
        return True
    return _narrows(wording.SUBJECT.sub("", wording.LEAD.sub("", sentence)))


def _narrows(request: str) -> bool:
    """Whether a bare request sets a condition or a form of answer rather than a task."""
    words = _words(request)
    if len(words) < MIN_WORDS or words[0] in wording.CONSTRAINTS:
        return True
    return words[0] in wording.SOFT and wording.DEFINITE.match(request) is not None


def _pieces(sentence: str) -> list[str]:
    """Cut one sentence at joints that an action verb follows ("convert X and email Y")."""
    pieces: list[str] = []
    start = 0
    for joint in wording.JOINT.finditer(sentence):
        left, right = sentence[start : joint.start()], sentence[joint.end() : joint.end() + _AHEAD]
        if len(_words(left[:_AHEAD])) >= MIN_PIECE and _starts_task(right):
            pieces.append(left.strip(" ,;"))
            start = joint.end()
    pieces.append(sentence[start:].strip(" ,;"))
    return pieces


def _starts_task(text: str) -> bool:
    """Whether the text after a joint begins a task: an action verb with an object."""
    bare = wording.SUBJECT.sub("", text)
    words = _words(bare)
    if len(words) < MIN_PIECE or words[0] not in wording.ACTIONS:
        return False
    return not (words[0] in wording.SOFT and wording.DEFINITE.match(bare))


def _words(text: str) -> list[str]:
    """Lower-case words."""
    return [word.casefold() for word in wording.WORD.findall(text)]


def _size(text: str) -> int:
    """Length in words, a character of an unspaced script counting as half a word."""
    wide = len(wording.UNSPACED.findall(text))
    return len(_words(text)) + wide // 2
