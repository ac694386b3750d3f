"""Reads questions: what they say explicitly, and what they take over from the conversation.

Invariant: pure; bounded by the question's length. Nothing that a question leaves open is invented.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from thresher.agent.assistant.records import RememberedTurn, ResultSubject
from thresher.core import LazyPattern

READ_CHARACTERS: Final = 2_000
"""Characters of a question that are read; the rest is pasted text."""

_PLAIN: Final = LazyPattern(r"[^\W_]+")
_ENDPOINT: Final = LazyPattern(r"\bop_[0-9a-f]{12}\b")
_CALL: Final = LazyPattern(
    r"\b(GET|PUT|POST|DELETE|OPTIONS|HEAD|PATCH|TRACE|QUERY)\s+(?:(?:to|on|at)\s+)?(?:https?://[^\s/?#]{1,200})?(/[^\s?#\"'`]{0,500})",
    re.I,
)
_NAME: Final = LazyPattern(
    r"(?<![\w/.{-])(?:[a-z]+[a-z0-9]*(?:[A-Z][a-z0-9]*)+|[A-Za-z][A-Za-z0-9]*(?:_[A-Za-z0-9]+)+)\b"
)
"""Names as in programs: `addWatcher`, `git_log`."""
_DATA: Final = LazyPattern(
    r"\b(?:tables?|columns?|databases?|sql|schemas?|rows|records|joins?|foreign keys?|warehouse)\b", re.I
)
API_WORDS: Final = LazyPattern(
    r"\b(?:apis?|endpoints?|operations?|parameters?|curl|rest|http|https)\b|/api/|/v\d+/", re.I
)
_QUOTED: Final = LazyPattern(r"`([^`\s]{2,120})`")
_RANGES: Final[Mapping[str, LazyPattern]] = {
    "90d": LazyPattern(r"\b(?:quarter|(?:90|ninety) ?d(?:ays)?|(?:3|three) months)\b", re.I),
    "30d": LazyPattern(r"\b(?:month\w*|(?:30|thirty) ?d(?:ays)?|(?:4|four) weeks)\b", re.I),
    "1d": LazyPattern(r"\b(?:today|yesterday|24 ?h(?:ours)?|(?:last|past) day|1 ?d(?:ay)?)\b", re.I),
    "7d": LazyPattern(r"\b(?:week\w*|(?:7|seven) ?d(?:ays)?)\b", re.I),
}
_METRICS: Final[Mapping[str, LazyPattern]] = {
    "zero_result_queries": LazyPattern(
        r"\b(?:zero[- ]results?|(?:found|gave|without|no) (?:nothing|results?))\b", re.I
    ),
    "rising_queries": LazyPattern(r"\b(?:rising|growing|grew|trend\w*)\b", re.I),
    "top_queries": LazyPattern(
        r"\b(?:top|most (?:asked|searched|frequent|common)|popular (?:queries|questions))\b", re.I
    ),
    "endpoints": LazyPattern(r"\b(?:(?:read|viewed|opened) most|most (?:read|viewed|opened)\b|how often was)\b", re.I),
    "read_rate": LazyPattern(r"\b(?:read rate|conversion|share of searches)\b", re.I),
    "latency": LazyPattern(r"\b(?:latency|how (?:slow|fast)|p50|p95|percentiles?|(?:answer|response) times?)\b", re.I),
    "errors": LazyPattern(r"\b(?:errors?|fail\w*)\b", re.I),
    "per_day": LazyPattern(r"\b(?:(?:per|by|each) day|daily|busiest)\b", re.I),
    "per_provider": LazyPattern(r"\b(?:(?:per|by|each) (?:provider|api)|compare the usage)\b", re.I),
}
TABLE_WORDS: Final = LazyPattern(
    r"\btables?\s+[`'\"]?(?!(?:of|with|has|have|that|which|in|for|is|are|about|holds?)\b)([\w.]{2,80})"
    r"|\b(?!(?:the|an?|which|what|this|that|each|any|every|one|in|of|from|to|on|is|by)\b)([\w.]{2,80})[`'\"]?\s+table\b",
    re.I,
)
_FEEDBACK: Final[Mapping[str, LazyPattern]] = {
    "examples": LazyPattern(r"\bexamples?\b", re.I),
    "security": LazyPattern(r"\b(?:security|insecure|sign[- ]in|auth\w*)\b", re.I),
    "errors": LazyPattern(r"\b(?:errors?|status codes?|4xx|5xx)\b", re.I),
    "structure": LazyPattern(r"\b(?:structure|unused|invalid|valid)\b", re.I),
    "clarity": LazyPattern(
        r"\b(?:clarity|unclear|descriptions? (?:too )?(?:short|missing)|duplicates?|summar\w+)\b", re.I
    ),
}
_IMPROVING: Final = LazyPattern(
    r"\b(?:improve\w*|suggest\w*|scor(?:e|es)|lint|quality|grade|rate the|review the|audit (?:our|the) (?:open)?api|"
    r"findings?|problems? (?:in|of|with)|wrong with|(?:has|have|lack|lacks|miss|misses|missing|without|no)\b.{0,20}"
    r"\b(?:descriptions?|examples?|error responses?)|near duplicates?|too short|not described|better|weak|"
    r"description fail\w*|(?:what|where) do(?:es)? .{0,60}\b(?:docs?|descriptions?) (?:fail|miss))\b",
    re.I,
)
_SECTIONS: Final[Mapping[str, LazyPattern]] = {
    "parameters": LazyPattern(r"\b(?:param(?:eter)?s?|arguments?|query (?:string|options)|headers?|fields?)\b", re.I),
    "request": LazyPattern(r"\b(?:request|body|payload|fields?|send)\b", re.I),
    "responses": LazyPattern(
        r"\b(?:respon[sd]\w*|answers?|returns?|status(?: codes?)?|errors?|comes? back|4\d\d|5\d\d)\b", re.I
    ),
    "auth": LazyPattern(r"\b(?:auth\w*|scopes?|permissions?|tokens?|sign[- ]in|log ?in)\b", re.I),
    "samples": LazyPattern(r"\b(?:curl|python|httpx|code|snippet|script|sample)\b", re.I),
}


@dataclass(frozen=True, slots=True)
class Cues:
    """What a question says explicitly; empty values if it does not.

    Attributes:
        endpoint_id: `op_...`.
        method: Upper case; always with a path.
        path: As written.
        names: Names as in programs, in order.
        time_range: `1d`, `7d`, `30d` or `90d`.
        metrics: Requested figures.
        improving: Whether it asks what is wrong with a description.
        feedback: The one kind of feedback it asks for.
        sections: Parts of an operation that it is about.
        table: A table that it names.
        data: Whether it mentions tables and the like.
        api: Whether it mentions an API and the like.
    """

    endpoint_id: str = ""
    method: str = ""
    path: str = ""
    names: tuple[str, ...] = ()
    time_range: str = ""
    metrics: tuple[str, ...] = ()
    improving: bool = False
    feedback: str = ""
    sections: tuple[str, ...] = ()
    table: str = ""
    data: bool = False
    api: bool = False

    @property
    def names_call(self) -> bool:
        """Whether it names one operation so that it can be looked up."""
        return bool(self.endpoint_id or self.path)


def read_cues(text: str) -> Cues:
    """Return what a text says explicitly."""
    text = text[:READ_CHARACTERS]
    endpoint, call = _ENDPOINT.search(text), _CALL.search(text)
    named = _CALL.sub(" ", _ENDPOINT.sub(" ", text))
    names = dict.fromkeys([*_QUOTED.findall(named), *_NAME.findall(named)])
    feedback, table = _matching(_FEEDBACK, text), TABLE_WORDS.search(text)
    return Cues(
        endpoint_id=endpoint[0] if endpoint else "",
        method=call[1].upper() if call else "",
        path=call[2].rstrip(".,;:!)") if call else "",
        names=tuple(names)[:3],
        time_range=next(iter(_matching(_RANGES, text)), ""),
        metrics=_matching(_METRICS, text),
        improving=_IMPROVING.search(text) is not None,
        feedback=feedback[0] if len(feedback) == 1 else "",
        sections=_matching(_SECTIONS, text),
        table=next(filter(None, table.groups()), "") if table else "",
        data=_DATA.search(text) is not None,
        api=API_WORDS.search(text) is not None,
    )


def named_in(text: str, names: Iterable[tuple[str, Iterable[str]]]) -> tuple[str, ...]:
    """Return which of some things a text names, the first mentioned first.

    Args:
        text: The text.
        names: Each thing with its names.
    """
    whole = padded_words(text[:READ_CHARACTERS])
    places = [(_first(whole, words), key) for key, words in names]
    return tuple(key for at, key in sorted(places) if at >= 0)


def _first(whole: str, words: Iterable[str]) -> int:
    """Return the position of the first of some words; -1 without any."""
    places = [whole.find(padded) for word in words if (padded := padded_words(word)).strip()]
    return min((at for at in places if at >= 0), default=-1)


def padded_words(text: str) -> str:
    """Return the words of a text in small letters, with a blank before, between and after them."""
    return f" {' '.join(_PLAIN.findall(text.casefold()))} "


def _matching(patterns: Mapping[str, LazyPattern], text: str) -> tuple[str, ...]:
    return tuple(name for name, pattern in patterns.items() if pattern.search(text))


_SHORT: Final = 14
"""Words of a question that may refer to a result by its number or by a pronoun; a longer one stands alone."""
_LOOKED_BACK: Final = 4
"""Turns searched for the list to which a number refers: reading its results comes in between."""
_TENS: Final = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_ORDINALS: Final = tuple(
    """first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth
    sixteenth seventeenth eighteenth nineteenth""".split()  # noqa: SIM905 - a text is easier to read
)
_CARDINALS: Final = tuple(
    """one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
    eighteen nineteen""".split()  # noqa: SIM905 - as above
)
_NUMBERS: Final = {
    **{name: place for place, name in enumerate(_CARDINALS)},
    **{name: place for place, name in enumerate(_ORDINALS)},
    **{f"{tens[:-1]}ieth": 10 * count - 1 for count, tens in enumerate(_TENS, 2)},
    **{tens: 10 * count - 1 for count, tens in enumerate(_TENS, 2)},
    **{
        f"{tens}-{ones}": 10 * count + place
        for count, tens in enumerate(_TENS, 2)
        for names in (_ORDINALS[:9], _CARDINALS[:9])
        for place, ones in enumerate(names)
    },
    "hundredth": 99,
}
"""Positions, from 0, by their words."""
_ORDINAL: Final = (
    rf"\d{{1,4}}\s?(?:st|nd|rd|th)|{'|'.join(_ORDINALS)}|(?:{'|'.join(_TENS)})[-\s](?:{'|'.join(_ORDINALS[:9])})|"
    rf"(?:{'|'.join(tens[:-1] for tens in _TENS)})ieth|hundredth"
)
_CARDINAL: Final = rf"(?:{'|'.join(_TENS)})(?:[-\s](?:{'|'.join(_CARDINALS[:9])}))?|{'|'.join(_CARDINALS)}"
_FROM_END: Final = (
    rf"(?:{_ORDINAL}|next)[-\s]+(?:to|from)[-\s]+(?:the[-\s]+)?(?:last|end)|last\s+but\s+(?:{'|'.join(_CARDINALS)})|"
    r"second[-\s]last|penultimate|last"
)
"""Positions counted from the end: the last one, the second to last, the last but one."""
_THING: Final = (
    r"(?:ones?|results?|hits?|endpoints?|operations?|calls?|options?|entry|match|tools?|passages?|tables?|requests?)"
)
_PLACED: Final = LazyPattern(rf"\b(?:the|that|this)\s+({_FROM_END}|{_ORDINAL})(?:\s+{_THING}\b|\s*[?.!,]|\s*$)", re.I)
_NUMBERED: Final = LazyPattern(
    rf"(?:^\s*#?|#\s?|\b(?:number|no\.?|result|hit|endpoint|option)\s+#?)"
    rf"(\d{{1,2}}|{_ORDINAL}|{_CARDINAL})\s*(?:[?.!,)]|$|\s+(?=in|please|with))",
    re.I,
)
_MORE: Final = LazyPattern(
    r"^\W*(?:(?:and|please|ok|yes)[, ]+)?(?:(?:show|give|list)(?: me)? )?(?:some |the )?"
    r"(?:more(?: (?:results|of them|please))?|next(?: (?:page|ones|results))?|the rest|others?)\W*(?:please)?\W*$",
    re.I,
)
_OPENING: Final = LazyPattern(
    r"^\W*(?:(?:and|or|now|ok|okay|so|then|also|but|next|yes|please)[, ]+)*"
    r"(?:(?:what|how) about|(?:the )?same|likewise|ditto|instead)?\s*(?:(?:for|in|with|on|of|to|via)\s+)?",
    re.I,
)
_GOING_ON: Final = LazyPattern(
    r"^\W*(?:and|or|now|then|also|but|what about|how about|(?:the )?same|likewise|ditto|instead|for|in|with)\b", re.I
)
_PRONOUN: Final = LazyPattern(
    rf"\b(?:it|its|them|their|that one|this one|(?:that|this|these|those)(?: {_THING})?(?=\W*$|\s+(?:do|does|"
    r"need|take|return|support|expect|answer|accept|require|have|has|from|with|in|work|be)\b)"
    rf"|(?:that|this) {_THING})\b|\b(?:the one|call|endpoint|operation)\s*$",
    re.I,
)
_PERSON: Final = LazyPattern(r"\b(?:he|she|him|her|his|hers|they|there|those|of (?:these|those|them))\b", re.I)
"""Further pronouns with which a question continues about an answer that is not an API."""
_COUNTED: Final = LazyPattern(r"\b(?:how many|how much|number of|count|average|total|which of)\b", re.I)
_SELF: Final = LazyPattern(rf"\bthe (?:one|{_THING}) (?:to|that|which|for)\b|\bone (?:to|that|which|for)\b", re.I)
_WORD: Final = LazyPattern(r"[^\W_]+(?:[-'][^\W_]+)*")

_VERBS: Final = {
    verb: method
    for method, verbs in {
        "create": "create creates creating add adds adding make makes making insert inserts register registers post "
        "posts upload uploads attach assign assigns invite submit",
        "delete": "delete deletes deleting remove removes removing drop drops dropping revoke revokes unassign detach "
        "destroy erase clear",
        "update": "update updates updating edit edits editing change changes changing modify modifies rename renames "
        "replace replaces set sets patch patches",
        "list": "list lists listing enumerate browse all",
        "get": "get gets getting fetch fetches fetching read reads reading retrieve retrieves view views "
        "show shows see",
        "search": "search searches searching find finds finding query queries look",
        "cancel": "cancel cancels stop stops stopping pause pauses disable disables mute mutes",
        "start": "start starts starting run runs enable enables resume resumes trigger restart restarts unmute",
        "archive": "archive archives restore restores",
        "move": "move moves copy copies clone clones merge merges transfer",
    }.items()
    for verb in verbs.split()
}
_EMPTY: Final = frozenset(
    """a an the of to for in on at by with from and or i we you me my our your do does did is are was can could should
    would will how what which where who when why there that this these those it its them their one ones please now also
    then about same instead via using use api apis endpoint endpoints operation operations call calls request requests
    tell give need want like so ok okay yes any some have has into through does be as if""".split()  # noqa: SIM905 - a text is easier to read
)
_PARTS: Final = frozenset(
    """parameter parameters param params argument arguments field fields body payload request response responses answer
    answers error errors status code codes header headers scope scopes permission permissions auth authentication schema
    example examples required optional details detail limits pagination curl python httpx sample format type types
    returned needed allowed possible success failure""".split()  # noqa: SIM905 - a text is easier to read
)
"""Words for the parts of an operation: a short question about nothing else is about the current operation."""


@dataclass(frozen=True, slots=True)
class ResolvedQuestion:
    """A question, completed from the conversation.

    Attributes:
        text: Stands alone, as far as possible.
        subject: The former result that it is about.
        sources: The sources of the last answer, for a question that names no other.
        more: The turn of whose answer it asks for the next page.
        topic: The continued topic of the conversation, if that is not the question itself.
        notes: What was understood, in words.
        lost: Whether it is about a former result that does not exist.
        kind: The kind of the last answer, if the question continues it.
    """

    text: str
    subject: ResultSubject | None = None
    sources: tuple[str, ...] = ()
    more: RememberedTurn | None = None
    topic: str = ""
    notes: tuple[str, ...] = ()
    lost: bool = False
    kind: str = ""


def resolve(query: str, turns: Sequence[RememberedTurn]) -> ResolvedQuestion:
    """Return a question, read after the turns before it.

    Args:
        query: As asked.
        turns: The conversation, oldest first.
    """
    if not turns:
        points = _is_place_alone(query) or _MORE.match(query)
        return _lost(query, "this question begins a conversation") if points else ResolvedQuestion(query)
    last = turns[-1]
    if _MORE.match(query):
        if last.subjects or last.more or last.type == "analytics":
            return ResolvedQuestion(last.understood, more=last, sources=last.sources)
        return _lost(query, "the last answer has no further results", last)
    for turn in reversed(turns[-_LOOKED_BACK:]):
        if (place := place_of(query, len(turn.subjects))) is not None:
            return _about(query, turn.subjects[place], last)
    if _is_place_alone(query):
        return _lost(query, f"the last answer has {len(last.subjects)}", last)
    words = _words(query)
    if len(words) > _SHORT:
        return ResolvedQuestion(query)
    if last.subjects and (_is_part(query) or _is_about(query, words, last)):
        return _about(query, last.subjects[0], last)
    return _continued(query, words, last)


def place_of(query: str, count: int) -> int | None:
    """Return which of so many results a short question names by position; None if none."""
    if not count or len(_words(query)) > _SHORT:
        return None
    if match := _PLACED.search(query):
        place = _placed(match[1].lower(), count)
    elif match := _NUMBERED.search(query):
        place = _number(match[1])
    else:
        return None
    return place if 0 <= place < count else None


def _placed(words: str, count: int) -> int:
    """Return the position, from 0, that words name among so many; negative if they go past the start."""
    if not re.search(r"\b(?:last|end|penultimate)\b", words):
        return _number(words)
    if words == "last":
        return count - 1
    if words.startswith("last"):
        return count - 2 - _number(words.split()[-1])
    ordinal = re.match(rf"(?:{_ORDINAL})(?=[-\s]+(?:to|from))", words)
    return count - 1 - (_number(ordinal[0]) if ordinal else 1)


def _number(word: str) -> int:
    """Return the position, from 0, of a number or an ordinal."""
    digits = re.match(r"\d+", word)
    return int(digits[0]) - 1 if digits else _NUMBERS["-".join(word.lower().split())]


def topic_of(text: str, without: Sequence[str] = ()) -> str:
    """Return what a question is about: its words without the action and without such as the names of providers."""
    dropped = {word.casefold() for name in without for word in _words(name)}
    kept = [
        word
        for word in _words(text)
        if word.casefold() not in _EMPTY | dropped and (word.casefold() not in _VERBS or word.isupper())
    ]
    return " ".join(kept)


def _about(query: str, subject: ResultSubject, last: RememberedTurn) -> ResolvedQuestion:
    notes = (f"understood as about {subject.name}",)
    return ResolvedQuestion(query, subject, subject.sources, topic=last.understood, notes=notes)


def _lost(query: str, why: str, last: RememberedTurn | None = None) -> ResolvedQuestion:
    """Return a question about a missing result; the topic of the conversation stays."""
    notes = (f"no former result is meant by “{query.strip()[:60]}”: {why}",)
    if last is None:
        return ResolvedQuestion(query, lost=True, notes=notes)
    return ResolvedQuestion(query, lost=True, notes=notes, sources=last.sources, topic=last.understood, kind=last.kind)


def _is_place_alone(query: str) -> bool:
    """Return whether a question only says which result it is about, and which part of it."""
    match = _PLACED.search(query) or _NUMBERED.search(query)
    if match is None or len(_words(query)) > _SHORT:
        return False
    rest = {word.lower() for word in _words(f"{query[: match.start()]} {query[match.end() :]}")}
    return all(word in _EMPTY | _PARTS or _VERBS.get(word) == "get" for word in rest)


def _is_part(query: str) -> bool:
    """Return whether a question asks for parts of an operation and names none."""
    words = {word.lower() for word in _words(query)} - _EMPTY
    asked = {word for word in words if _VERBS.get(word) != "get"}
    return bool(asked) and asked <= _PARTS


def _is_about(query: str, words: Sequence[str], last: RememberedTurn) -> bool:
    """Return whether a pronoun stands for the best result itself; rows and passages need a new search."""
    if not _PRONOUN.search(query) or _acts(query, words):
        return False
    return last.kind != "documents" and not (last.kind == "databases" and _COUNTED.search(query))


def _acts(query: str, words: Sequence[str]) -> bool:
    """Return whether it asks for another action on it ("the one to delete it"), and not about it."""
    if _SELF.search(query):
        return True
    verbs = [_VERBS[word.lower()] for word in words if word.lower() in _VERBS]
    return any(verb not in ("get", "start") for verb in verbs) and not re.search(
        r"\b(?:parameters?|its)\b", query, re.I
    )


def _continued(query: str, words: Sequence[str], last: RememberedTurn) -> ResolvedQuestion:
    """Return a question with the topic, the action, or the source that it takes over."""
    pronoun = _PRONOUN.search(query) or (last.kind != "apis" and _PERSON.search(query))
    if not (pronoun or _GOING_ON.match(query) or _SELF.search(query)) or not last.understood:
        return ResolvedQuestion(query)
    if _is_part(query):
        return ResolvedQuestion(query, sources=last.sources, kind=last.kind)
    if last.kind in ("databases", "documents", "tools"):
        text = f"{last.understood} {query.strip()}"
        notes = (f"understood as going on from: {last.understood[:100]}",)
        return ResolvedQuestion(text, sources=last.sources, topic=last.understood, notes=notes, kind=last.kind)
    verb = next((word for word in words if word.lower() in _VERBS), "")
    objects = topic_of(_OPENING.sub("", query, count=1))
    if verb and not objects:
        return _taken(f"{verb} {topic_of(last.understood)}", last)
    if verb:
        return ResolvedQuestion(query, sources=last.sources, kind=last.kind)
    if not objects:
        return ResolvedQuestion(query, sources=last.sources, kind=last.kind)
    if _is_place(query) or last.type == "analytics":
        topic = topic_of(last.understood, last.sources)
        action = next((word for word in _words(last.understood) if word.lower() in _VERBS), "")
        return ResolvedQuestion(text := f"{action} {topic} {objects}".strip(), notes=(f"understood as: {text}",))
    action = next((word for word in _words(last.understood) if word.lower() in _VERBS), "")
    return _taken(f"{action} {objects}".strip(), last)


def _taken(text: str, last: RememberedTurn) -> ResolvedQuestion:
    return ResolvedQuestion(text, sources=last.sources, notes=(f"understood as: {text}",), kind=last.kind)


def _is_place(query: str) -> bool:
    """Return whether it asks for the same elsewhere: "same in Datadog", "and for GitHub?"; a name is capitalised."""
    return re.search(r"\b(?:same|instead)\b|\b(?:in|on|with)\s+\w|\bfor\s+[A-Z]", query) is not None


def _words(text: str) -> list[str]:
    return _WORD.findall(text[:2_000])
