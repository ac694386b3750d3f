"""What a running product consists of; `app` builds it, the faces receive it.

Invariant: frozen, and below every face, so that a face can name its type without knowing who built it.

Uses: agent, audit, calling, cases, context, core, embedding, insight, jobs, knowledge, results, search, store,
upstream.
"""

from __future__ import annotations

from dataclasses import dataclass

from thresher.agent import AgentSettings, Assistant, ChatServices, Conversations, Models, Prompts, Threads
from thresher.audit import AuditLog
from thresher.calling import Calling
from thresher.cases import Cases
from thresher.context import ContextService
from thresher.core import Caller, Settings
from thresher.embedding import Encoder
from thresher.insight import Insight
from thresher.jobs import Jobs
from thresher.knowledge.apis import ApiService
from thresher.knowledge.databases import DatabaseService
from thresher.knowledge.documents import DocumentService
from thresher.knowledge.intents import IntentService
from thresher.knowledge.solutions import SolutionService
from thresher.knowledge.tools import DropIns, ToolService
from thresher.results import Results
from thresher.search import SearchIndex
from thresher.store import Database, Keys, SecretBox, Sessions
from thresher.upstream import Upstreams


@dataclass(frozen=True, slots=True)
class Services:
    """The services of one process.

    Attributes:
        settings: As read at the start.
        database: The one pool.
        encoder: The one encoder.
        index: The search index of every kind.
        upstreams: Warm sessions with other MCP servers.
        tools: The tools kind.
        intents: The intents kind.
        context: Puts rules and tools in front of a model.
        calling: Runs tools.
        results: Delivers their results within budgets.
        secrets: Seals what must not be stored in clear.
        caller: The owner of this process: who asks over the local socket, or without a key over HTTP.
        keys: Who else may ask, and for whom.
        sessions: Who has signed in to the console.
        documents: The documents kind.
        jobs: Long work, done by other processes.
        audit: What was decided about statements to databases, and what came of them.
        databases: The databases kind.
        apis: The APIs kind.
        solutions: The solutions kind.
        prompts: The prompts of the agent's models, in a tenant's own words where it has some.
        models: Chat models that people have registered.
        chat_settings: What holds in conversations with them.
        threads: What is stored of conversations.
        assistant: Answers questions without a model.
        components: The tools, prompts, resources and servers of the owner's folder.
        insight: What the logs tell.
        cases: Messages with what should come for them.
    """

    settings: Settings
    database: Database
    encoder: Encoder
    index: SearchIndex
    upstreams: Upstreams
    tools: ToolService
    intents: IntentService
    context: ContextService
    calling: Calling
    results: Results
    secrets: SecretBox
    caller: Caller
    keys: Keys
    sessions: Sessions
    documents: DocumentService
    jobs: Jobs
    audit: AuditLog
    databases: DatabaseService
    apis: ApiService
    solutions: SolutionService
    prompts: Prompts
    models: Models
    chat_settings: AgentSettings
    threads: Threads
    assistant: Assistant
    components: DropIns
    insight: Insight
    cases: Cases


def open_conversations(services: Services, *, models: Models | None = None) -> Conversations:
    """Conversations over some services.

    Args:
        services: What tools and answers come from.
        models: Other models than those of the services.
    """
    return Conversations(
        ChatServices(
            calling=services.calling,
            context=services.context,
            documents=services.documents,
            databases=services.databases,
            consents=services.tools.consents,
            database=services.database,
            threads=services.threads,
            prompts=services.prompts,
            models=models or services.models,
            settings=services.chat_settings,
            assistant=services.assistant,
        )
    )
