"""Training lines out of a skill's description: what it does, when to use it, and when not.

Invariant: pure; each line stands in the description, word for word, white space apart.
"""

from __future__ import annotations

import re
from typing import Final

_SENTENCE: Final = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n{2,}|\n\s*[-*•]\s+|\s+[-–—]\s+(?=[A-Z])")  # noqa: RUF001 - dashes and full stops of other scripts part sentences too
_QUOTED: Final = re.compile(r"[\"“]([^\"“”\n]{3,200})[\"”]|(?<!\w)['‘]([^'‘’\n]{3,200})['’](?!\w)")  # noqa: RUF001 - curly quotation marks
_NOT: Final = re.compile(
    r"\b(?:(?:do\s+not|don['’]t|never)\s+(?:use|invoke|trigger|apply|activate)|not\s+(?:meant\s+|intended\s+)?for|avoid\s+using)\b",  # noqa: RUF001 - a curly apostrophe
    re.I,
)
_USE: Final = re.compile(
    r"""^(?:\W{0,10}(?:(?:this\s+skill\s+)?(?:should\s+be\s+|must\s+be\s+|is\s+to\s+be\s+)?(?:proactively\s+)?
    (?:use[ds]?|using|triggers?(?:ed)?|invoked?|apply|applies|activates?d?|useful|helpful)
    (?:\s+(?:this(?:\s+(?:skill|rule|guide|agent))?|it|proactively|whenever\s+possible))?)?
    \W{0,10}\b(?:when(?:ever)?|if|for|on|to|phrases?|include)\b(?:\s*:)?
    (?:\s+(?:the\s+|an?\s+)?(?:users?|you|someone|they|people)\s+
      (?:\w+\s+)?(?:asks?|wants?|needs?|mentions?|says?|requests?|are|is)(?:\s+(?:to|for|you\s+to|about|something\s+like))*)?
    )(?:\s*:)?\s+""",
    re.I | re.X,
)
_ALTERNATIVE: Final = re.compile(
    r"\s*(?:;|\(\d\)|,?\s+or\s+(?=when|if|to\b|asks?\b|wants?\b|mentions?\b|needs?\b)|,\s+(?=(?:when|if)\b))\s*", re.I
)
_AGAIN: Final = re.compile(
    r"""^(?:or\s+)?(?:(?:when(?:ever)?|if)\s+)?(?:(?:the\s+|an?\s+)?(?:users?|you|someone|they)\s+)?
    (?:(?:asks?|wants?|needs?|mentions?|says?|requests?)\s+)?(?:(?:to|for|about)\s+)?""",
    re.I | re.X,
)
_KEYWORDS: Final = re.compile(
    r"^\W{0,10}(?:[\w-]+\s+){0,2}(?:keywords?|triggers?|topics?|tags?|terms?)\s*(?:include)?:\s*", re.I
)
_ENDS: Final = " .,:;-–—"  # noqa: RUF001 - dashes
_SHORTEST: Final = 3
_LONGEST: Final = 400
_MOST: Final = 60
_LIST: Final = 4
_ITEM_WORDS: Final = 6


def lines_of(description: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What a description says that people ask for, and what it says that it is not for.

    Returns:
        Training lines and near-miss negatives, each distinct, in the order of the description.
    """
    positive: dict[str, None] = {}
    negative: dict[str, None] = {}
    for sentence in _SENTENCE.split(description[:8_192]):
        meant, _, refused = _parted(sentence)
        for text, lines in ((meant, positive), (refused, negative)):
            lines.update(dict.fromkeys(_lines(text)))
    return tuple(positive)[:_MOST], tuple(line for line in negative if line not in positive)[:_MOST]


def _parted(sentence: str) -> tuple[str, str, str]:
    """What a sentence is for, the words of denial, and what it is not for."""
    denial = _NOT.search(sentence)
    return (sentence[: denial.start()], denial[0], sentence[denial.end() :]) if denial else (sentence, "", "")


def _lines(text: str) -> list[str]:
    text = " ".join(text.split()).strip(_ENDS)
    if len(text) < _SHORTEST:
        return []
    quoted = [next(part for part in match.groups() if part) for match in _QUOTED.finditer(text)]
    if (words := _KEYWORDS.match(text)) and not quoted:
        return [word for part in text[words.end() :].split(",") if len(word := part.strip(_ENDS)) >= _SHORTEST]
    use = _USE.match(text)
    if use is None:
        return [text[:_LONGEST], *quoted]
    if len(quoted) > 1:
        return quoted
    parts = [_AGAIN.sub("", part).strip(_ENDS) for part in _ALTERNATIVE.split(text[use.end() :])]
    return [line for part in parts if len(part) >= _SHORTEST for line in (part[:_LONGEST], *_items(part))] + quoted


def _items(part: str) -> list[str]:
    """The things of a list of at least four, where each is two to six words: one word alone says too little."""
    items = [re.sub(r"^(?:and|or)\s+", "", item.strip()) for item in part.split(",")]
    if len(items) < _LIST or any(len(item.split()) > _ITEM_WORDS for item in items):
        return []
    return [item for item in items if len(item.split()) > 1]
