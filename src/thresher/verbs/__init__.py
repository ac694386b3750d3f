"""Every verb of the product, declared once: its name, a sentence, parameters, record, errors, and who may use it.

Faces are adapters over these declarations: tools over MCP, routes over HTTP, what commands ask of the daemon, and the
commands themselves.

Invariant: a declaration is light. It imports nothing that a command does not need to print its help; records and
validation are loaded when a face asks for them.

Uses: core, jobs, knowledge, llm, services.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from thresher.verbs.apis import APIS
from thresher.verbs.databases import DATABASES
from thresher.verbs.declaration import Access, Kind, Parameter, Request, Verb
from thresher.verbs.documents import DOCUMENTS
from thresher.verbs.jobs import JOBS

if TYPE_CHECKING:
    from thresher.verbs.arguments import BoundedBody, RequestBody, arguments_model, checked, values_of

_HEAVY = ("BoundedBody", "RequestBody", "arguments_model", "checked", "values_of")
KINDS = (APIS, DATABASES, DOCUMENTS, JOBS)
"""All kinds of verbs."""

__all__ = [
    "APIS",
    "DATABASES",
    "DOCUMENTS",
    "JOBS",
    "KINDS",
    "Access",
    "BoundedBody",
    "Kind",
    "Parameter",
    "Request",
    "RequestBody",
    "Verb",
    "arguments_model",
    "checked",
    "values_of",
]


def __getattr__(name: str) -> object:
    """Import what needs pydantic: commands print their help without it."""
    if name not in _HEAVY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module("thresher.verbs.arguments"), name)
    globals()[name] = value
    return value
