"""What of a query is searched, and whether it asks for a list of what there is.

A query is never emptied: words are only taken away while others are left.

Invariant: pure; any text gives a text.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import Final

from thresher.core import shortened

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
class Cleaned:
    """A query, cleaned.

    Attributes:
        text: What is searched; empty only where the query was.
        names: Of a query that asks for a list of what there is: whose list, such as `jira` or `jira dashboards`; empty
            for everything. None for any other query.
        noun: What it calls the entries of that list, such as `apis` or `endpoints`, in lower case.
    """

    text: str
    names: str | None = None
    noun: str = ""


def clean(query: str) -> Cleaned:
    """Clean a query.

    Args:
        query: As asked, of any length.
    """
    whole = _normal(query)
    if not whole:
        return Cleaned("", "", "apis")
    listing = _LISTING.match(whole)
    names, noun = None, ""
    if listing is not None:
        names = " ".join(filter(None, (listing["names"], listing["after"]))).strip()
        noun = listing["noun"].lower()
    text = whole
    for pattern in (_POLITE, _ASKED, _POLITE):
        text = _without(pattern, text, once=True)
    return Cleaned(_without(_ABOUT_APIS, text), names, noun)


def _normal(query: str) -> str:
    text = unicodedata.normalize("NFC", query.encode("utf-8", "replace").decode("utf-8"))
    return shortened(_GAP.sub(" ", text.replace("\0", " ")).strip(), QUERY_CHARACTERS)


def _without(pattern: re.Pattern[str], text: str, *, once: bool = False) -> str:
    """The text without what matches, or the text where too little would be left."""
    left = _GAP.sub(" ", pattern.sub(" ", text, count=1 if once else 0)).strip(" ,:;-?!.")
    return left if any(character.isalnum() for character in left) else text
