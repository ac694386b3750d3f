"""Every verb of the product, declared once: its name, a sentence, parameters, record, errors, and who may use it.

Faces are adapters over these declarations: tools over MCP, routes over HTTP, what commands ask of the daemon, and the
commands themselves.

Invariant: a declaration is light. It imports nothing that a command does not need to print its help; records and
validation are loaded when a face asks for them.

Uses: agent, audit, connectors, core, jobs, knowledge, llm, services, servoy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from thresher.verbs.apis import APIS
from thresher.verbs.audit import AUDIT
from thresher.verbs.databases import DATABASES
from thresher.verbs.declaration import Access, Confirm, Kind, Parameter, Request, Verb, nobody
from thresher.verbs.documents import DOCUMENTS
from thresher.verbs.intents import INTENTS
from thresher.verbs.jobs import JOBS
from thresher.verbs.prompts import PROMPTS
from thresher.verbs.settings import SETTINGS
from thresher.verbs.solutions import SOLUTIONS

if TYPE_CHECKING:
    from thresher.verbs.arguments import BoundedBody, RequestBody, arguments_model, checked, values_of

_HEAVY = ("BoundedBody", "RequestBody", "arguments_model", "checked", "values_of")
KINDS = (APIS, DATABASES, DOCUMENTS, JOBS, SOLUTIONS, PROMPTS, SETTINGS, INTENTS, AUDIT)
"""All kinds of verbs."""

__all__ = [
    "APIS",
    "AUDIT",
    "DATABASES",
    "DOCUMENTS",
    "INTENTS",
    "JOBS",
    "KINDS",
    "PROMPTS",
    "SETTINGS",
    "SOLUTIONS",
    "Access",
    "BoundedBody",
    "Confirm",
    "Kind",
    "Parameter",
    "Request",
    "RequestBody",
    "Verb",
    "arguments_model",
    "checked",
    "nobody",
    "values_of",
]


def __getattr__(name: str) -> object:
    """Import what needs pydantic: commands print their help without it."""
    if name not in _HEAVY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module("thresher.verbs.arguments"), name)
    globals()[name] = value
    return value
