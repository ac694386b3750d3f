"""Every verb of the product, declared once: its name, a sentence, parameters, record, errors, and who may use it.

Faces are adapters over these declarations: tools over MCP, routes over HTTP, what commands ask of the daemon, and the
commands themselves.

Invariant: a declaration is light. It imports nothing that a command does not need to print its help; records,
validation and what runs a verb are loaded when a face asks for them.

Uses: agent, audit, cases, connectors, context, core, insight, jobs, knowledge, llm, results, services, servoy, store,
upstream.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from thresher.verbs.administration import AUDIT, COMPONENTS, JOBS, KEYS, RESULTS
from thresher.verbs.apis import APIS
from thresher.verbs.context import CONTEXT, INTENTS, PACKS
from thresher.verbs.conversations import ASSISTANT, PROMPTS, SETTINGS, THREADS
from thresher.verbs.databases import DATABASES
from thresher.verbs.declaration import Access, Kind, Parameter, Verb
from thresher.verbs.documents import DOCUMENTS
from thresher.verbs.insight import CASES, INSIGHT
from thresher.verbs.solutions import SOLUTIONS
from thresher.verbs.tool_tuning import TOOLS

if TYPE_CHECKING:
    from thresher.verbs.arguments import BoundedBody, RequestBody, arguments_model, checked, values_of
    from thresher.verbs.request import Confirm, Progress, Request, nobody

_HEAVY = {
    "thresher.verbs.arguments": ("BoundedBody", "RequestBody", "arguments_model", "checked", "values_of"),
    "thresher.verbs.request": ("Confirm", "Progress", "Request", "nobody"),
}
KINDS = (
    *(CONTEXT, TOOLS, APIS, DATABASES, DOCUMENTS, JOBS, SOLUTIONS, PROMPTS, SETTINGS, INTENTS, AUDIT),
    *(ASSISTANT, THREADS, PACKS, KEYS, COMPONENTS, RESULTS, INSIGHT, CASES),
)
"""All kinds of verbs."""

__all__ = [
    "APIS",
    "ASSISTANT",
    "AUDIT",
    "CASES",
    "COMPONENTS",
    "CONTEXT",
    "DATABASES",
    "DOCUMENTS",
    "INSIGHT",
    "INTENTS",
    "JOBS",
    "KEYS",
    "KINDS",
    "PACKS",
    "PROMPTS",
    "RESULTS",
    "SETTINGS",
    "SOLUTIONS",
    "THREADS",
    "TOOLS",
    "Access",
    "BoundedBody",
    "Confirm",
    "Kind",
    "Parameter",
    "Progress",
    "Request",
    "RequestBody",
    "Verb",
    "arguments_model",
    "checked",
    "nobody",
    "values_of",
]


def __getattr__(name: str) -> object:
    """Import what needs pydantic or the services: commands print their help without them."""
    module = next((module for module, names in _HEAVY.items() if name in names), None)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(module), name)
    globals()[name] = value
    return value
