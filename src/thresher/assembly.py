"""From settings to services: what `app` serves, and the same services on a database that forgets, for dry runs.

Invariant: what was opened is closed in the opposite order, however the block ends.

Uses: agent, audit, calling, cases, context, core, embedding, insight, jobs, knowledge, llm, packs, results, search,
services, store, upstream.
"""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from thresher.agent import AgentSettings, Assistant, Models, Prompts, Threads
from thresher.audit import AuditLog
from thresher.calling import Calling
from thresher.cases import Cases
from thresher.context import (
    ContextService,
    DocumentSource,
    EndpointSource,
    SchemaSource,
    Variables,
    name_datasources,
    name_providers,
    name_solution,
)
from thresher.core import Caller, Settings, Tenant
from thresher.embedding import FORMER_MODEL, Encoder, is_installed, open_cross_encoder, open_encoder
from thresher.insight import ContextLog, Insight
from thresher.jobs import Jobs
from thresher.knowledge.apis import ApiService
from thresher.knowledge.databases import DatabaseService
from thresher.knowledge.documents import DocumentService
from thresher.knowledge.intents import IntentService, sources_of
from thresher.knowledge.solutions import RehearsedStorage, SolutionService, Storage
from thresher.knowledge.tools import CredentialStore, DropIns, ToolService
from thresher.llm import open_chat
from thresher.packs import BUILT_IN
from thresher.results import Results
from thresher.search import SearchIndex
from thresher.services import Services
from thresher.store import Database, Keys, SecretBox, Sessions, open_store
from thresher.upstream import Changed, IdleUpstreams, ServerConfig, Upstreams, settle_sign_ins

LOCAL_TENANT = "local"


async def open_services(settings: Settings, stack: AsyncExitStack, database: Database | None = None) -> Services:
    """Open the database and everything above it.

    Args:
        settings: The settings.
        stack: Closes what is opened.
        database: One that is open already; by default that of the settings is opened.

    Raises:
        ThresherError: The database or a key cannot be opened.
    """
    database = database or await stack.enter_async_context(open_store(settings))
    secrets = SecretBox.from_settings(settings)
    encoder = open_encoder(settings)
    stack.push_async_callback(encoder.close)
    stack.push_async_callback(settle_sign_ins)
    return await _assemble(settings, database, secrets, encoder, Storage(settings.data_dir), Upstreams, stack)


async def rehearsed_services(services: Services, stack: AsyncExitStack) -> Services:
    """The same services again, where nothing that is written lasts.

    Args:
        services: Those of the running product; the encoder and the sealing key are shared.
        stack: Closes what is opened, and so takes everything back.

    Raises:
        StoreUnavailable: No connection is free.
    """
    folder = await asyncio.to_thread(stack.enter_context, TemporaryDirectory(prefix="thresher-dry-run-"))
    settings = services.settings.model_copy(update={"data_dir": Path(folder)})
    database = await stack.enter_async_context(services.database.rehearsal())
    storage = RehearsedStorage(services.settings.data_dir)
    trial = await _assemble(settings, database, services.secrets, services.encoder, storage, IdleUpstreams, stack)
    trial.tools.mirror_local(services.tools)
    return replace(trial, components=services.components)


