"""Cut a message into the tasks it asks for.

A message such as "Find trending repositories and write a summary to notes.md" needs two tools of
different kinds. One vector for the whole message lies between both and is near to neither, so each
task is searched on its own as well. Most messages hold one task, and cutting those does harm, so the
rules are shy: a cut needs a new request (an action verb, a question or a request phrase) on both
sides. Everything here is plain text work, without a model.
"""

import re
import unicodedata
from collections.abc import Sequence
from typing import Final

MAX_CLAUSES: Final = 6
"""Tasks kept at most; each costs one more query vector."""

MIN_WORDS: Final = 3
"""A shorter piece says too little to be searched on its own."""

MIN_PIECE: Final = 2
"""Words that both sides of a cut inside one sentence need at least."""

_ACTIONS: Final = frozenset(
    """add analyse analyze annotate append archive assign back book browse build buy calculate call cancel check
    clone close combine compare compile compose compute connect convert copy count create debug delete deploy
    detect determine diagnose display download draft draw edit email encrypt estimate evaluate execute explain
    explore export extract fetch find fix forecast gather generate get identify import inspect insert install
    investigate invite learn list listen load locate log lookup make map measure merge message monitor move notify
    open order organise organize parse pay plan play plot post predict prepare print produce provide publish pull
    purchase push query read recommend record remind remove rename render replace reply report research reserve
    resize restart retrieve review rewrite rotate run save scan schedule scrape search see send share show sketch
    sort split start stop store subscribe suggest summarise summarize tell test track train transcribe transfer
    translate turn update upload validate verify view visualise visualize watch write""".split()
)
_CONSTRAINTS: Final = frozenset(
    """answer assume avoid consider do don ensure exclude focus format give ignore include keep let limit mark
    make note notice refer remember return set specify use""".split()
)
_SOFT: Final = frozenset(
    "check display explain get give make produce provide return see show sort start tell verify view".split()
)
_SENTENCE_END: Final = re.compile(r"(?<=[.!?;])[\"')\]]*\s+(?=[\"'(\[]?[^\W\d_])|(?<=[。！？；])|\s*\n+\s*")
_ABBREVIATION: Final = re.compile(
    r"\b(?:e\.g|i\.e|etc|vs|mr|mrs|ms|dr|st|no|approx|inc|ltd|co|jr|sr|prof|[a-z])\.$", re.I
)
_LEAD: Final = re.compile(
    r"^(?:[\s\-*•–—\"'(]|\d+[.)]\s|please\b|kindly\b|also\b|then\b|next\b|finally\b|lastly\b|first(?:ly)?\b|second(?:ly)?\b|third(?:ly)?\b"
    r"|additionally\b|furthermore\b|moreover\b|besides\b|afterwards?\b|after that\b|in addition\b|and\b|so\b|now\b|,|:)+",
    re.I,
)
_REQUEST: Final = re.compile(
    r"^(?:(?:can|could|would|will) you|can (?:i|we)|could (?:i|we)|may i|help me|i (?:also )?(?:need|want|wish)|i(?:'d| would) (?:also )?(?:like|love)"
    r"|i(?:'m| am) (?:also )?(?:looking|trying|searching|interested)|we (?:also )?(?:need|want)|let me|let's|tell me|show me|give me)\b",
    re.I,
)
_QUESTION: Final = re.compile(
    r"^(?:what|which|who|whom|whose|where|when|why|how|is|are|was|were|do|does|did|has|have|any|should)\b|^what's\b|^who's\b",
    re.I,
)
_JOINT: Final = re.compile(
    r"\s*(?:,|;)?\s+(?:and then|then|and also|and finally|as well as|along with|and|while also|but also|before|after which)\s+"
    r"|\s*[,;]\s+(?:also\s+|then\s+)?(?=[a-z]+\s)",
    re.I,
)
_SUBJECT: Final = re.compile(
    r"^(?:also\s+)?(?:(?:can|could|would|will) you\s+|to\s+|i(?:'d| would) (?:also )?like (?:you )?(?:to )?|i (?:also )?(?:want|need) (?:you )?(?:to )?|please\s+|help me\s+)+",
    re.I,
)
_DEFINITE: Final = re.compile(
    r"^\w+\s+(?:me\s+|us\s+)?(?:the|that|this|it|its|them|their|these|those|how|what|if|whether|your)\b|^(?:see|get|start|sort)\b|^make sure\b",
    re.I,
)
_ADDITIVE: Final = re.compile(
    r"^\W*(?:please\s+)?(?:also|then|next|finally|lastly|additionally|furthermore|moreover|besides|afterwards?|after that|in addition|second(?:ly)?"
    r"|and\b|\d+[.)]\s)|\b(?:can|could|would|will|i) (?:you |we )?also\b",
    re.I,
)
_WISH: Final = re.compile(r"^(?:i|we)\b", re.I)
_QUOTED: Final = re.compile(r"^[\s\-*•,\[(]*[\"'“‘«\[]")
_FENCE: Final = re.compile(r"(```|~~~).*?(?:\1|\Z)", re.S)
_LOG_LINE: Final = re.compile(
    r"^\s*(?:\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\[?(?:TRACE|DEBUG|INFO|WARN(?:ING)?|ERROR|FATAL)\b|at [\w$.<>]+\(|File \".*\", line \d+|Traceback \(|"
    r"(?:[+>|]|\$ )\s?|[\w.]+(?:Error|Exception):)"
)
_WORD: Final = re.compile(r"[^\W_]+(?:'[^\W_]+)?")
_WIDE: Final = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\u0e00-\u0e7f]")


