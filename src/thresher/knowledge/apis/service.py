"""The operations of the APIs kind; every face calls these with the same names and arguments.

Invariant: a caller sees its own providers and those of its tenant only; an API is called by `call` alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from thresher.audit import AuditLog
from thresher.core import Caller, NotFound, Settings
from thresher.embedding import CrossEncoder
from thresher.jobs import Jobs
from thresher.knowledge.apis.cache import DescriptionCache
from thresher.knowledge.apis.calls.access import AccessStore
from thresher.knowledge.apis.calls.caller import CallRequest, EndpointCaller
from thresher.knowledge.apis.calls.models import ApiReply
from thresher.knowledge.apis.endpoints import EndpointReference, Endpoints
from thresher.knowledge.apis.improvements import ImprovementFinder, ImprovementRequest, version_source
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
from thresher.knowledge.apis.naming import find_provider
from thresher.knowledge.apis.providers import Providers, provider_fields
from thresher.knowledge.apis.rendering import PatchForm, improvements_markdown, in_form
from thresher.knowledge.apis.search.query import named_providers
from thresher.knowledge.apis.search.searcher import Searcher, SearchQuery
from thresher.knowledge.apis.usage import METRICS, measure_usage, purge_usage
from thresher.knowledge.apis.usage_log import UsageLog
from thresher.llm import Chat
from thresher.search import SearchIndex
from thresher.store import Database, SecretBox


class ApiService:
    """Descriptions of APIs and answers from them; one per process.

    Args:
        database: Where descriptions are stored.
        index: Where operations are found.
        crossing: Cross-encoder for callers that ask for reranking.
        jobs: Queue of the jobs that import descriptions.
        settings: Access to sources, and the log's retention.
        secrets: Seals credentials.
        audit: Records every call of an operation.
        chat: The configured model, if any.

    Attributes:
        access: Hosts that calls may reach, and credentials.
    """

    def __init__(
        self,
        database: Database,
        index: SearchIndex,
        crossing: CrossEncoder,
        jobs: Jobs,
        settings: Settings,
        secrets: SecretBox,
        audit: AuditLog,
        chat: Chat | None = None,
    ) -> None:
        self._database = database
        self._index = index
        self._crossing = crossing
        self._chat = chat
        self._cache = DescriptionCache(database)
        self._endpoints = Endpoints(self._cache)
        self.access = AccessStore(database, self._cache, secrets, settings)
        self._caller = EndpointCaller(self._cache, self._endpoints, self.access, audit)
        self._searcher = Searcher(index, self._cache, crossing)
        self._log = UsageLog(database, settings)
        self._log_days = settings.log_days
        self._improvements = ImprovementFinder(database, self._cache, chat, settings.llm_seconds)
        self._providers = Providers(database, index, jobs, self._cache, settings)

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
        """Add descriptions under a name; a small one can be searched at once, a large one after a moment.

        Args:
            caller: The owner; the tenant if the caller has no user.
            name: Lower-case letters, digits, hyphens, dots and underscores; an existing provider gets more versions.
                Empty to take it from the title of the description.
            sources: Files or URLs, one for each version.
            display_name: Its name as people write it.
            aliases: Other names for it in a question.
            base_url: Address of its operations if the description names none.
            version: Label if there is one source; by default taken from the file name or the description.
            replace: Whether an existing version with this label takes the new source.

        Raises:
            InvalidInput: An argument is not valid, or a source cannot be read.
            NotFound: A source does not exist.
            Conflict: The name, an alias or the version is taken.
            NotAllowed: The caller may not read a source.
            SourceUnavailable: A server does not answer.
        """
        wanted = provider_fields(name, display_name, aliases, base_url)
        added = await self._providers.add(caller, wanted, sources, version=version, replace=replace)
        return await self.provider(caller, added)

    async def sync(self, caller: Caller, name: str, version: str = "") -> Provider:
        """Read sources again and import what has changed; a source that cannot be read keeps its last good content.

        Args:
            caller: The tenant and user.
            name: Name or alias of the provider.
            version: Label of the only version to sync; empty for all.

        Raises:
            NotFound: There is no such provider, version or source.
            NotAllowed: A user may not change the tenant's provider, or the caller may not read the source.
            InvalidInput: None of the sources can be read.
            SourceUnavailable: No server answers.
        """
        return await self._providers.show(caller, await self._providers.sync(caller, name, version))

    async def follow_sources(self) -> None:
        """Import what has changed at the sources of all tenants by itself; runs until cancelled."""
        await self._providers.follow_sources()

    async def set_schedule(self, caller: Caller, name: str, seconds: int | None) -> Provider:
        """Set how often the sources of a provider are checked for changes.

        Args:
            caller: The owner of the provider.
            name: Its name or alias.
            seconds: The time between two checks; None for the setting; 0 for never.

        Raises:
            InvalidInput: The time is less than 10 seconds.
            NotFound: There is no such provider.
            NotAllowed: A user may not change the tenant's provider.
        """
        return await self._providers.show(caller, await self._providers.set_schedule(caller, name, seconds))

    async def remove(self, caller: Caller, name: str, version: str = "") -> None:
        """Remove a provider or one of its versions, with everything indexed for it.

        Raises:
            NotFound: There is no such provider or version.
            NotAllowed: A user may not change the tenant's provider.
        """
        await self._providers.remove(caller, name, version)

    async def set_active(self, caller: Caller, name: str, active: bool) -> Provider:
        """Include a provider in search, or exclude it.

        Raises:
            NotFound: There is no such provider.
            NotAllowed: A user may not change the tenant's provider.
        """
        return await self._providers.show(caller, await self._providers.set_active(caller, name, active=active))

    async def list_providers(self, caller: Caller, *, include_inactive: bool = True) -> tuple[Provider, ...]:
        """Return the providers that the caller sees, by name; a user's own hides the tenant's with the same name."""
        return await self._providers.list_providers(caller, include_inactive=include_inactive)

    async def provider(self, caller: Caller, name: str) -> Provider:
        """Return a provider by name or alias.

        Raises:
            NotFound: There is none; the hint suggests similar names.
        """
        return await self._providers.show(caller, find_provider(await self._cache.directory(caller), name))

    async def index_here(self, caller: Caller, name: str, *, embed: bool = True) -> Provider:
        """Do the work of a background import in this process; for benchmarks and tests.

        Args:
            caller: The tenant and user.
            name: Name or alias of the provider.
            embed: Whether to embed operations as well.

        Raises:
            NotFound: There is no such provider.
            InvalidInput: Nothing in a description can be read.
            EncoderError: The encoder cannot answer.
        """
        return await self._providers.show(caller, await self._providers.index_here(caller, name, embed=embed))

    async def catch_up(self, caller: Caller) -> list[str]:
        """Reindex, in the background, the caller's descriptions that another model embedded.

        Returns:
            Names of the providers with labels of the versions.

        Raises:
            StoreUnavailable: The database cannot be reached.
        """
        return await self._providers.catch_up(caller)

    async def sees_any(self, caller: Caller) -> bool:
        """Return whether the caller sees an active provider; one round trip."""
        return any(head.active and head.versions for head in await self._cache.directory(caller))

    async def names_any(self, caller: Caller, text: str) -> bool:
        """Return whether a text names an active provider that the caller sees, by any of its names."""
        heads = [head for head in await self._cache.directory(caller) if head.active and head.versions]
        return bool(named_providers(text, heads))

    async def overview(self, caller: Caller) -> str:
        """Return the active providers with their number of operations, in one line; empty if there are none."""
        heads = [head for head in await self._cache.directory(caller) if head.active]
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
        """Return matching operations, best first, or list tags and operations if nothing is searched.

        Args:
            caller: The tenant and user.
            query: Any words. An empty query, or one such as `list jira apis`, lists tags; with `tags` it lists their
                operations.
            providers: Names or aliases of the only providers to search; empty for all active ones.
            methods: The only HTTP methods.
            tags: An operation must have one of these.
            limit: Maximum operations or tags, 1 to 50; a higher value is lowered.
            cursor: Cursor of an answer to the same query.
            rerank: Whether the cross-encoder reorders the best, which takes a few tenths of a second.
            noted: Whether to log the search.

        Raises:
            InvalidInput: The limit or a method is not valid.
            InvalidCursor: The cursor belongs to another query.
            NotFound: There is no such provider, it is inactive, or no operation has such a tag.
            StoreUnavailable: The database cannot be reached.
        """
        search = SearchQuery(query, providers, methods, tags, limit, cursor, rerank)
        answering = self._searcher.search(caller, search)
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
        """Explain how to call one operation, within a token budget.

        Args:
            caller: The tenant and user.
            endpoint_id: Id as search returns it; or give the following instead.
            provider: Name or alias, with `method` and `path`; may be empty if those are enough.
            method: In any case.
            path: As the description writes it, or as it is called: `/issue/{id}`, `/issue/ABC-1`, a whole URL.
            operation_id: As the description writes it.
            version: Label of the only version to look in.
            budget: Maximum tokens of `content`, 1 to 100,000.

        Raises:
            InvalidInput: The operation is not named or ambiguous, or the budget is out of range.
            NotFound: There is no such operation, its provider is inactive, or its description was not read yet.
        """
        reference = EndpointReference(endpoint_id, provider, method, path, operation_id, version)
        return await self._log.note_read(caller, self._endpoints.explain(caller, reference, budget), provider=provider)

    async def call(self, caller: Caller, request: CallRequest) -> ApiReply:
        """Call one operation, or show the request as it would be sent.

        Raises:
            InvalidInput: The operation is ambiguous, or arguments do not fit; nothing was sent.
            NotFound: There is no such operation, its provider is inactive, or its description was not read yet.
            NotAllowed: Nobody has allowed the host, it is not public, or a credential is missing; nothing was sent.
            SourceUnavailable: The server cannot be reached, or is too slow.
        """
        return await self._caller.call(caller, request)

    async def usage(
        self, caller: Caller, provider: str = "", *, time_range: TimeRange = "7d", metrics: Sequence[str] = ()
    ) -> UsageReport:
        """Count the searches and reads of a period that ends now.

        Args:
            caller: One user's rows; for a caller without a user, all rows of the tenant.
            provider: Name or alias of the only provider to count; empty for all.
            time_range: `1d`, `7d`, `30d` or `90d`.
            metrics: The only metrics to count; empty for all.

        Raises:
            InvalidInput: The range or a metric is not valid.
            NotFound: There is no such provider, and the log has no rows of a removed one.
        """
        if not provider:
            return await measure_usage(self._database, caller, "", time_range, metrics)
        try:
            name, unknown = find_provider(await self._cache.directory(caller), provider).name, None
        except NotFound as error:
            if not provider.isprintable():  # no provider can have this name, and the database does not accept it
                raise
            name, unknown = provider, error
        report = await measure_usage(self._database, caller, name, time_range, metrics)
        if unknown is not None and len(report.no_data) == len(set(metrics) or METRICS):
            raise unknown
        return report

    async def purge(self, caller: Caller, older_than: float | None = None) -> int:
        """Delete the caller's rows from the logs of searches and reads; return their number.

        Args:
            caller: The owner of the rows.
            older_than: Minimum age in days; by default the retention time in the settings.

        Raises:
            InvalidInput: The age is negative or too large.
        """
        return await purge_usage(self._database, caller, self._log_days if older_than is None else older_than)

    async def settle(self) -> None:
        """Wait until all log rows are written; for benchmarks and tests."""
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
        """Return findings about a description, its score, and optionally a patch.

        Args:
            caller: The tenant and user.
            provider: Name or alias; may be empty if the caller sees only one provider or names an operation.
            endpoint_id: Id of the only operation to review.
            version: Label of the version; empty for the newest.
            feedback_types: The only kinds of findings; empty for all.
            min_severity: The lowest severity to include.
            limit: Maximum findings, 1 to 500.
            cursor: Cursor of the previous answer to the same request.
            patch: Whether to make a patch of texts and examples; takes seconds for a poor description.
            chat: The caller's own model, which words texts if none is configured.

        Raises:
            NotFound: There is no such provider, version or operation, or its description was not read yet.
            InvalidInput: No provider is named and there are several, or a filter is not valid.
            InvalidCursor: The cursor belongs to another request, or the description has changed.
        """
        request = ImprovementRequest(
            provider, endpoint_id, version, tuple(feedback_types), min_severity, limit=limit, cursor=cursor, patch=patch
        )
        target = await self._improvements.target(caller, request)
        source = (
            version_source(await self._providers.show(caller, target.provider), target.version.label) if patch else ""
        )
        return await self._improvements.improvements(caller, request, target, source, chat)

    def in_form(self, found: Improvements, patch: PatchForm, most: int, *, markdown: bool) -> Improvements:
        """Return improvements with their patch in one form, and as Markdown if requested.

        Args:
            found: The improvements.
            patch: `overlay` or `diff`; `none` removes the patch.
            most: Maximum characters of the patch.
            markdown: Whether to add the Markdown.
        """
        answer = in_form(found, patch, most)
        return replace(answer, markdown=improvements_markdown(answer)) if markdown else answer

    async def close(self) -> None:
        """Finish background work."""
        await self._log.settle()
