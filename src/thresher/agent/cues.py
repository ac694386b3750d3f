"""What a question says outright: an endpoint's id, a method with its path, a period, a kind of feedback, a section.

Invariant: pure; a text of any size costs a bounded time.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

READ_CHARACTERS: Final = 2_000
"""Of a question; what stands behind is a paste."""

_PLAIN: Final = re.compile(r"[^\W_]+")
_ENDPOINT: Final = re.compile(r"\bop_[0-9a-f]{12}\b")
_CALL: Final = re.compile(
    r"\b(GET|PUT|POST|DELETE|OPTIONS|HEAD|PATCH|TRACE|QUERY)\s+(?:(?:to|on|at)\s+)?(?:https?://[^\s/?#]{1,200})?(/[^\s?#\"'`]{0,500})",
    re.I,
)
_NAME: Final = re.compile(
    r"(?<![\w/.{-])(?:[a-z]+[a-z0-9]*(?:[A-Z][a-z0-9]*)+|[A-Za-z][A-Za-z0-9]*(?:_[A-Za-z0-9]+)+)\b"
)
"""Names as programs write them: `addWatcher`, `git_log`."""
_DATA: Final = re.compile(
    r"\b(?:tables?|columns?|databases?|sql|schemas?|rows|records|joins?|foreign keys?|warehouse)\b", re.I
)
_API: Final = re.compile(r"\b(?:apis?|endpoints?|operations?|parameters?|curl|rest|http|https)\b|/api/|/v\d+/", re.I)
_QUOTED: Final = re.compile(r"`([^`\s]{2,120})`")
_RANGES: Final[Mapping[str, re.Pattern[str]]] = {
    "90d": re.compile(r"\b(?:quarter|(?:90|ninety) ?d(?:ays)?|(?:3|three) months)\b", re.I),
    "30d": re.compile(r"\b(?:month\w*|(?:30|thirty) ?d(?:ays)?|(?:4|four) weeks)\b", re.I),
    "1d": re.compile(r"\b(?:today|yesterday|24 ?h(?:ours)?|(?:last|past) day|1 ?d(?:ay)?)\b", re.I),
    "7d": re.compile(r"\b(?:week\w*|(?:7|seven) ?d(?:ays)?)\b", re.I),
}
_METRICS: Final[Mapping[str, re.Pattern[str]]] = {
    "zero_result_queries": re.compile(r"\b(?:zero[- ]results?|(?:found|gave|without|no) (?:nothing|results?))\b", re.I),
    "rising_queries": re.compile(r"\b(?:rising|growing|grew|trend\w*)\b", re.I),
    "top_queries": re.compile(
        r"\b(?:top|most (?:asked|searched|frequent|common)|popular (?:queries|questions))\b", re.I
    ),
    "endpoints": re.compile(r"\b(?:(?:read|viewed|opened) most|most (?:read|viewed|opened)\b|how often was)\b", re.I),
    "read_rate": re.compile(r"\b(?:read rate|conversion|share of searches)\b", re.I),
    "latency": re.compile(r"\b(?:latency|how (?:slow|fast)|p50|p95|percentiles?|(?:answer|response) times?)\b", re.I),
    "errors": re.compile(r"\b(?:errors?|fail\w*)\b", re.I),
    "per_day": re.compile(r"\b(?:(?:per|by|each) day|daily|busiest)\b", re.I),
    "per_provider": re.compile(r"\b(?:(?:per|by|each) (?:provider|api)|compare the usage)\b", re.I),
}
_TABLE: Final = re.compile(
    r"\btables?\s+[`'\"]?(?!(?:of|with|has|have|that|which|in|for|is|are|about|holds?)\b)([\w.]{2,80})"
    r"|\b(?!(?:the|an?|which|what|this|that|each|any|every|one|in|of|from|to|on|is|by)\b)([\w.]{2,80})[`'\"]?\s+table\b",
    re.I,
)
_FEEDBACK: Final[Mapping[str, re.Pattern[str]]] = {
    "examples": re.compile(r"\bexamples?\b", re.I),
    "security": re.compile(r"\b(?:security|insecure|sign[- ]in|auth\w*)\b", re.I),
    "errors": re.compile(r"\b(?:errors?|status codes?|4xx|5xx)\b", re.I),
    "structure": re.compile(r"\b(?:structure|unused|invalid|valid)\b", re.I),
    "clarity": re.compile(
        r"\b(?:clarity|unclear|descriptions? (?:too )?(?:short|missing)|duplicates?|summar\w+)\b", re.I
    ),
}
_IMPROVING: Final = re.compile(
    r"\b(?:improve\w*|suggest\w*|scor(?:e|es)|lint|quality|grade|rate the|review the|audit (?:our|the) (?:open)?api|"
    r"findings?|problems? (?:in|of|with)|wrong with|(?:has|have|lack|lacks|miss|misses|missing|without|no)\b.{0,20}"
    r"\b(?:descriptions?|examples?|error responses?)|near duplicates?|too short|not described|better|weak|"
    r"description fail\w*|(?:what|where) do(?:es)? .{0,60}\b(?:docs?|descriptions?) (?:fail|miss))\b",
    re.I,
)
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
_SECTIONS: Final[Mapping[str, re.Pattern[str]]] = {
    "parameters": re.compile(r"\b(?:param(?:eter)?s?|arguments?|query (?:string|options)|headers?|fields?)\b", re.I),
    "request": re.compile(r"\b(?:request|body|payload|fields?|send)\b", re.I),
    "responses": re.compile(
        r"\b(?:respon[sd]\w*|answers?|returns?|status(?: codes?)?|errors?|comes? back|4\d\d|5\d\d)\b", re.I
    ),
    "auth": re.compile(r"\b(?:auth\w*|scopes?|permissions?|tokens?|sign[- ]in|log ?in)\b", re.I),
    "samples": re.compile(r"\b(?:curl|python|httpx|code|snippet|script|sample)\b", re.I),
}


@dataclass(frozen=True, slots=True)
class Cues:
    """What a question says outright; empty where it does not.

    Attributes:
        endpoint_id: `op_...`.
        method: Upper case; with it always a path.
        path: As written.
        names: Names as programs write them, in order.
        time_range: `1d`, `7d`, `30d` or `90d`.
        metrics: Figures that are asked for.
        improving: Whether it asks what is wrong with a description.
        assessing: Whether it asks how good something is.
        feedback: The one kind of feedback that is asked for.
        sections: Parts of an operation that it is about.
        table: A table that is named.
        data: Whether it speaks of tables and the like.
        api: Whether it speaks of an API and the like.
    """

    endpoint_id: str = ""
    method: str = ""
    path: str = ""
    names: tuple[str, ...] = ()
    time_range: str = ""
    metrics: tuple[str, ...] = ()
    improving: bool = False
    assessing: bool = False
    feedback: str = ""
    sections: tuple[str, ...] = ()
    table: str = ""
    data: bool = False
    api: bool = False

    @property
    def names_call(self) -> bool:
        """Whether one operation is named so that it can be looked up."""
        return bool(self.endpoint_id or self.path)


def read_cues(text: str) -> Cues:
    """What a text says outright."""
    text = text[:READ_CHARACTERS]
    endpoint, call = _ENDPOINT.search(text), _CALL.search(text)
    named = _CALL.sub(" ", _ENDPOINT.sub(" ", text))
    names = dict.fromkeys([*_QUOTED.findall(named), *_NAME.findall(named)])
    feedback, table = _matching(_FEEDBACK, text), _TABLE.search(text)
    return Cues(
        endpoint_id=endpoint[0] if endpoint else "",
        method=call[1].upper() if call else "",
        path=call[2].rstrip(".,;:!)") if call else "",
        names=tuple(names)[:3],
        time_range=next(iter(_matching(_RANGES, text)), ""),
        metrics=_matching(_METRICS, text),
        improving=_IMPROVING.search(text) is not None,
        assessing=_ASSESSED.search(_padded(text)) is not None,
        feedback=feedback[0] if len(feedback) == 1 else "",
        sections=_matching(_SECTIONS, text),
        table=next(filter(None, table.groups()), "") if table else "",
        data=_DATA.search(text) is not None,
        api=_API.search(text) is not None,
    )


def named_in(text: str, names: Iterable[tuple[str, Iterable[str]]]) -> tuple[str, ...]:
    """Which of some things a text names, the first mentioned first.

    Args:
        text: The text.
        names: Each thing with the words that it is called by.
    """
    whole = _padded(text[:READ_CHARACTERS])
    places = [(_first(whole, words), key) for key, words in names]
    return tuple(key for at, key in sorted(places) if at >= 0)


def reviewed_in(text: str, names: Iterable[tuple[str, Iterable[str]]]) -> tuple[str, ...]:
    """Which APIs a text asks to have reviewed, the first mentioned first.

    An API is meant where its name and a word for a description stand together, such as "the description of orders" or
    "the weather API's docs", and the text asks how good that is; or where it asks for nothing but a review, such as
    "what is wrong with the orders API" or "improve tmdb". The name alone says nothing: tables have the same names.

    Args:
        text: The text.
        names: Each API with the words that it is called by.
    """
    if (table := _TABLE.search(text[:READ_CHARACTERS])) is not None and not _API.search(table[0]):
        return ()
    calls = {padded: key for key, words in names for word in words if (padded := _padded(word)).strip()}
    plain, order = _padded(text[:READ_CHARACTERS]), list(dict.fromkeys(calls.values()))
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


def _first(whole: str, words: Iterable[str]) -> int:
    """Where the first of some words stands; -1 where none does."""
    places = [whole.find(padded) for word in words if (padded := _padded(word)).strip()]
    return min((at for at in places if at >= 0), default=-1)


def _padded(text: str) -> str:
    return f" {' '.join(_PLAIN.findall(text.casefold()))} "


def _matching(patterns: Mapping[str, re.Pattern[str]], text: str) -> tuple[str, ...]:
    return tuple(name for name, pattern in patterns.items() if pattern.search(text))
