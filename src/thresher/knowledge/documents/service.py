"""The verbs of the documents kind; every face calls these, with the same names and arguments.

Invariant: what is returned stands verbatim in a document, and never costs more than the budget; a caller sees the
repositories of its tenant and its own, and no others.
"""

from __future__ import annotations

from collections.abc import Callable

from thresher.core import Caller, Settings
from thresher.embedding import CrossEncoder
from thresher.jobs import Jobs
from thresher.knowledge.documents.condensing import Condenser
from thresher.knowledge.documents.models import Origin, Page, Passages, Repository, Retrieval, Skipped
from thresher.knowledge.documents.paging import Pager
from thresher.knowledge.documents.question import ask
from thresher.knowledge.documents.repositories import Repositories
from thresher.knowledge.documents.retrieving import Retriever
from thresher.knowledge.documents.scoring import Scorer
from thresher.knowledge.documents.searching import PASSAGES, Searcher
from thresher.knowledge.documents.shelf import Shelf
from thresher.llm import Chat
from thresher.search import SearchIndex
from thresher.store import Database


class DocumentService:
    """Repositories of documents, and answers out of them. One per process.

    Args:
        database: Where they are.
        index: Where their chunks are found.
        crossing: Reads question and passage together, where a caller asks for it.
        jobs: Fills repositories.
        settings: Who may index what, how much of it.
        chat: The configured model, if there is one.
    """

    def __init__(
        self,
        database: Database,
        index: SearchIndex,
        crossing: CrossEncoder,
        jobs: Jobs,
        settings: Settings,
        chat: Chat | None = None,
    ) -> None:
        shelf = Shelf(database)
        scorer = Scorer(index, shelf)
        self._shelf = shelf
        self._repositories = Repositories(database, index, jobs, shelf, settings, chat)
        self._retriever = Retriever(scorer, shelf, crossing, Condenser(chat, settings.llm_seconds))
        self._searcher = Searcher(scorer, shelf)
        self._pager = Pager(scorer, shelf)

    async def index(self, caller: Caller, name: str, origin: Origin) -> Repository:
        """Index a source under a name, in the background; what is read can be found at once.

        Where the name stands for the same source already, that is brought up to date.

        Args:
            caller: Whose repository it will be: the tenant's where it has no user.
            name: Letters, digits, hyphens, dots, underscores.
            origin: As `origin_of` makes it.

        Returns:
            The repository; `job` is what to follow.

        Raises:
            InvalidInput: It is no name.
            Conflict: The name stands for another source.
            NotAllowed: The caller may not index this source.
        """
        return await self._repositories.index(caller, name, origin)

    async def index_here(
        self, caller: Caller, name: str, origin: Origin, *, progress: Callable[[int, int], None] | None = None
    ) -> Repository:
        """The same in this process, and wait for it; for measurements and tests.

        Args:
            caller: Whose.
            name: Its name.
            origin: Where it comes from.
            progress: Told how much of the present phase is done.
        """

        def report(_phase: str, done: int, total: int) -> None:
            if progress is not None:
                progress(done, total)

        return await self._repositories.index_here(caller, name, origin, report)

    async def refresh(self, caller: Caller, name: str) -> Repository:
        """Take in what has changed at a repository's source, in the background.

        Raises:
            NotFound: There is no such repository.
            NotAllowed: It is the tenant's, and the caller a user.
        """
        return await self._repositories.refresh(caller, name)

    async def catch_up(self, caller: Caller) -> list[str]:
        """Have those of the caller's repositories embedded, in the background, that lack vectors of the running model.

        Returns:
            Their names.

        Raises:
            StoreUnavailable: The database cannot be reached.
        """
        return await self._repositories.catch_up(caller)

    async def list_repositories(self, caller: Caller) -> tuple[Repository, ...]:
        """The repositories that the caller sees, by name."""
        return await self._repositories.listed(caller)

    async def repository(self, caller: Caller, name: str) -> Repository:
        """One of them.

        Raises:
            NotFound: There is none of this name; the hint offers near ones.
        """
        return await self._repositories.get(caller, name)

    async def sees_any(self, caller: Caller) -> bool:
        """Whether the caller sees a repository; one round trip."""
        return bool(await self._shelf.directory(caller))

    async def skipped_files(self, caller: Caller, name: str) -> tuple[Skipped, ...]:
        """Files that the last run did not read, and why; of very many the first.

        Raises:
            NotFound: There is no such repository.
        """
        return await self._repositories.skipped(caller, name)

    async def remove_repository(self, caller: Caller, name: str) -> None:
        """Forget a repository and everything that was indexed of it; its source is left alone.

        Raises:
            NotFound: There is no such repository.
            NotAllowed: It is the tenant's, and the caller a user.
        """
        await self._repositories.remove(caller, name)

    async def set_guide(self, caller: Caller, name: str, text: str | None) -> Repository:
        """Write a repository's guide by hand; None has it built again.

        Raises:
            InvalidInput: The text is empty or too long.
            NotFound: There is no such repository.
            NotAllowed: It is the tenant's, and the caller a user.
        """
        return await self._repositories.set_guide(caller, name, text)

    async def retrieve_document(
        self,
        caller: Caller,
        query: str,
        repository: str,
        *,
        search_type: str = "hybrid",
        budget: int = 8000,
        context: str | None = None,
        cursor: str | None = None,
        rerank: bool = False,
        document: str | None = None,
        mode: str = "extractive",
        chat: Chat | None = None,
    ) -> Retrieval:
        """The text that answers a question: the best document, whole, or what of it fits into the budget.

        Args:
            caller: Who asks.
            query: The question, in any words.
            repository: Name of the repository.
            search_type: `hybrid`, `text` or `semantic`.
            budget: Tokens at most.
            context: What the conversation is about.
            cursor: Of an answer to the same question: what it left out.
            rerank: Whether the cross-encoder reads the best candidates too; slower.
            document: A path: only this document is asked.
            mode: `extractive`, or `abstractive` where a model is at hand.
            chat: The model of the caller's client, for where none is configured.

        Raises:
            InvalidInput: An argument is out of bounds, or the cursor belongs to another question.
            NotFound: There is no such repository or document.
            StoreUnavailable: The database cannot be reached.
        """
        question = ask(
            query,
            search_type=search_type,
            budget=budget,
            context=context,
            cursor=cursor,
            rerank=rerank,
            document=document,
            mode=mode,
            chat=chat,
        )
        return await self._retriever.retrieve(caller, repository, question)

    async def search_documents(
        self,
        caller: Caller,
        query: str,
        repository: str | None = None,
        *,
        search_type: str = "hybrid",
        limit: int = PASSAGES,
        cursor: str | None = None,
    ) -> Passages:
        """Ranked passages of one repository, or of those that the query means.

        All repositories are scored together; which of them are searched, and why, stands in the answer.

        Args:
            caller: Who asks.
            query: Any words.
            repository: Name of the only one that is asked; else they are chosen.
            search_type: `hybrid`, `text` or `semantic`.
            limit: Passages at most, 1 to 50, of all repositories together.
            cursor: Of an answer to the same words: the next ones.

        Raises:
            InvalidInput: An argument is out of bounds, or the cursor belongs to another search.
            NotFound: There is no such repository.
            StoreUnavailable: The database cannot be reached.
        """
        question = ask(query, search_type=search_type, cursor=cursor)
        return await self._searcher.search(caller, repository, question, limit)

    async def read_document(
        self,
        caller: Caller,
        repository: str,
        path: str,
        *,
        lines: tuple[int, int] | str | None = None,
        section: str | None = None,
        cursor: str | None = None,
        budget: int = 8000,
    ) -> Page:
        """A document page by page, or some lines or a section of it, verbatim.

        Args:
            caller: Who asks.
            repository: Name of the repository.
            path: Of the document.
            lines: First and last, or `210-233`, `210-`, `210`.
            section: A heading, or the last ones of its path with ` > ` between them; of code a name.
            cursor: Of the page before.
            budget: Tokens at most.

        Raises:
            InvalidInput: The lines or the cursor are none, or two of the three were given.
            NotFound: There is no such repository, document, line or section; the hint offers near ones.
            StoreUnavailable: The database cannot be reached.
        """
        return await self._pager.read(
            caller, repository, path, lines=lines, section=section, cursor=cursor, budget=budget
        )