def prose(message: str) -> str:
    """The message without fenced code and pasted log lines, or the message itself where nothing else is left."""
    outside = _FENCE.sub("\n", unicodedata.normalize("NFC", message))
    lines = [line for line in outside.splitlines() if not _LOG_LINE.match(line)]
    kept = "\n".join(lines).strip().strip('"“”').strip()
    return kept if _words(kept) else message.strip()


def clauses(message: str, limit: int = MAX_CLAUSES) -> list[str]:
    """The message as search texts: the whole first, then one text per task where it holds several.

    Args:
        message: What the user wrote.
        limit: Tasks kept at most, the first ones winning.

    Returns:
        One text for a message with a single task, else the whole and two or more tasks. Empty for a blank message.
    """
    whole = prose(message)
    if not whole:
        return []
    tasks = _tasks(whole)
    if len(tasks) < 2:
        return [whole]
    return [whole, *tasks[:limit]]


def _tasks(text: str) -> list[str]:
    """One text per task; a sentence without a request of its own joins its neighbour."""
    tasks: list[str] = []
    waiting = ""
    for sentence in _sentences(text):
        if not _opens(sentence) or (tasks and not waiting and _trails(sentence)):
            if tasks and not waiting:
                tasks[-1] = f"{tasks[-1]} {sentence}"
            else:
                waiting = f"{waiting} {sentence}".strip()
            continue
        if waiting and _ADDITIVE.search(sentence) and _opens(waiting):
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
    for part in _SENTENCE_END.split(text):
        piece = (part or "").strip()
        if not piece:
            continue
        if out and _ABBREVIATION.search(out[-1]):
            out[-1] = f"{out[-1]} {piece}"
        else:
            out.append(piece)
    return out


def _opens(sentence: str) -> bool:
    """Whether a sentence asks for something of its own; a quoted line is material, not a request."""
    if _QUOTED.match(sentence):
        return False
    bare = _LEAD.sub("", sentence)
    if _REQUEST.match(bare) or _QUESTION.match(bare):
        return True
    words = _words(bare)
    return bool(words) and words[0] in _ACTIONS


def _is_wish(sentence: str) -> bool:
    """Whether a sentence tells a wish ("I want to see a film"), which the next request then makes precise."""
    return _WISH.match(_LEAD.sub("", sentence)) is not None


def _trails(sentence: str) -> bool:
    """Whether a request only narrows the one before ("Return it as JSON", "I want at most ten results")."""
    if _ADDITIVE.search(sentence):
        return False
    if _is_wish(sentence):
        return True
    return _narrows(_SUBJECT.sub("", _LEAD.sub("", sentence)))


def _narrows(request: str) -> bool:
    """Whether a bare request sets a condition or a form of answer rather than a task."""
    words = _words(request)
    if len(words) < MIN_WORDS or words[0] in _CONSTRAINTS:
        return True
    return words[0] in _SOFT and _DEFINITE.match(request) is not None


def _pieces(sentence: str) -> list[str]:
    """Cut one sentence at joints that an action verb follows ("convert X and email Y")."""
    pieces: list[str] = []
    start = 0
    for joint in _JOINT.finditer(sentence):
        left, right = sentence[start : joint.start()], sentence[joint.end() :]
        if len(_words(left)) >= MIN_PIECE and _starts_task(right):
            pieces.append(left.strip(" ,;"))
            start = joint.end()
    pieces.append(sentence[start:].strip(" ,;"))
    return pieces


def _starts_task(text: str) -> bool:
    """Whether the text after a joint begins a task: an action verb with an object."""
    bare = _SUBJECT.sub("", text)
    words = _words(bare)
    if len(words) < MIN_PIECE or words[0] not in _ACTIONS:
        return False
    return not (words[0] in _SOFT and _DEFINITE.match(bare))


def _words(text: str) -> list[str]:
    """Lower-case words."""
    return [word.casefold() for word in _WORD.findall(text)]


def _size(text: str) -> int:
    """Length in words, a character of an unspaced script counting as half a word."""
    wide = len(_WIDE.findall(text))
    return len(_words(text)) + wide // 2
