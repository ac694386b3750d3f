"""A product in miniature for tests: real database, encoder, sessions and service, one tenant."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cryptography.fernet import Fernet

from thresher.agent import AgentSettings, Assistant, Models, Prompts, Threads
from thresher.audit import AuditLog
from thresher.calling import Calling
from thresher.cases import Cases
from thresher.context import (
    ContextService,
    DocumentSource,
    EndpointSource,
    SchemaSource,
    name_datasources,
    name_providers,
    name_solution,
)
from thresher.core import Caller, Settings, Tenant, Tool
from thresher.embedding import Encoder, open_cross_encoder
from thresher.insight import ContextLog, Insight
from thresher.jobs import Jobs
from thresher.knowledge.apis import ApiService
from thresher.knowledge.databases import DatabaseService
from thresher.knowledge.documents import DocumentService
from thresher.knowledge.intents import IntentService, Sources
from thresher.knowledge.solutions import SolutionService, Storage
from thresher.knowledge.tools import DropIns, ToolService
from thresher.llm import OpenAIChat
from thresher.results import Results
from thresher.search import SearchIndex
from thresher.services import Services
from thresher.store import Database, Keys, SecretBox, Sessions
from thresher.upstream import Changed, ServerConfig, Upstreams

LISTED = Path(__file__).parent.parent / "fakes" / "listed_server.py"


@asynccontextmanager
async def opened(
    database: Database,
    tenant: Tenant,
    settings: Settings,
    encoder: Encoder,
    sources: Sources | None = None,
    secrets: SecretBox | None = None,
    chat: OpenAIChat | None = None,
) -> AsyncGenerator[Services]:
    """Services of one tenant, with the packs of some sources; its sessions end with the block, the model stays open."""
    secrets = secrets or SecretBox(Fernet.generate_key())
    index = SearchIndex(database, encoder, settings)

    async def address(config: ServerConfig, name: str) -> str:
        return await databases.connector_url(Caller(tenant, config.owner or None), name)

    def changed(config: ServerConfig, what: Changed) -> None:
        tools.server_changed(config, what)

    upstreams = Upstreams(settings, changed=changed, addresses=address)
    tools = ToolService(database, index, upstreams, secrets, settings, chat)
    caller = Caller(tenant)
    intents = IntentService(database, encoder, secrets, settings, sources or Sources(), caller)
    crossing, jobs = open_cross_encoder(settings), Jobs(database)
    documents = DocumentService(database, index, crossing, jobs, settings, secrets=secrets)
    audit = AuditLog(database, secrets)
    databases = DatabaseService(database, index, jobs, secrets, audit, settings)
    apis = ApiService(database, index, crossing, jobs, settings, secrets, audit)
    contexts = ContextLog(database)
    kinds = (DocumentSource(documents), SchemaSource(databases), EndpointSource(apis))
    context = ContextService(intents, tools, kinds, contexts)
    name_datasources(context.variables, databases)
    name_providers(context.variables, apis)
    solutions = SolutionService(database, Storage(settings.data_dir), settings, databases.provide)
    name_solution(context.variables, solutions, databases)
    models = Models(database, secrets, settings)
    results = Results(database, secrets, settings)
    calling = Calling(settings, tools, intents, context, upstreams, audit, results)
    assistant, threads = Assistant(calling, intents, database, encoder), Threads(database)
    try:
        yield Services(
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
            keys=Keys(database),
            sessions=Sessions(database, Keys(database)),
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
    finally:
        for end in (contexts.settle, results.settle, calling.close, threads.close, assistant.close, models.close):
            await end()
        await apis.close()
        await databases.close()
        await audit.settle()
        await crossing.close()
        await intents.close()
        await tools.close()
        await upstreams.close()
        await index.close()


@dataclass
class ListedServer:
    """A child-process server whose listing a test writes."""

    file: Path
    config: ServerConfig

    @classmethod
    def at(cls, folder: Path, name: str, *tools: dict[str, Any], **more: Any) -> ListedServer:
        """A server that lists these tools."""
        file = folder / f"{name}.json"
        config = ServerConfig(name, "stdio", command=sys.executable, args=(str(LISTED), str(file)), **more)
        server = cls(file, config)
        server.lists(*tools)
        return server

    def lists(self, *tools: dict[str, Any]) -> None:
        """From now on it lists these tools."""
        self.file.write_text(json.dumps(tools), encoding="utf-8")

    def breaks(self) -> None:
        """From now on its listing fails."""
        self.file.unlink()


def listed(name: str, description: str = "", properties: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    """A tool as a server lists it."""
    schema = {"type": "object", "properties": properties or {}}
    return {"name": name, "description": description or f"Does {name}.", "inputSchema": schema, **more}


def known(server: str, name: str, description: str = "", properties: dict[str, Any] | None = None) -> Tool:
    """A tool as a record."""
    schema = {"type": "object", "properties": properties or {}}
    return Tool(server, name, description=description or f"Does {name}.", input_schema=schema)


CATALOGUE = (
    known("git", "git_log", "Show the commit history of a repository.", {"repo_path": {"type": "string"}}),
    known("git", "git_diff", "Show the changes that are not committed yet.", {"repo_path": {"type": "string"}}),
    known("time", "convert_time", "Convert a time between time zones.", {"time": {"type": "string"}}),
    known("time", "get_current_time", "Get the current time in a time zone.", {"timezone": {"type": "string"}}),
    known("mail", "send_email", "Send an email to a person.", {"to": {"type": "string"}, "body": {"type": "string"}}),
    known("files", "read_file", "Read a text file from disk.", {"path": {"type": "string"}}),
    known("files", "write_file", "Write text into a file on disk.", {"path": {"type": "string"}}),
    known("weather", "get_forecast", "Get the weather forecast of a city.", {"city": {"type": "string"}}),
)
"""A small catalogue in which each of a handful of questions has one right tool."""
