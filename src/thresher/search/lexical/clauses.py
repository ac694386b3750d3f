"""Splitting a message into the tasks that it asks for.

A message such as "Find trending repositories and write a summary to notes.md" needs two tools of different kinds. One
vector for the whole lies between both and is near to neither, so each task is searched separately as well. Most
messages contain one task, and splitting those does harm, so the rules are cautious: a split needs a new request (an
action verb, a question or a request phrase) on both sides.

Invariant: English words and patterns without a model; the whole message is always searched too.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

MAX_CLAUSES: Final = 6
"""The maximum number of tasks; each costs one more query vector."""
MIN_WORDS: Final = 3
"""A shorter piece says too little to be searched separately."""
MIN_PIECE: Final = 2
"""The minimum number of words on both sides of a split inside one sentence."""
_LONGEST_ABBREVIATION: Final = 10
_AHEAD: Final = 200
"""Characters behind a joint that decide whether a task begins there; without a limit a long list takes seconds."""

ACTIONS: Final = frozenset(
    """add analyse analyze annotate append archive assign back book browse build buy calculate call cancel check
    clone close combine compare compile compose compute connect convert copy count create debug delete deploy
    detect determine diagnose display download draft draw edit email encrypt estimate evaluate execute explain
    explore export extract fetch find fix forecast gather generate get identify import inspect insert install
    investigate invite learn list listen load locate log lookup make map measure merge message monitor move notify
    open order organise organize parse pay plan play plot post predict prepare print produce provide publish pull
    purchase push query read recommend record remind remove rename render replace reply report research reserve
    resize restart retrieve review rewrite rotate run save scan schedule scrape search see send share show sketch
    sort split start stop store subscribe suggest summarise summarize tell test track train transcribe transfer
    translate turn update upload validate verify view visualise visualize watch write""".split()  # noqa: SIM905 - a text is easier to read
)
"""Verbs that open a task."""
CONSTRAINTS: Final = frozenset(
    """answer assume avoid consider do don ensure exclude focus format give ignore include keep let limit mark
    make note notice refer remember return set specify use""".split()  # noqa: SIM905 - a text is easier to read
)
"""Verbs that set a condition or a form of answer."""
SOFT: Final = frozenset(
    "check display explain get give make produce provide return see show sort start tell verify view".split()  # noqa: SIM905 - a text is easier to read
)
"""Verbs that open a task only with an object of their own ("show a map", not "show the result")."""

GAP: Final = re.compile(r"[^\S\n]{2,}")
"""A run of blanks inside a line; the patterns below would try each of its positions."""
SENTENCE_END: Final = re.compile(
    r"(?<=[.!?;])[\"')\]]*\s+(?=[\"'(\[]?[^\W\d_])|(?<=[\u3002\uff01\uff1f\uff1b])|\s*\n+\s*"
)
ABBREVIATION: Final = re.compile(
    r"\b(?:e\.g|i\.e|etc|vs|mr|mrs|ms|dr|st|no|approx|inc|ltd|co|jr|sr|prof|[a-z])\.$", re.I
)
LIST_NUMBER: Final = re.compile(r"\d{1,3}\.$")
LEAD: Final = re.compile(
    r"^(?:[\s\-*\u2022\u2013\u2014\"'(]|\d+[.)]\s|please\b|kindly\b|also\b|then\b|next\b|finally\b|lastly\b|first(?:ly)?\b"
    r"|second(?:ly)?\b|third(?:ly)?\b|additionally\b|furthermore\b|moreover\b|besides\b|afterwards?\b|after that\b"
    r"|in addition\b|and\b|so\b|now\b|,|:)+",
    re.I,
)
"""What may precede a request: list marks, politeness, connectives."""
REQUEST: Final = re.compile(
    r"^(?:(?:can|could|would|will) you|can (?:i|we)|could (?:i|we)|may i|help me|i (?:also )?(?:need|want|wish)"
    r"|i(?:'d| would) (?:also )?(?:like|love)|i(?:'m| am) (?:also )?(?:looking|trying|searching|interested)"
    r"|we (?:also )?(?:need|want)|let me|let's|tell me|show me|give me)\b",
    re.I,
)
QUESTION: Final = re.compile(
    r"^(?:what|which|who|whom|whose|where|when|why|how|is|are|was|were|do|does|did|has|have|any|should)\b"
    r"|^what's\b|^who's\b",
    re.I,
)
JOINT: Final = re.compile(
    r"\s*(?:,|;)?\s+(?:and then|then|and also|and finally|as well as|along with|and|while also|but also|before"
    r"|after which)\s+|\s*[,;]\s+(?:also\s+|then\s+)?(?=[a-z]+\s)",
    re.I,
)
"""What may join two tasks in one sentence."""
SUBJECT: Final = re.compile(
    r"^(?:also\s+)?(?:(?:can|could|would|will) you\s+|to\s+|i(?:'d| would) (?:also )?like (?:you )?(?:to )?"
    r"|i (?:also )?(?:want|need) (?:you )?(?:to )?|please\s+|help me\s+)+",
    re.I,
)
DEFINITE: Final = re.compile(
    r"^\w+\s+(?:me\s+|us\s+)?(?:the|that|this|it|its|them|their|these|those|how|what|if|whether|your)\b"
    r"|^(?:see|get|start|sort)\b|^make sure\b",
    re.I,
)
"""A request about something already named."""
ADDITIVE: Final = re.compile(
    r"^\W*(?:please\s+)?(?:also|then|next|finally|lastly|additionally|furthermore|moreover|besides|afterwards?"
    r"|after that|in addition|second(?:ly)?|and\b|\d+[.)]\s)|\b(?:can|could|would|will|i) (?:you |we )?also\b",
    re.I,
)
WISH: Final = re.compile(r"^(?:i|we)\b", re.I)
QUOTED: Final = re.compile(r"^[\s\-*\u2022,\[(]*[\"'\u201c\u2018\u00ab\[]")
FENCE: Final = re.compile(r"(```|~~~).*?(?:\1|\Z)", re.S)
LOG_LINE: Final = re.compile(
    r"^\s*(?:\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\[?(?:TRACE|DEBUG|INFO|WARN(?:ING)?|ERROR|FATAL)\b|at [\w$.<>]+\("
    r"|File \".*\", line \d+|Traceback \(|(?:[+>|]|\$ )\s?|[\w.]+(?:Error|Exception):)"
)
WORD: Final = re.compile(r"[^\W_]+(?:'[^\W_]+)?")
UNSPACED: Final = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\u0e00-\u0e7f]")
"""Scripts written without spaces between words."""


def prose(message: str) -> str:
    """Return the message without fenced code and pasted log lines, or the message itself if nothing else is left."""
    outside = GAP.sub(" ", FENCE.sub("\n", unicodedata.normalize("NFC", message)))
    lines = [line for line in outside.splitlines() if not LOG_LINE.match(line)]
    kept = "\n".join(lines).strip().strip('"“”').strip()
    return kept if _words(kept) else message.strip()


def clauses(message: str, limit: int = MAX_CLAUSES) -> list[str]:
    """Return the message as search texts: the whole first, then one text per task if it contains several.

    Args:
        message: The user's message.
        limit: The maximum number of tasks; of more, those at both ends are kept, since the middle is mostly pasted
            material.

    Returns:
        One text for a message with a single task, otherwise the whole and two or more tasks. Empty for a blank message.
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
        if waiting and ADDITIVE.search(sentence) and is_request(waiting):
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
    # In words; a character of an unspaced script counts as half a word.
    return [task for task in tasks if len(_words(task)) + len(UNSPACED.findall(task)) // 2 >= MIN_WORDS]


def _sentences(text: str) -> list[str]:
    """Sentences and list items; abbreviations do not end one."""
    out: list[str] = []
    for part in SENTENCE_END.split(text):
        piece = (part or "").strip()
        if not piece:
            continue
        if out and _goes_on(out[-1]):
            out[-1] = f"{out[-1]} {piece}"
        else:
            out.append(piece)
    return out


def _goes_on(piece: str) -> bool:
    """Return whether a final full stop ends no sentence: an abbreviation, or the number of a list item."""
    return bool(ABBREVIATION.search(piece[-_LONGEST_ABBREVIATION:]) or LIST_NUMBER.match(piece))


def is_request(sentence: str) -> bool:
    """Return whether a sentence asks for something of its own; a quoted line is material, not a request."""
    if QUOTED.match(sentence):
        return False
    bare = LEAD.sub("", sentence)
    if REQUEST.match(bare) or QUESTION.match(bare):
        return True
    words = _words(bare)
    return bool(words) and words[0] in ACTIONS


def _is_wish(sentence: str) -> bool:
    """Return whether a sentence states a wish ("I want to see a film"), which the next request then specifies."""
    return WISH.match(LEAD.sub("", sentence)) is not None


def _trails(sentence: str) -> bool:
    """Return whether a request only narrows the one before ("Return it as JSON", "I want at most ten results")."""
    if ADDITIVE.search(sentence):
        return False
    if _is_wish(sentence):
        return True
    return _narrows(SUBJECT.sub("", LEAD.sub("", sentence)))


def _narrows(request: str) -> bool:
    """Return whether a bare request sets a condition or a form of answer rather than a task."""
    words = _words(request)
    if len(words) < MIN_WORDS or words[0] in CONSTRAINTS:
        return True
    return words[0] in SOFT and DEFINITE.match(request) is not None


def _pieces(sentence: str) -> list[str]:
    """Split one sentence at joints that an action verb follows ("convert X and email Y")."""
    pieces: list[str] = []
    start = 0
    for joint in JOINT.finditer(sentence):
        left, right = sentence[start : joint.start()], sentence[joint.end() : joint.end() + _AHEAD]
        if len(_words(left[:_AHEAD])) >= MIN_PIECE and _starts_task(right):
            pieces.append(left.strip(" ,;"))
            start = joint.end()
    pieces.append(sentence[start:].strip(" ,;"))
    return pieces


def _starts_task(text: str) -> bool:
    """Return whether the text after a joint begins a task: an action verb with an object."""
    bare = SUBJECT.sub("", text)
    words = _words(bare)
    if len(words) < MIN_PIECE or words[0] not in ACTIONS:
        return False
    return not (words[0] in SOFT and DEFINITE.match(bare))


def _words(text: str) -> list[str]:
    """Lower-case words."""
    return [word.casefold() for word in WORD.findall(text)]
