"""What the text of a query says: what to search, whether to list, and which providers, methods and paths it names.

Cleaning never empties a query: words are removed only while others are left. A description teaches short forms: `HPA`
for `HorizontalPodAutoscaler`, `SLO` if its text explains it; a short form with too many meanings has none.

Invariant: pure; any text is valid. What is detected is soft evidence, except for a method typed in capitals.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from thresher.core import shortened
from thresher.knowledge.apis.heads import Brief, ProviderHead
from thresher.knowledge.apis.ingestion.paths import literals, spaced
from thresher.search import terms

QUERY_CHARACTERS: Final = 2_000
_POLITE: Final = re.compile(
    r"^(?:hi|hello|hey|please|kindly|can you|could you|would you|help me(?: to)?|i(?:'d| would) like to|i want to|"
    r"i need to|i am looking for|i'm looking for|looking for|tell me|show me|give me|find me)\b[\s,:]*",
    re.I,
)
_ASKED: Final = re.compile(
    r"^(?:how (?:do|can|could|would|should) (?:i|we|one|you)|how to|what is the (?:best )?way to|"
    r"(?:what|which)(?:'s| is| are)? (?:the )?(?:api|endpoint|operation|call|route|method)s? "
    r"(?:to use |i use |do i use |should i use |is used |that |which )?(?:to|for|can|could|lets me|do i use to)?)"
    r"\b[\s,:]*",
    re.I,
)
_ABOUT_APIS: Final = re.compile(
    r"(?:\s(?:using|via|with|through|over|by|in|from|on))?(?:\s(?:the|its|their))?\s(?:rest\s|http\s)?"
    r"(?:api|endpoint|api call|api endpoint|api operation)\W*$",
    re.I,
)
_LISTING: Final = re.compile(
    r"^\W*(?:(?:list|show|browse|display|enumerate|give me|what are|which are|what|which|see|get|tell me|find)\s+)?"
    r"(?:me\s+|us\s+)?(?:all\s+)?(?:of\s+)?(?:the\s+)?(?:available\s+|existing\s+|possible\s+)?(?P<names>.*?)\s*"
    r"(?P<noun>apis?|api docs?|api documentation|endpoints?|operations?|tags?|categories)\s*"
    r"(?:are there|do we have|exist|are available|available|there are|of (?P<after>.+?))?\W*$",
    re.I,
)
_GAP: Final = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class CleanedQuery:
    """A query after cleaning.

    Attributes:
        text: What is searched; empty only if the query was.
        names: Of a query that asks for a list: whose list, such as `jira` or `jira dashboards`; empty for everything.
            None for any other query.
        noun: What it calls the entries of the list, such as `apis` or `endpoints`, in lower case.
    """

    text: str
    names: str | None = None
    noun: str = ""


def clean_query(query: str) -> CleanedQuery:
    """Remove courtesies and words about APIs from a query.

    Args:
        query: The query as given, of any length.
    """
    text = unicodedata.normalize("NFC", query.encode("utf-8", "replace").decode("utf-8"))
    whole = shortened(_GAP.sub(" ", text.replace("\0", " ")).strip(), QUERY_CHARACTERS)
    if not whole:
        return CleanedQuery("", "", "apis")
    listing = _LISTING.match(whole)
    names, noun = None, ""
    if listing is not None:
        names = " ".join(filter(None, (listing["names"], listing["after"]))).strip()
        noun = listing["noun"].lower()
    text = whole
    for pattern in (_POLITE, _ASKED, _POLITE):
        text = _without(pattern, text, once=True)
    return CleanedQuery(_without(_ABOUT_APIS, text), names, noun)


def _without(pattern: re.Pattern[str], text: str, *, once: bool = False) -> str:
    """Return the text without its matches, or unchanged if too little would be left."""
    left = _GAP.sub(" ", pattern.sub(" ", text, count=1 if once else 0)).strip(" ,:;-?!.")
    return left if any(character.isalnum() for character in left) else text


METHODS: Final = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "QUERY")
_WORD: Final = re.compile(r"[^\W_]+")
_TYPED: Final = re.compile(rf"(?<![\w-])({'|'.join(METHODS)})(?![\w-])")
_PATH: Final = re.compile(r"(?:(?<=\s)|^)(?:https?://[^\s/]+)?(/[^\s?#,;\"'<>]+)")
_SEVERAL: Final = re.compile(r"\b(?:all|every|list|which|what|many|each|any)\b", re.I)
_EVERYWHERE: Final = re.compile(
    r"\b(?:all|across|every|any|each|whole|entire|everywhere|anywhere|wide|whatever|cluster)\b", re.I
)
_TOGETHER: Final = re.compile(
    r"\b(?:bulk|batch|at once|in one (?:go|call|request)|many|several|multiple|together|mass|all)\b", re.I
)
_COMMON: Final = frozenset("api apis rest the of platform cloud service services collection reference public".split())  # noqa: SIM905 - a text is easier to read
_LEAST_TITLE_WORD: Final = 4


def named_providers(query: str, providers: Iterable[ProviderHead]) -> tuple[ProviderHead, ...]:
    """Return the providers that a query names, by name, alias, or a word of the display name."""
    text = f" {' '.join(_WORD.findall(query.lower()))} "
    return tuple(head for head in providers if any(f" {name} " in text for name in _names(head)))


def _names(head: ProviderHead) -> set[str]:
    whole = {" ".join(_WORD.findall(name.lower())) for name in (head.name, head.display_name, *head.aliases)}
    title = {word for word in _WORD.findall(head.display_name.lower()) if len(word) >= _LEAST_TITLE_WORD}
    return {name for name in whole | (title - _COMMON) if name and name not in _COMMON}


def typed_methods(query: str) -> tuple[str, ...]:
    """Return the HTTP methods typed in capitals, unless the whole query is in capitals."""
    found = tuple(dict.fromkeys(_TYPED.findall(query)))
    rest = _TYPED.sub("", _PATH.sub("", query))
    return found if found and (rest != rest.upper() or not rest.strip()) else ()


def typed_path(query: str) -> str:
    """Return the first path in a query, such as `/pets/{id}`; empty if there is none."""
    found = _PATH.search(query)
    return found[1].rstrip(").") if found else ""


def asks_for_several(query: str) -> bool:
    """Return whether a query asks for a list rather than for one thing."""
    return _SEVERAL.search(query) is not None


def asks_everywhere(query: str) -> bool:
    """Return whether a query looks beyond one place: `in all namespaces`."""
    return _EVERYWHERE.search(query) is not None


def asks_together(query: str) -> bool:
    """Return whether a query wants something done to many things at once."""
    return _TOGETHER.search(query) is not None


def query_words(query: str) -> Sequence[str]:
    """Return the words of a query, in lower case."""
    return _WORD.findall(query.lower())


def distinct_terms(text: str) -> frozenset[str]:
    """Return the distinct terms of a text."""
    return frozenset(terms(text))


ShortForms: TypeAlias = Mapping[str, tuple[str, ...]]
"""Lower-case short form to the lower-case phrases that it may stand for."""

_EXPLAINED: Final = re.compile(r"((?:[A-Za-z][\w-]*[ /-]){2,6})\(([A-Z][A-Za-z]{1,6}?)s?\)")
_NAMES: Final = re.compile(r"\b[A-Z][a-z]+(?:[A-Z][a-z]+)+\b")
_INITIAL_WORD: Final = re.compile(r"[a-z0-9]+")
_LEAST: Final = 3
"""Minimum letters of a short form that no text explains."""
_MOST_MEANINGS: Final = 3
_MOST_WORDS: Final = 6
_SHORT_WORDS: Final = """its was has had are not can may any all and for the who how our out one two new old use few did
    get set put per via yes say see let add end own off why way day ago last this that with they them what when"""
_NO_SHORT_FORMS: Final = frozenset(_SHORT_WORDS.split())
"""Words that are not short forms although initials spell them: `its` is not Issue Type Scheme."""


def short_forms(briefs: Iterable[Brief]) -> ShortForms:
    """Return the short forms that some operations teach."""
    found: dict[str, dict[str, None]] = defaultdict(dict)
    for brief in briefs:
        text = f"{brief.summary}\n{brief.description}"
        for meaning, form in _EXPLAINED.findall(text):
            if (whole := _explained(meaning, form)) is not None:
                found[form.lower()][whole] = None
        for name in {*_NAMES.findall(text), *brief.tags, *map(spaced, literals(brief.path))}:
            words = _INITIAL_WORD.findall(spaced(name).lower())
            form = "".join(word[0] for word in words)
            if _LEAST <= len(words) <= _MOST_WORDS and form not in _NO_SHORT_FORMS:
                found[form][" ".join(words)] = None
    return {form: tuple(meanings) for form, meanings in found.items() if len(meanings) <= _MOST_MEANINGS}


def spelled_out(query: str, known: ShortForms) -> tuple[str, ...]:
    """Return what the short forms in a query stand for, in order."""
    meanings = (meaning for word in _INITIAL_WORD.findall(query.lower()) for meaning in known.get(word, ()))
    return tuple(dict.fromkeys(meanings))


def _explained(meaning: str, form: str) -> str | None:
    """Return the last words before a parenthesised short form if it consists of their initials; otherwise None."""
    words = re.findall(r"[A-Za-z0-9]+", meaning)
    letters = form.lower()
    last = words[-len(letters) :]
    if len(last) == len(letters) and all(word[0].lower() == letter for word, letter in zip(last, letters, strict=True)):
        return " ".join(last).lower()
    return None
