"""Whether a text written by a model claims no more than a description does.

Invariant: pure; every name, number, address and word that makes a promise must be in the material. Of all other words
a few may be new.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import cached_property
from typing import Final

_STEM: Final = 5
"""Letters by which two forms of a word count as the same."""
_NEW: Final = 0.25
"""Share of words that may be new."""
_SHORTEST: Final = 3
_FOREIGN: Final = 0.1
"""Share of letters that may be in another script than the material's."""
_WORD: Final = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")  # noqa: RUF001 - both apostrophes occur
_NAME: Final = re.compile(r"`([^`]+)`|\b(\w*[a-z][A-Z]\w*|\w+_\w+|[A-Z][A-Z0-9]+)\b|(/[\w{}/.-]+)")
_NUMBER: Final = re.compile(r"\d+(?:[.,]\d+)*")
_ADDRESS: Final = re.compile(r"\w+://\S+|\bwww\.\S+|\S+@\S+\.\w+", re.IGNORECASE)
_MARKUP: Final = re.compile(
    r"<[a-zA-Z/!]|\]\(|\]\[|!\[|```|~~~|\{\{|\$\{|\\x|\\u|^\s*(?:#|>|---|===|\|)|javascript:|data:",
    re.MULTILINE | re.IGNORECASE,
)
_UNSEEN: Final = re.compile(
    r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e007f]"
)
_PROMISES: Final = re.compile(
    r"\b(?:admin\w*|permission\w*|privileg\w*|owner\w*|licen[sc]\w*|paid|free|premium|beta|experimental|preview"
    r"|deprecat\w*|obsolete|legacy|irrevers\w*|permanent\w*|undo\w*|restor\w*|recover\w*|asynchron\w*|background"
    r"|idempot\w*|transaction\w*|atomic\w*|encrypt\w*|secur\w*|safe\w*|anonym\w*|authenti\w*|authori\w*|token\w*|scope\w*"
    r"|never|always|guarant\w*|immediate\w*|instant\w*|real-time|rate|limit\w*|quota\w*|paginat\w*|cursor\w*|sorted|sort\w*"
    r"|maxim\w*|minim\w*|default\w*|optional\w*|mandatory|required|must|cannot|unique\w*|case-\w+|webhook\w*|notif\w*|e?-?mail\w*)\b",
    re.IGNORECASE,
)
_COMMON: Final = frozenset(
    word[:_STEM]
    for word in re.findall(
        r"\S+",
        """
        about above across after again against all along also although among and another any are around because been
        before being below between both but can come contain could describe different does during each either every
        exactly first following for from further given has have having here how including inside instead into its
        itself just kind known last like list look made make many matching may mean more most name need next none not
        now object once one only operation other otherwise our out over own part particular per place provide request
        response result return same see set several should show single some specific specify start still such take
        than that the their them then there these they this those through together type under until use used uses
        using value various via was way well were what when where whether which while who whole whose why will with
        within without works would you your give gives get gets read reads find finds fetch retrieve create creates
        add adds change changes update updates delete deletes remove removes replace replaces send sends call calls
        let lets details detail information item items field fields entry entries identify identified identifier
        belong belongs associated related available current currently existing new also called
        """,
    )
)


class Material:
    """What a text may claim.

    Args:
        texts: Everything that the description says about the subject, and the queries of users for it.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        self._text = "\n".join(texts)

    def objection(self, text: str, *, most: int, one_line: bool = False) -> str:
        """Return why a text is rejected; empty if it is accepted.

        Args:
            text: The proposed text.
            most: Longest text allowed, in characters.
            one_line: Whether it must be a single line.
        """
        if not _SHORTEST <= len(text) <= most:
            return f"It has {len(text)} characters; {_SHORTEST} to {most} are allowed."
        if one_line and ("\n" in text or "`" in text):
            return "It has several lines or code marks."
        if _UNSEEN.search(text) or _MARKUP.search(text):
            return "It contains markup or invisible characters."
        if text.count("`") % 2:
            return "A code mark is not closed."
        return self._unfounded(text) or self._foreign(text)

    def _unfounded(self, text: str) -> str:
        """Return the first unfounded name, number, address or promise, or too many new words."""
        for found in (*_ADDRESS.finditer(text), *_NUMBER.finditer(text)):
            if found[0].rstrip(".,;:)") not in self._text:
                return f"Nothing bears out {found[0][:60]!r}."
        for found in _NAME.finditer(text):
            name = next(group for group in found.groups() if group)
            if name.rstrip("./").casefold() not in self._folded:
                return f"Nothing bears out {name[:60]!r}."
        for found in _PROMISES.finditer(text):
            if found[0].casefold()[:_STEM] not in self._folded:
                return f"Nothing bears out {found[0]!r}."
        words = [word for word in map(str.casefold, _WORD.findall(text)) if len(word) > 2]
        new = [word for word in words if word[:_STEM] not in self._stems and word[:_STEM] not in _COMMON]
        return f"Too many words are new: {', '.join(new[:5])}." if len(new) > _NEW * len(words) else ""

    def _foreign(self, text: str) -> str:
        """Return an objection if the text is in another script than the material."""
        known = {_script(sign) for sign in self._text[:5_000] if sign.isalpha()}
        letters = [sign for sign in text if sign.isalpha()]
        foreign = sum(_script(sign) not in known for sign in letters)
        return "It is in another script." if foreign > _FOREIGN * len(letters) else ""

    @cached_property
    def _folded(self) -> str:
        return self._text.casefold()

    @cached_property
    def _stems(self) -> frozenset[str]:
        parted = re.sub(r"(?<=[a-z])(?=[A-Z])|[_\W]+", " ", self._text)
        return frozenset(word[:_STEM] for word in map(str.casefold, _WORD.findall(parted)))


def _script(sign: str) -> str:
    return unicodedata.name(sign, "").partition(" ")[0]
