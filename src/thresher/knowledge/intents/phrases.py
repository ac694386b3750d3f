"""Training lines out of a skill's description: what it does, when to use it, and when not.

Invariant: pure; each line stands in the description, word for word, white space apart.
"""

from __future__ import annotations

import re
from typing import Final

_SENTENCE: Final = re.compile(r"(?<=[.!?。！？])\s+|\n{2,}|\n\s*[-*•]\s+|\s+[-–—]\s+(?=[A-Z])")  # noqa: RUF001 - dashes and full stops of other scripts part sentences too
_QUOTED: Final = re.compile(r"[\"“]([^\"“”\n]{3,200})[\"”]|(?<!\w)['‘]([^'‘’\n]{3,200})['’](?!\w)|`([^`\n]{3,200})`")  # noqa: RUF001 - curly quotation marks
_NOT: Final = re.compile(
    r"\b(?:(?:do\s+not|don['’]t|never)\s+(?:use|invoke|trigger|apply|activate)|not\s+(?:meant\s+|intended\s+)?for|avoid\s+using)\b",  # noqa: RUF001 - a curly apostrophe
    re.I,
)
_USE: Final = re.compile(
    r"""^(?:\W*(?:(?:this\s+skill\s+)?(?:should\s+be\s+|must\s+be\s+|is\s+to\s+be\s+)?(?:proactively\s+)?
    (?:use[ds]?|using|triggers?(?:ed)?|invoked?|apply|applies|activates?d?|useful|helpful)
    (?:\s+(?:this(?:\s+(?:skill|rule|guide|agent))?|it|proactively|whenever\s+possible))?)?
    \W*\b(?:when(?:ever)?|if|for|on|to|phrases?|include)\b(?:\s*:)?
    (?:\s+(?:the\s+|an?\s+)?(?:users?|you|someone|they|people)\s+
      (?:\w+\s+)?(?:asks?|wants?|needs?|mentions?|says?|requests?|are|is)(?:\s+(?:to|for|you\s+to|about|something\s+like))*)?
    )\s+""",
    re.I | re.X,
)
_ALTERNATIVE: Final = re.compile(r"\s*(?:;|,?\s+or\s+(?=when|if|to\b|asks?\b|wants?\b|mentions?\b))\s*", re.I)
_AGAIN: Final = re.compile(
    r"""^(?:or\s+)?(?:when(?:ever)?|if)\s+(?:(?:the\s+|an?\s+)?(?:users?|you|someone|they)\s+)?
    (?:(?:asks?|wants?|needs?|mentions?|says?|requests?)\s+)?(?:(?:to|for|about)\s+)?""",
    re.I | re.X,
)
_SHORTEST: Final = 3
_LONGEST: Final = 400
_MOST: Final = 60


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
    text = " ".join(text.split()).strip(" -–—:;,()")  # noqa: RUF001 - dashes
    if len(text) < _SHORTEST:
        return []
    quoted = [next(part for part in match.groups() if part) for match in _QUOTED.finditer(text)]
    use = _USE.match(text)
    if use is None:
        return [text[:_LONGEST], *quoted]
    rest = text[use.end() :]
    parts = [_AGAIN.sub("", part).strip(" .,:;") for part in _ALTERNATIVE.split(rest)]
    whole = [part[:_LONGEST] for part in parts if len(part) >= _SHORTEST]
    return quoted if len(quoted) > 1 else [*whole, *quoted]
