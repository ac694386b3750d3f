"""Sentences, and the signs that rules look for in them: used or merely mentioned words, denials, orders.

Invariant: a full stop ends the scope of a label or quotation, so that "Example. Ignore ..." is an order and
"Example: ignore ..." is a quoted one. A sign depends on the words of one sentence only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

from thresher.core import LazyPattern
from thresher.scanner.lexicon import ADDRESS, DIRECTED, OUTSIDE, PARAMETER, words
from thresher.scanner.records import Kind, Severity

_END: Final = re.compile("[.!?][\"')\\]]*\\s+|\n\\s*|;\\s+(?=[A-Z<\\[{#])|[\u3002\uff01\uff1f]")
"""A full stop with a space, the end of a line, or the full stops of Chinese and Japanese."""

_LONGEST: Final = 1_500
"""Longest sentence in characters; a longer one is cut, which bounds the work."""
_ABOUT: Final = re.compile(
    r"""\b(?:detect|flag|block|filter|scan|analy[sz]|classif|recogni[sz]|identif|explain|describ|document|illustrat
    |simulat|mock|sanitiz|moderat|guard|prevent|reject|refus|audit|inspect|check|lint|evaluat|benchmark|red.?team|teach
    |catch|report|screen|search|find|match|quot|warn|label|score|strip|remov|redact|translat|test|assert|compar|log
    |monitor|validat|verif|review|look)\w*\b
    |\b(?:example|sample|such\ as|e\.g\.|like|phrase|string|pattern|attempt|attack|injection|jailbreak|fixture|payload
    |dataset|corpus|tutorial|documentation|guide|literal|text|prompt)s?\b""",
    re.I | re.X,
)
"""Words of tools that handle such sentences instead of uttering them."""

_WATCHES: Final = re.compile(
    r"""^\W*(?:(?:an?|the|this)\s+)?(?:[\w-]+\s+){0,4}?(?:that\s+|to\s+|which\s+)?
    (?:detect|flag|block|filter|scan|prevent|audit|monitor|redact|mask|check(?!out)|find|identif|warn(?!ing\b\s*[:!])|guard|reject|stop|protect
    |remov|strip|rotat|revok|encrypt)\w*\b""",
    re.I | re.X,
)
_LABEL: Final = re.compile(
    r"""(?:^|[.;(\[,]\s*|\s)(?:[\w-]+\s+){0,3}(?:text|output|response|reply|replies|string|example|sample|result
    |content|phrase|payload|fixture|data|title|quote|value|case|utterance|sentence|line|body|snippet|answer|label
    |caption|transcript|format)s?\s*:[^:]{0,60}$""",
    re.I | re.X,
)
_ORDERS: Final = re.compile(
    r"\b(?:system|assistant|instruction|important|admin|developer|note|you|your|must)\w*\b", re.I
)
_RELATIVE: Final = re.compile(
    r"""\b(?:(?:prompts?|texts?|inputs?|messages?|attempts?|instructions?|contents?|requests?|tools?|strings?|attacks?
    |users?|outputs?|payloads?|documents?|descriptions?|someone|anything|phrases?|patterns?|sentences?)
    \s+(?:that|which|who|to|trying|attempting|asking|telling|designed|meant|like|such|instructing|containing|with)
    |(?:whether|if|when|how|where|why)\s+(?:an?|the|any|some|each|every|it|they|this)?\s*[\w\s-]{0,40}?
    (?:asks?|tells?|tr(?:y|ies)|attempts?|instructs?|contains?|includes?|wants?|says?|works?)|how|why)\b[^.,;]{0,60}$""",
    re.I | re.X,
)
_NAMED_BEFORE: Final = re.compile(
    r"\b(?:phrases?|strings?|patterns?|words?|attempts?|attacks?|injections?|such as|like|e\.g\.,?|called"
    r"|named|known as|saying|reading)"
    r"\s+(?:to\s+)?[\"'`\u201c]?(?:\w+\s+){0,2}$",
    re.I,
)
_NAMED_AFTER: Final = re.compile(
    r"[\"'`\u201d]?[\s-]*(?:\w+\s+){0,2}(?:attacks?|attempts?|patterns?|phrases?|style|injections?|jailbreaks?|payloads?|examples?|strings?)\b",
    re.I,
)
_QUOTES: Final = re.compile(
    r"\"[^\"\n]{1,300}\"|(?<!\w)'[^'\n]{1,300}'(?!\w)|`[^`\n]{1,300}`|\u201c[^\u201d\n]{1,300}\u201d|\u00ab[^\u00bb\n]{1,300}\u00bb"
)


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence and the one before it: what one names, the next may send away."""

    text: str
    before: str = ""

    @property
    def pair(self) -> str:
        """Both sentences."""
        return f"{self.before} {self.text}" if self.before else self.text

    @property
    def watches(self) -> bool:
        """Whether it describes a tool that looks for such things, such as a guard or an audit."""
        return _WATCHES.match(self.text) is not None

    def mentions(self, place: int, end: int | None = None) -> bool:
        """Return whether the words at a place are mentioned, not used: quoted, labelled as data, or attributed."""
        head = self.text[:place]
        if (label := _LABEL.search(head)) is not None and not _ORDERS.search(label[0].partition(":")[0]):
            return True
        if end is not None and _NAMED_AFTER.match(self.text[end:]):
            return True
        if not _ABOUT.search(head):
            return False
        quoted = any(quote.start() < place < quote.end() for quote in _QUOTES.finditer(self.text))
        return quoted or _RELATIVE.search(head) is not None or _NAMED_BEFORE.search(head) is not None


def sentences(text: str) -> Iterator[Sentence]:
    """Yield the sentences of a text."""
    place, before = 0, ""
    for end in (*(match.end() for match in _END.finditer(text)), len(text)):
        for start in range(place, end, _LONGEST):
            part = text[start : min(start + _LONGEST, end)].strip()
            if part:
                yield Sentence(part, before)
                before = part
        place = end


Reason: TypeAlias = tuple[Kind, Severity, str]
"""Kind, severity and reason of what a rule found."""

"""What one sentence says."""

AWAY: Final = words(f"{ADDRESS}|{OUTSIDE}")
ELSEWHERE: Final = words(OUTSIDE)
INTO: Final = words(PARAMETER)
_NEGATED: Final = words(
    r"""\b(?:not|never|no|n't|cannot|avoid|without|nor|neither|refuses?\s+to|instead\s+of)\s+(?:ever\s+|be\s+|\w+ly\s+)?(?:to\s+)?$|n't\s+(?:ever\s+)?$"""
)
_ORDERED: Final = words(DIRECTED)


def active(pattern: LazyPattern, text: str) -> int | None:
    """Return the offset of the first verb that is not denied, or None."""
    return next((verb.start() for verb in pattern.finditer(text) if not is_denied(text, verb.start())), None)


def used(sentence: Sentence, pattern: LazyPattern) -> re.Match[str] | None:
    """Return the match of a pattern in a sentence, unless it is denied or merely mentioned."""
    found = pattern.search(sentence.text)
    if found is None or is_denied(sentence.text, found.start()) or sentence.mentions(found.start(), found.end()):
        return None
    return found


def is_denied(text: str, place: int) -> bool:
    """Return whether a word of denial precedes a place."""
    return _NEGATED.search(text[:place][-40:]) is not None


def is_ordered(sentence: Sentence, place: int) -> bool:
    """Return whether a sentence is an order to its reader and not a mentioned one."""
    return _ORDERED.search(sentence.text) is not None and not sentence.mentions(place)
