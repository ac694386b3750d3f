"""Questions to documents, validated.

Invariant: pure; a question that passes validation can be answered.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, cast, get_args

from thresher.core import InvalidInput, LazyPattern
from thresher.knowledge.documents.models import Mode, SearchType
from thresher.llm import Chat

LEAST_BUDGET: Final = 1
MOST_BUDGET: Final = 200_000
"""Tokens; models cannot read more."""
_LONGEST: Final = 20_000
"""Most characters of a question or its context: far more than the encoder reads."""


@dataclass(frozen=True, slots=True)
class DocumentQuestion:
    """A question to repositories.

    Attributes:
        query: The question.
        search_type: The search arms that decide.
        budget: Most tokens of the answer.
        context: What the conversation is about; may be empty.
        cursor: Where an earlier answer continues; may be empty.
        rerank: Whether the cross-encoder takes part.
        document: Path of the only document to use; empty for all.
        mode: How the answer is made.
        chat: The model of the caller's client.
    """

    query: str
    search_type: SearchType = "hybrid"
    budget: int = 8000
    context: str = ""
    cursor: str = ""
    rerank: bool = False
    document: str = ""
    mode: Mode = "extractive"
    chat: Chat | None = None

    def words(self, repository: str) -> tuple[str, ...]:
        """The words that must be the same when a cursor is used."""
        return repository, self.query, self.search_type, self.context


def checked_question(
    query: str,
    *,
    search_type: str,
    budget: int = 8000,
    context: str | None = None,
    cursor: str | None = None,
    rerank: bool = False,
    document: str | None = None,
    mode: str = "extractive",
    chat: Chat | None = None,
) -> DocumentQuestion:
    """Validate a question.

    Raises:
        InvalidInput: The query is blank, it or the context is too long, the budget is out of bounds, or the search type
            or
            mode is unknown.
    """
    if not query.strip():
        raise InvalidInput("The query is empty.", hint="Ask a question, or give some words.")
    return DocumentQuestion(
        _bounded(query, "query"),
        search_type_of(search_type),
        checked_budget(budget),
        _bounded(context or "", "context"),
        cursor or "",
        rerank,
        document or "",
        cast("Mode", _one_of(mode, get_args(Mode), "mode")),
        chat,
    )


def _bounded(text: str, what: str) -> str:
    if len(text) > _LONGEST:
        raise InvalidInput(
            f"The {what} has {len(text):,} characters.", hint=f"Give up to {_LONGEST:,}: the question, not a document."
        )
    return text


def checked_budget(budget: int) -> int:
    """Return the budget.

    Raises:
        InvalidInput: It is out of bounds.
    """
    if not LEAST_BUDGET <= budget <= MOST_BUDGET:
        raise InvalidInput(f"{budget} is not a valid budget.", hint=f"Give {LEAST_BUDGET} to {MOST_BUDGET:,} tokens.")
    return budget


def search_type_of(name: str) -> SearchType:
    """A search type by its name.

    Raises:
        InvalidInput: There is no search type of this name.
    """
    return cast("SearchType", _one_of(name, get_args(SearchType), "search type"))


def _one_of(name: str, allowed: tuple[str, ...], what: str) -> str:
    if name not in allowed:
        raise InvalidInput(
            f"'{name}' is not a valid {what}.", hint=f"Choose {', '.join(allowed[:-1])} or {allowed[-1]}."
        )
    return name


SMALL_TALK: Final = "Small talk needs no documents. If its words are meant, search them with search_type=text."
_LONGEST_TALK: Final = 15
"""Words; a longer message has something to ask besides."""
_TALK_CHARACTERS: Final = 300
_TALK: Final = frozenset(
    """hi hello hey hiya howdy greetings thanks thank thx ty cheers bye goodbye ciao ok okay yes yep yeah no nope sure
    great perfect cool nice awesome wonderful excellent brilliant fantastic sorry welcome please lol haha hmm wow sweet
    super""".split()  # noqa: SIM905 - a text is easier to read
)
"""Words that greet, thank, agree or take leave."""
_AROUND: Final = frozenset(
    """a a's again all alright am and anyway are at awfully been believe best bit both but by can day did do does doing
    done enough evening everyone exactly fine folks for found friend friends from fun funny getting glad go going
    good got guys have haven't help helped helpful helps here i i'll i'm is isn't it it's job just kind know later
    let's life lot love lots luck made makes me mind morning much my myself need needed never nevermind night not
    now of off oh on one out problem quick quickly quite really right saved see seen so soon talk tea that that's
    the then there they this thought time to today tomorrow too tonight totally truly try understand understood
    until useful very was way week weekend well what what's with won't work worked works worry would you you'll
    you're you've your yours""".split()  # noqa: SIM905 - as above
)
"""Words that may stand around them; what else a message says may be a question."""
_POLITE: Final = frozenset({"no", "ok", "okay", "please", "sorry", "sure", "sweet", "super", "welcome", "yes"})
"""Words that also go with a request."""
_REQUESTED: Final = frozenset(
    {"day", "evening", "job", "life", "morning", "night", "off", "tea", "time", "week", "weekend", "work"}
)
"""Words around them that documents may be about."""
_ASKS: Final = LazyPattern(
    r"\b(?:(?:am|can|could|did|do|may|must|shall|should|will|would)\s+i|what(?:\s+is|\s+was|['\u2019]s))\b",
    re.IGNORECASE,
)
_TALK_WORD: Final = re.compile(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)?")
_PHRASE: Final = LazyPattern(
    r"\s*(?:please\s+)?(?:(?:can|could|would|will)\s+you\s+)?(?:"
    r"how\s+(?:are|is|was|were|have)\s+(?:you|things|it|life|everything|your\s+(?:day|evening|morning|night|week|weekend))(?:\s+(?:going|doing|been|today))*"
    r"|(?:who|what)\s+are\s+you|who\s+(?:made|built|created)\s+you|what\s+can\s+you\s+do(?:\s+for\s+me)?"
    r"|what(?:'s|\u2019s|\s+is)\s+(?:up|your\s+name)|are\s+you\s+(?:still\s+)?(?:there|real|human|sure|ok(?:ay)?"
    r"|an?\s+(?:\w+\s+)?(?:human|person|robot|bot|machine|ai))(?:\s+or\s+an?\s+\w+)?"
    r"|tell\s+(?:me|us)\s+(?:an?|another|one\s+more)\s+(?:\w+\s+)?(?:joke|riddle|story)|make\s+me\s+(?:laugh|smile)"
    r"|tell\s+me\s+something\s+(?:funny|interesting|nice|new)|sing\s+(?:me\s+)?a\s+song"
    r"|i(?:'m|\u2019m|\s+am)\s+(?:so\s+|very\s+|a\s+bit\s+)?(?:bored|tired|happy|sad|hungry|back|lonely)"
    r"|(?:have\s+a\s+)?(?:good|nice|great|lovely|well)\s+(?:job|work|done|morning|afternoon|evening|night|day|weekend|one)"
    r"|(?:see|talk\s+to|catch)\s+you(?:\s+\w+){0,2}|never\s*mind|try\s+again|go\s+ahead"
    r"|say\s+(?:that|it)\s+again|i\s+(?:love|hate|like)\s+you"
    r")(?:\s+(?:today|now|again|then|there|please|all|so\s+far))*\W*",
    re.IGNORECASE,
)
"""Whole messages to a partner in conversation."""


def is_small_talk(question: DocumentQuestion) -> bool:
    """Return whether a question is small talk; a search by words alone is taken at its word."""
    return question.search_type != "text" and chats(question.query)


def chats(message: str) -> bool:
    """Return whether a message greets, thanks, agrees or chats, or has no word at all, and asks for nothing."""
    if len(message) > _TALK_CHARACTERS:
        return False
    if not any(character.isalnum() for character in message):
        return True
    words = [word.replace("\u2019", "'").lower() for word in _TALK_WORD.findall(message)]
    if not words or len(words) > _LONGEST_TALK or any(character.isdecimal() for character in message):
        return False
    if _PHRASE.fullmatch(message):
        return True
    if words[0].startswith("what") or _ASKS.search(message):
        return False
    cues = _TALK - _POLITE if any(word in _REQUESTED for word in words) else _TALK
    return any(word in cues for word in words) and all(word in _TALK or word in _AROUND for word in words)
