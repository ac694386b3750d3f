"""The verbs of the documents kind; every face calls these, with the same names and arguments.

Invariant: returned text is verbatim from a document, and never exceeds the budget; a caller sees the repositories of
its tenant and its own, and no others.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from thresher.core import Caller, NotAllowed, Settings
from thresher.embedding import CrossEncoder
from thresher.jobs import Jobs
from thresher.knowledge.documents.answers.abstracts import Condenser
from thresher.knowledge.documents.answers.multi_document import MultiDocumentRetriever, MultiRetrieval
from thresher.knowledge.documents.answers.pages import Pager
from thresher.knowledge.documents.answers.retrieval import Retriever
from thresher.knowledge.documents.answers.scoring import Scorer
from thresher.knowledge.documents.answers.search import PASSAGES, PassageSearcher
from thresher.knowledge.documents.cache import DocumentCache
from thresher.knowledge.documents.following.follower import Follower
from thresher.knowledge.documents.following.webhooks import Webhooks
from thresher.knowledge.documents.models import (
    DocumentPage,
    Origin,
    Passages,
    Repository,
    Retrieval,
    Skipped,
    Upload,
    Webhook,
)
from thresher.knowledge.documents.question import checked_question
from thresher.knowledge.documents.repositories import Repositories
from thresher.knowledge.documents.sources import origin_of
from thresher.llm import Chat
from thresher.search import SearchIndex
from thresher.store import Database, SecretBox


class DocumentService:
    """Repositories of documents, and answers from them. One instance per process.

    Args:
        database: The database of the documents.
        index: The search index of their chunks.
        crossing: Reads question and passage together, if a caller requests it.
        jobs: The queue of the jobs that fill repositories.
        settings: Who may index what, and how much of it.
        chat: The configured model; None for none.
        secrets: Holds the key of the installation, for webhooks; None: there are none.
    """

    def __init__(
        self,
        database: Database,
        index: SearchIndex,
        crossing: CrossEncoder,
        jobs: Jobs,
        settings: Settings,
        chat: Chat | None = None,
        *,
        secrets: SecretBox | None = None,
    ) -> None:
        cache = DocumentCache(database)
        self._webhooks = None if secrets is None else Webhooks(database, secrets)
        scorer = Scorer(index, cache)
        self._cache = cache
        self._repositories = Repositories(database, index, jobs, cache, settings, chat)
        self._follower = Follower(database, settings, self._repositories.read_again)
        self._retriever = Retriever(scorer, cache, crossing, Condenser(chat, settings.llm_seconds))
        self._multi = MultiDocumentRetriever(scorer, cache)
        self._searcher = PassageSearcher(scorer, cache)
        self._pager = Pager(scorer, cache)

    async def index(self, caller: Caller, name: str, origin: Origin) -> Repository:
        """Index a source under a name, in the background; a file can be found as soon as it is read.

        If the name already stands for the same source, that repository is brought up to date.

        Args:
            caller: The owner of the repository: its user, or the tenant if there is no user.
            name: Letters, digits, hyphens, dots, underscores.
            origin: The source, made by `origin_of`.

        Returns:
            The repository; `job` is the job to follow.

        Raises:
            InvalidInput: The name is not valid.
            Conflict: The name stands for another source.
            NotAllowed: The caller may not index this source.
        """
        return await self._repositories.index(caller, name, origin)

    async def index_source(
        self,
        caller: Caller,
        name: str,
        source: str,
        *,
        ref: str = "",
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
    ) -> Repository:
        """Index what a person names; see `origin_of` for the arguments and `index` for the rest.

        Raises:
            InvalidInput: The name, the source or a pattern is not valid.
            NotFound: There is nothing at this path.
            Conflict: The name stands for another source.
            NotAllowed: The caller may not index this source.
        """
        # Finding out where a source lies accesses the disk.
        origin = await asyncio.to_thread(origin_of, source, ref=ref, include=include, exclude=exclude, caller=caller)
        return await self.index(caller, name, origin)

    async def index_here(
        self, caller: Caller, name: str, origin: Origin, *, progress: Callable[[int, int], None] | None = None
    ) -> Repository:
        """Index a source in this process and wait for it; for measurements and tests.

        Args:
            caller: The owner of the repository.
            name: Its name.
            origin: The source.
            progress: Called with (done, total) of the current phase.
        """

        def report(_phase: str, done: int, total: int) -> None:
            if progress is not None:
                progress(done, total)

        return await self._repositories.index_here(caller, name, origin, report)

    async def upload(self, caller: Caller, name: str, path: str, data: bytes) -> Upload:
        """Store a file, or the files of an archive, in a repository of uploads; it is indexed in the background.

        Args:
            caller: The owner of the repository.
            name: Its name; a repository that does not exist is added.
            path: Path of the file in the repository, or the name of the archive, whose files keep their own paths. What
                was there under these paths, or came from an archive of this name, is replaced.
            data: The bytes.

        Raises:
            InvalidInput: The name, the path or the upload is not valid.
            Conflict: The repository is indexed from a source.
            NotAllowed: The repository belongs to the tenant, and the caller is a user.
        """
        return await self._repositories.upload(caller, name, path, data)

    async def remove_upload(self, caller: Caller, name: str, path: str) -> Upload:
        """Remove an uploaded file, all files of an archive, or all below a folder.

        Raises:
            InvalidInput: The path is not valid.
            NotFound: There is no such repository or upload.
            Conflict: The repository is indexed from a source.
            NotAllowed: The repository belongs to the tenant, and the caller is a user.
        """
        return await self._repositories.remove_upload(caller, name, path)

    async def refresh(self, caller: Caller, name: str) -> Repository:
        """Read what has changed at a repository's source, in the background.

        Raises:
            NotFound: There is no such repository.
            NotAllowed: The repository belongs to the tenant, and the caller is a user.
        """
        return await self._repositories.refresh(caller, name)

    async def make_webhook(self, caller: Caller, name: str) -> Webhook:
        """Give a repository a webhook, in place of an earlier one.

        Raises:
            NotFound: There is no such repository.
            NotAllowed: The repository belongs to the tenant, and the caller is a user.
        """
        return await self._repositories.make_webhook(caller, name, self._signed())

    async def remove_webhook(self, caller: Caller, name: str) -> None:
        """Take a repository's webhook away; calls of it are refused at once.

        Raises:
            NotFound: There is no such repository.
            NotAllowed: The repository belongs to the tenant, and the caller is a user.
        """
        await self._repositories.remove_webhook(caller, name, self._signed())

    async def refresh_signed(self, name: str, webhook: str, at: str, signature: str, body: bytes) -> int:
        """Have the repository indexed again that a signed call is about; return the job. See `Webhooks.caller`.

        Raises:
            AccessDenied: The call is not accepted.
        """
        caller = await self._signed().caller(name, webhook, at, signature, body)
        return (await self.refresh(caller, name)).job

    def _signed(self) -> Webhooks:
        if self._webhooks is None:
            raise NotAllowed("There are no webhooks here.", hint="Refresh the repository with a key.")
        return self._webhooks

    async def follow_sources(self) -> None:
        """Index sources again by themselves when they have changed, those of all tenants; runs until cancelled."""
        await self._follower.run()

    async def set_schedule(self, caller: Caller, name: str, seconds: int | None) -> Repository:
        """Say how often a repository's source is checked for changes.

        Args:
            caller: The owner of the repository.
            name: Its name.
            seconds: The time between two checks; None for the setting, with folders watched; 0 for never.

        Raises:
            InvalidInput: The time is less than 10 seconds.
            NotFound: There is no such repository.
            NotAllowed: The repository belongs to the tenant, and the caller is a user.
        """
        return await self._repositories.set_schedule(caller, name, seconds)

    async def catch_up(self, caller: Caller) -> list[str]:
        """Embed the caller's repositories that lack vectors of the current model, in the background.

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
        """One of the repositories that the caller sees.

        Raises:
            NotFound: There is no such repository; the hint offers near ones.
        """
        return await self._repositories.get(caller, name)

    async def sees_any(self, caller: Caller) -> bool:
        """Whether the caller sees any repository; one round trip."""
        return bool(await self._cache.directory(caller))

    async def skipped_files(self, caller: Caller, name: str) -> tuple[Skipped, ...]:
        """Files that the last run did not read, and why; if there are very many, the first of them.

        Raises:
            NotFound: There is no such repository.
        """
        return await self._repositories.skipped(caller, name)

    async def remove_repository(self, caller: Caller, name: str) -> None:
        """Remove a repository and everything that was indexed of it; its source is not changed.

        Raises:
            NotFound: There is no such repository.
            NotAllowed: The repository belongs to the tenant, and the caller is a user.
        """
        await self._repositories.remove(caller, name)

    async def set_guide(self, caller: Caller, name: str, text: str | None) -> Repository:
        """Write a repository's guide by hand; None builds it again.

        Raises:
            InvalidInput: The text is empty or too long.
            NotFound: There is no such repository.
            NotAllowed: The repository belongs to the tenant, and the caller is a user.
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
        """The text that answers a question: the best document, whole, or as much of it as fits the budget.

        Args:
            caller: The tenant and user whose repositories are searched.
            query: The question, in any words.
            repository: Name of the repository.
            search_type: `hybrid`, `text` or `semantic`.
            budget: Most tokens.
            context: What the conversation is about.
            cursor: Cursor of an answer to the same question, to fetch what it left out.
            rerank: Whether the cross-encoder also reads the best candidates; slower.
            document: Path of the only document to use.
            mode: `extractive`, or `abstractive` if a model is available.
            chat: The model of the caller's client, used if none is configured.

        Raises:
            InvalidInput: An argument is out of bounds.
            InvalidCursor: The cursor belongs to another question.
            NotFound: There is no such repository or document.
            StoreUnavailable: The database cannot be reached.
        """
        question = checked_question(
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

    async def retrieve_documents(
        self,
        caller: Caller,
        query: str,
        repositories: Sequence[str] = (),
        documents: Sequence[str] = (),
        *,
        budget: int = 8000,
        search_type: str = "hybrid",
    ) -> MultiRetrieval:
        """Passages of several documents in one budget, each under its document.

        Each document that the question is about gets its best passage before any gets a second.

        Args:
            caller: The tenant and user whose repositories are searched.
            query: The question, in any words; documents and repositories that it names are chosen.
            repositories: Names of the only repositories to use.
            documents: Paths of the only documents to use.
            budget: Most tokens.
            search_type: `hybrid`, `text` or `semantic`.

        Raises:
            InvalidInput: An argument is out of bounds.
            NotFound: There is no such repository or document.
            StoreUnavailable: The database cannot be reached.
        """
        question = checked_question(query, search_type=search_type, budget=budget)
        return await self._multi.retrieve(caller, repositories, documents, question)

    async def search_documents(
        self,
        caller: Caller,
        query: str,
        repository: str | None = None,
        *,
        search_type: str = "hybrid",
        limit: int = PASSAGES,
        cursor: str | None = None,
        message: bool = False,
    ) -> Passages:
        """Ranked passages of one repository, or of those that the query is about.

        All repositories are scored together; the answer names those that were searched, and why.

        Args:
            caller: The tenant and user whose repositories are searched.
            query: Any words.
            repository: Name of the only repository to search; by default they are chosen.
            search_type: `hybrid`, `text` or `semantic`.
            limit: Most passages, 1 to 50, of all repositories together.
            cursor: Cursor of an answer to the same words, to fetch the next passages.
            message: Whether the words are a person's message, and the caller judges by `relevance` what fits.

        Raises:
            InvalidInput: An argument is out of bounds.
            InvalidCursor: The cursor belongs to another search.
            NotFound: There is no such repository.
            StoreUnavailable: The database cannot be reached.
        """
        question = checked_question(query, search_type=search_type, cursor=cursor, message=message)
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
    ) -> DocumentPage:
        """A document page by page, or some lines or a section of it, verbatim.

        Args:
            caller: The tenant and user whose repositories are read.
            repository: Name of the repository.
            path: Path of the document.
            lines: First and last, or `210-233`, `210-`, `210`.
            section: A heading, or the last headings of its path separated by ` > `; for code a name.
            cursor: Cursor of the previous page.
            budget: Most tokens.

        Raises:
            InvalidInput: The lines are not valid, or two of the three are given.
            InvalidCursor: The cursor belongs to another document, or this one has changed.
            NotFound: There is no such repository, document, line or section; the hint offers near ones.
            StoreUnavailable: The database cannot be reached.
        """
        return await self._pager.read(
            caller, repository, path, lines=lines, section=section, cursor=cursor, budget=budget
        )