async def _assemble(
    settings: Settings,
    database: Database,
    secrets: SecretBox,
    encoder: Encoder,
    storage: Storage,
    upstreams_of: type[Upstreams],
    stack: AsyncExitStack,
) -> Services:
    keys, audit = Keys(database), AuditLog(database, secrets, settings.data_dir)
    for settle in (keys.settle, audit.settle):
        stack.push_async_callback(settle)
    previous = _previous(settings)
    if previous is not None:
        stack.push_async_callback(previous.close)
    index = SearchIndex(database, encoder, settings, previous=previous)
    stack.push_async_callback(index.close)

    def changed(config: ServerConfig, what: Changed) -> None:
        tools.server_changed(config, what)

    async def address(config: ServerConfig, name: str) -> str:
        return await databases.connector_url(Caller(Tenant(config.tenant, ""), config.owner or None), name)

    credentials = CredentialStore(database, secrets)
    upstreams = upstreams_of(settings, credentials=credentials, changed=changed, addresses=address)
    stack.push_async_callback(upstreams.close)
    if (chat := open_chat(settings)) is not None:
        stack.push_async_callback(chat.close)
    tools = ToolService(database, index, upstreams, secrets, settings, chat)
    stack.push_async_callback(tools.close)
    caller = Caller(await database.tenant(LOCAL_TENANT))
    packs = await asyncio.to_thread(sources_of, settings, BUILT_IN)
    intents = IntentService(database, encoder, secrets, settings, packs, caller)
    stack.push_async_callback(intents.close)
    crossing = open_cross_encoder(settings)
    stack.push_async_callback(crossing.close)
    jobs = Jobs(database)
    documents = DocumentService(database, index, crossing, jobs, settings, chat, secrets=secrets)
    databases = DatabaseService(database, index, jobs, secrets, audit, settings)
    stack.push_async_callback(databases.close)
    apis = ApiService(database, index, crossing, jobs, settings, secrets, audit, chat)
    stack.push_async_callback(apis.close)
    solutions = SolutionService(database, storage, settings, databases.provide)
    contexts = ContextLog(database)
    sources = (DocumentSource(documents), SchemaSource(databases), EndpointSource(apis))
    context = ContextService(intents, tools, sources, contexts)
    _name_things(context.variables, databases, apis, solutions)
    models, results = _open_models(database, secrets, settings, stack)
    calling = Calling(settings, tools, intents, context, upstreams, audit, results)
    assistant, threads = Assistant(calling, intents, database, encoder), Threads(database)
    for end in (contexts.settle, calling.close, assistant.close, threads.close):
        stack.push_async_callback(end)
    return Services(
        settings=settings,
        database=database,
        encoder=encoder,
        index=index,
        upstreams=upstreams,
        tools=tools,
        intents=intents,
        context=context,
        calling=calling,
        results=results,
        secrets=secrets,
        caller=caller,
        keys=keys,
        sessions=Sessions(database, keys),
        documents=documents,
        jobs=jobs,
        audit=audit,
        databases=databases,
        apis=apis,
        solutions=solutions,
        prompts=Prompts(database),
        models=models,
        chat_settings=AgentSettings(
            database, models.names, settings.approval_floor, connections=databases.list_connections
        ),
        threads=threads,
        assistant=assistant,
        components=DropIns(tools, settings, caller),
        insight=Insight(database, settings, contexts),
        cases=Cases(database, context, tools, settings),
    )


def _open_models(
    database: Database, secrets: SecretBox, settings: Settings, stack: AsyncExitStack
) -> tuple[Models, Results]:
    """What keeps sealed texts: chat models with their keys, and large results."""
    models, results = Models(database, secrets, settings), Results(database, secrets, settings)
    stack.push_async_callback(models.close)
    stack.push_async_callback(results.settle)
    return models, results


def _name_things(
    variables: Variables, databases: DatabaseService, apis: ApiService, solutions: SolutionService
) -> None:
    """Let rules name what the kinds hold."""
    name_datasources(variables, databases)
    name_providers(variables, apis)
    name_solution(variables, solutions, databases)


def _previous(settings: Settings) -> Encoder | None:
    """The model that has indexed what the encoder of the settings has not yet embedded, and serves it until then.

    Where another encoder is configured it is the packaged one; where that is in use, the one that was packaged before,
    if it is installed.
    """
    packaged = {name: Settings.model_fields[name].default for name in ("model", "model_dir", "encoder_url")}
    former = settings.model_copy(update=packaged)
    if former == settings:
        former = settings.model_copy(update={"model": FORMER_MODEL})
        return open_encoder(former) if is_installed(FORMER_MODEL) else None
    return open_encoder(former)
