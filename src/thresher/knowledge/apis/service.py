"""The verbs of the APIs kind; every face calls these, with the same names and arguments.

Invariant: a caller sees the providers of its tenant and its own, and no others; nothing here calls an API.
"""

from __future__ import annotations

from collections.abc import Sequence

from thresher.core import Caller, NotFound, Settings
from thresher.embedding import CrossEncoder
from thresher.jobs import Jobs
from thresher.knowledge.apis.endpoints import Asked, Endpoints
from thresher.knowledge.apis.improving import Improving, Wish, source_of
from thresher.knowledge.apis.listing import Listing, named
from thresher.knowledge.apis.models import (
    DEFAULT_BUDGET,
    DEFAULT_LIMIT,
    EndpointAnswer,
    FoundEndpoints,
    Improvements,
    Provider,
    TimeRange,
    UsageReport,
)
from thresher.knowledge.apis.providers import Providers, wanted_of
from thresher.knowledge.apis.searching import Query, Searcher
from thresher.knowledge.apis.shelf import Shelf
from thresher.knowledge.apis.usage import METRICS, measure_usage, purge_usage
from thresher.knowledge.apis.usage_log import UsageLog
from thresher.llm import Chat
from thresher.search import SearchIndex
from thresher.store import Database


class ApiService:
    """Descriptions of APIs, and answers out of them. One per process.

    Args:
        database: Where they are.
        index: Where operations are found.
        crossing: Reads question and operation together, where a caller asks for it.
        jobs: Takes descriptions over.
        settings: Who may read what.
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
        self._database = database
        self._index = index
        self._crossing = crossing
        self._chat = chat
        self._shelf = Shelf(database)
        self._endpoints = Endpoints(self._shelf)
        self._searcher = Searcher(index, self._shelf, crossing)
        self._log = UsageLog(database, settings)
        self._log_days = settings.log_days
        self._listing = Listing(database, index, jobs)
        self._improving = Improving(database, self._shelf, chat, settings.llm_seconds)
        self._providers = Providers(database, index, jobs, self._shelf, settings)

    async def add(
        self,
        caller: Caller,
        name: str,
        sources: Sequence[str],
        *,
        display_name: str = "",
        aliases: Sequence[str] = (),
        base_url: str = "",
        version: str = "",
        replace: bool = False,
    ) -> Provider:
        """Add descriptions under a name; a small one can be searched at once, a large one in a moment.

        Args:
            caller: Whose provider it will be: the tenant's where it has no user.
            name: Small letters, digits, hyphens, dots, underscores; one that is there gets more versions.
            sources: Files or addresses, one for each version.
            display_name: As people write it.
            aliases: Other words for it in a question.
            base_url: Where its operations are called, where the description does not say.
            version: Label of the only source; without it the file's name or the description tells.
            replace: Whether a version of the same label takes the new source.

        Raises:
            InvalidInput: An argument is none, or a source cannot be read.
            NotFound: There is nothing at a source.
            Conflict: The name, an alias or the version is taken.
            NotAllowed: The caller may not read this source.
            SourceUnavailable: A server does not answer.
        """
        wanted = wanted_of(name, display_name, aliases, base_url)
        await self._providers.add(caller, wanted, sources, version=version, replace=replace)
        return await self.provider(caller, name)

    async def sync(self, caller: Caller, name: str, version: str = "") -> Provider:
        """Read sources again, and take over what has changed; what cannot be read keeps what was.

        Args:
            caller: Who asks.
            name: Name or alias of the provider.
            version: Label of the only one; empty: all.

        Raises:
            NotFound: There is no such provider or version, or nothing at its source.
            NotAllowed: It is the tenant's and the caller a user, or the caller may not read this source.
            InvalidInput: None of the sources can be read.
            SourceUnavailable: No server answers.
        """
        return await self._listing.shown(caller, await self._providers.sync(caller, name, version))

    async def remove(self, caller: Caller, name: str, version: str = "") -> None:
        """Forget a provider, or one of its versions, with everything that was indexed of it.

        Raises:
            NotFound: There is no such provider or version.
            NotAllowed: It is the tenant's, and the caller a user.
        """
        await self._providers.remove(caller, name, version)

    async def set_active(self, caller: Caller, name: str, active: bool) -> Provider:
        """Have search look at a provider from now on, or not.

        Raises:
            NotFound: There is no such provider.
            NotAllowed: It is the tenant's, and the caller a user.
        """
        return await self._listing.shown(caller, await self._providers.set_active(caller, name, active=active))

    async def list_providers(self, caller: Caller, *, include_inactive: bool = True) -> tuple[Provider, ...]:
        """The providers that the caller sees, by name; a user's own hides the tenant's of the same name."""
        return await self._listing.listed(caller, include_inactive=include_inactive)

    async def provider(self, caller: Caller, name: str) -> Provider:
        """One of them, by name or alias.

        Raises:
            NotFound: There is none; the hint offers near ones.
        """
        return await self._listing.shown(caller, named(await self._shelf.directory(caller), name))

    async def index_here(self, caller: Caller, name: str, *, embed: bool = True) -> Provider:
        """Take over in this process what a worker would, and wait for it; for measurements and tests.

        Args:
            caller: Who asks.
            name: Name or alias of the provider.
            embed: Whether operations shall be found by meaning too.

        Raises:
            NotFound: There is no such provider.
            InvalidInput: Nothing of a description can be read.
            EncoderError: The encoder cannot answer.
        """
        return await self._listing.shown(caller, await self._providers.index_here(caller, name, embed=embed))

    async def catch_up(self, caller: Caller) -> list[str]:
        """Have those of the caller's descriptions indexed again, in the background, that another model embedded.

        Returns:
            Their providers' names and labels.

        Raises:
            StoreUnavailable: The database cannot be reached.
        """
        return await self._providers.catch_up(caller)

    async def sees_any(self, caller: Caller) -> bool:
        """Whether the caller sees an active provider; one round trip."""
        return any(head.active and head.versions for head in await self._shelf.directory(caller))

    async def overview(self, caller: Caller) -> str:
        """The active providers in one line, each with its number of operations; empty without any."""
        heads = [head for head in await self._shelf.directory(caller) if head.active]
        return ", ".join(f"{head.name} ({sum(one.operations for one in head.versions):,} operations)" for head in heads)

    async def search(
        self,
        caller: Caller,
        query: str,
        *,
        providers: Sequence[str] = (),
        methods: Sequence[str] = (),
        tags: Sequence[str] = (),
        limit: int = DEFAULT_LIMIT,
        cursor: str = "",
        rerank: bool = False,
        noted: bool = True,
    ) -> FoundEndpoints:
        """Operations that do what is asked for, best first; or, where nothing is searched, what there is.

        Args:
            caller: Who asks.
            query: Any words. An empty one, or one such as `list jira apis`, lists tags, or with `tags` the operations
                that carry them.
            providers: Names or aliases of the only ones that are looked at; none for all active ones.
            methods: The only HTTP methods.
            tags: Of which an operation must have one.
            limit: Operations or tags at most, 1 to 50; a higher one is lowered.
            cursor: Of an answer to the same: what follows.
            rerank: Whether the best are read closely, which takes a few tenths of a second.
            noted: Whether the log of searches gets a row.

        Raises:
            InvalidInput: The limit is out of bounds, a method is none, or the cursor belongs to another question.
            NotFound: There is no such provider, it is switched off, or no operation has such a tag.
            StoreUnavailable: The database cannot be reached.
        """
        asked = Query(query, providers, methods, tags, limit, cursor, rerank)
        answering = self._searcher.search(caller, asked)
        if not noted:
            return await answering
        return await self._log.note_search(caller, query, answering, continued=bool(cursor), providers=providers)

    async def endpoint(
        self,
        caller: Caller,
        endpoint_id: str = "",
        *,
        provider: str = "",
        method: str = "",
        path: str = "",
        operation_id: str = "",
        version: str = "",
        budget: int = DEFAULT_BUDGET,
    ) -> EndpointAnswer:
        """Everything that is needed to call one operation, inside a token budget.

        Args:
            caller: Who asks.
            endpoint_id: As search gives it; else one of the following.
            provider: Name or alias, with `method` and `path`; may be empty where those are enough.
            method: Of any case.
            path: As the description writes it, or as it is called: `/issue/{id}`, `/issue/ABC-1`, a whole address.
            operation_id: As the description writes it.
            version: Label of the only description that is looked at.
            budget: Tokens of `content` at most, 1 to 100,000.

        Raises:
            InvalidInput: It is not said which operation is meant, several go by what is said, or the budget is out of
                bounds.
            NotFound: There is none, its provider is switched off, or its description was not read yet.
        """
        asked = Asked(endpoint_id, provider, method, path, operation_id, version)
        return await self._log.note_read(caller, self._endpoints.explain(caller, asked, budget), provider=provider)

    async def usage(
        self, caller: Caller, provider: str = "", *, time_range: TimeRange = "7d", metrics: Sequence[str] = ()
    ) -> UsageReport:
        """What was searched and read in a period that ends now, and what became of it.

        Args:
            caller: Whose rows: one user's, or for a caller without a user all of the tenant's.
            provider: Name or alias of the only one that is counted; empty for all.
            time_range: `1d`, `7d`, `30d` or `90d`.
            metrics: The only ones that are counted; none for all.

        Raises:
            InvalidInput: The range or a metric is none.
            NotFound: There is no such provider, and nothing is known of an earlier one.
        """
        if not provider:
            return await measure_usage(self._database, caller, "", time_range, metrics)
        try:
            name, unknown = named(await self._shelf.directory(caller), provider).name, None
        except NotFound as error:
            if not provider.isprintable():  # nothing was ever called so, and no store takes it
                raise
            name, unknown = provider, error
        report = await measure_usage(self._database, caller, name, time_range, metrics)
        if unknown is not None and len(report.no_data) == len(set(metrics) or METRICS):
            raise unknown
        return report

    async def purge(self, caller: Caller, older_than: float | None = None) -> int:
        """Remove the caller's rows of the logs of searches and reads; returns how many.

        Args:
            caller: Whose rows.
            older_than: Days; without it those that the settings keep no longer.

        Raises:
            InvalidInput: The age is negative, or out of this world.
        """
        return await purge_usage(self._database, caller, self._log_days if older_than is None else older_than)

    async def settle(self) -> None:
        """Wait until every row of the logs is written; for measurements and tests."""
        await self._log.settle()

    async def improvements(
        self,
        caller: Caller,
        provider: str = "",
        *,
        endpoint_id: str = "",
        version: str = "",
        feedback_types: Sequence[str] = (),
        min_severity: str = "hint",
        limit: int = 50,
        cursor: str = "",
        patch: bool = False,
        chat: Chat | None = None,
    ) -> Improvements:
        """Where a description fails its readers, how good it is, and what would mend it.

        Args:
            caller: Who asks.
            provider: Name or alias; may be empty where the caller sees only one, or names an operation.
            endpoint_id: Only what concerns this operation.
            version: Label of the description; empty for the newest.
            feedback_types: Only these kinds of findings; empty for all.
            min_severity: Nothing milder.
            limit: Findings at most, 1 to 500.
            cursor: Of the last answer to the same question: the next ones.
            patch: With a change of texts and examples that mends what can be mended; takes seconds where much is wrong.
            chat: The caller's own model, which words texts where none is configured.

        Raises:
            NotFound: There is no such provider, version or operation, or its description was not read yet.
            InvalidInput: No provider is named and there are several; or a filter or the cursor is none.
        """
        wish = Wish(
            provider, endpoint_id, version, tuple(feedback_types), min_severity, limit=limit, cursor=cursor, patch=patch
        )
        target = await self._improving.target(caller, wish)
        source = source_of(await self._listing.shown(caller, target.provider), target.version.label) if patch else ""
        return await self._improving.improvements(caller, wish, target, source, chat)

    async def close(self) -> None:
        """End what runs beside the answers."""
        await self._log.settle()
