"""Questions to documents, validated.

Invariant: pure; a question that passes validation can be answered.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, cast, get_args

from thresher.core import InvalidInput
from thresher.knowledge.documents.models import Mode, SearchType
from thresher.knowledge.documents.small_talk import chats
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
        message: Whether it is a person's message, of which other searches judge as well: its words count as those of a
            sentence, and passages that hardly fit are found as well; `relevance` says how probably they answer.
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
    message: bool = False

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
    message: bool = False,
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
        message,
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


def is_small_talk(question: DocumentQuestion) -> bool:
    """Return whether a question is small talk; a search by words alone is taken at its word."""
    return question.search_type != "text" and chats(question.query)
