"""Recognises questions that ask for a review of an API's description, whatever the API is called.

Invariant: pure; the work is bounded by `READ_CHARACTERS`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

from thresher.agent.assistant.questions import API_WORDS, READ_CHARACTERS, TABLE_WORDS, padded_words

_DESCRIPTION: Final = (
    r"(?:descriptions?|docs?|documentation|specs?|specifications?|definitions?|summar(?:y|ies)|"
    r"(?:openapi|swagger)(?: (?:document|file))?)"
)
_ASSESSED: Final = re.compile(
    r"\b(?:improv\w*|enhanc\w*|wrong|problems?|flaws?|faults?|mistakes?|weak\w*|(?:issues|errors|gaps) (?:with|in|of)|"
    r"review\w*|lint\w*|audit\w*|assess\w*|criti\w+|evaluat\w*|rat(?:e|ed|ing)(?! limit)|"
    r"scor(?:e|es|ed)|grad(?:e|ed)|quality|feedback|"
    r"findings?|(?:un)?clear\w*|better|worse|bad\w*|poor\w*|(?:how|any|is|are|not) (?:well|good)|good enough|lack\w*|"
    r"miss(?:es|ing)?|(?:in)?complete\w*|fail\w*|fix\w*|"
    r"(?:hard|difficult|easy) to|confusing|check (?:the|our|my) (?:description|spec)\w*)\b"
)
"""Words that ask how good something is."""
_REVIEWED: Final = (
    r"(?:improve|review|lint|rate|score|grade|audit|assess|evaluate|critici[sz]e|"
    r"(?:review|quality|scores?|feedback) (?:of|on|for)|(?:wrong|problems?|issues) (?:with|in|of)|"
    r"(?:suggest )?improvements? (?:of|for|to|in)|how good (?:is|are))"
)
_ORDERS: Final = frozenset({"improve", "review", "lint", "rate", "score", "grade", "audit", "assess", "evaluate"})
"""Of these the words after which the name of an API alone is enough: of weather nobody says them."""
_BETWEEN: Final = (
    r"(?:of|for|from|in|on|behind|to|and|or|the|an?|our|my|your|this|that|which|s|own|has|have|apis?|rest|http|openapi|"
    r"called|named|@\w+)"
)
"""Words that may stand between an API's name and what is said of it; `@` begins the place of a name."""


def assesses(text: str) -> bool:
    """Return whether a text asks how good something is."""
    return _ASSESSED.search(padded_words(text)) is not None


def reviewed_in(text: str, names: Iterable[tuple[str, Iterable[str]]]) -> tuple[str, ...]:
    """Which APIs a text asks to have reviewed, the first mentioned first.

    An API is meant where its name and a word for a description stand together, such as "the description of orders" or
    "the weather API's docs", and the text asks how good that is; or where it asks for nothing but a review, such as
    "what is wrong with the orders API" or "improve tmdb". The name alone says nothing: tables have the same names.

    Args:
        text: The text.
        names: Each API with the words that it is called by.
    """
    if (table := TABLE_WORDS.search(text[:READ_CHARACTERS])) is not None and not API_WORDS.search(table[0]):
        return ()
    calls = {padded: key for key, words in names for word in words if (padded := padded_words(word)).strip()}
    plain, order = padded_words(text[:READ_CHARACTERS]), list(dict.fromkeys(calls.values()))
    whole = plain
    for padded in sorted(calls, key=len, reverse=True):
        whole = whole.replace(padded, f" @{order.index(calls[padded])} ")
    places = dict.fromkeys(int(number) for number in re.findall(r"@(\d+)", whole))
    return tuple(
        order[number]
        for number in places
        if _is_all(whole, number) or (_is_described(whole, number) and _is_assessed(plain, calls, order[number]))
    )


def _is_assessed(plain: str, calls: Mapping[str, str], name: str) -> bool:
    """Whether a text asks how good something is; an API's own name, such as `review`, does not."""
    for padded in (one for one, key in calls.items() if key == name):
        plain = plain.replace(padded, " ", 1)
    return _ASSESSED.search(plain) is not None


def _is_described(whole: str, number: int) -> bool:
    """Whether a description of the API in a place is spoken of."""
    name = rf"@{number}\b"
    return bool(
        re.search(rf"\b{_DESCRIPTION} (?:{_BETWEEN} )*{name}|{name} (?:{_BETWEEN} )*{_DESCRIPTION}\b", whole)
        or re.search(rf"{name} (?:apis? )?(?:\w+ )?(?:described|documented)\b", whole)
    )


def _is_all(whole: str, number: int) -> bool:
    """Whether a text asks for a review of the API in a place and for nothing besides."""
    begins = (
        r"(?: (?:please|can|could|how|should|shall|do|does|i|we|you|would|let|us|what|whats|is|are|the|any|which|s))*"
    )
    name = rf"(?:{_BETWEEN} )*@{number}\b(?: apis?)?"
    ends = r"(?: (?:please|now|for me|have))* $"
    match = re.match(rf"{begins} ({_REVIEWED}) {name}{ends}", whole)
    return match is not None and (" api" in whole or match[1] in _ORDERS)
