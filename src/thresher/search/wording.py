"""The words and patterns by which a message is cut into tasks: English, plain data.

Invariant: data only; nothing here decides anything.
"""

from __future__ import annotations

import re
from typing import Final

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
"""A run of blanks inside a line; the patterns below would try each of its places."""
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
"""What may stand before a request: list marks, politeness, connectives."""
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
"""A request about what was already named."""
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
