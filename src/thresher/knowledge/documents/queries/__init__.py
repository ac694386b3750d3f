"""All SQL of the documents kind.

Invariant: every statement runs inside `Database.transaction(tenant)` or `Database.once`; the tenant in each WHERE is
for the planner, the row-level policy keeps tenants apart even without it.
"""

from thresher.knowledge.documents.queries.documents import (
    Described,
    DocumentWrite,
    Standing,
    current,
    delete_documents,
    described,
    insert_documents,
    layouts,
    make_current,
    retire,
    sections,
    standing,
)
from thresher.knowledge.documents.queries.repositories import (
    Head,
    Refused,
    acronyms,
    add_repository,
    begin_removal,
    delete_repository,
    heads,
    lock_repository,
    outlines,
    recount,
    refused_files,
    removing,
    repositories,
    repository_by_id,
    set_refused,
    set_repository,
)
from thresher.knowledge.documents.queries.texts import Key, insert_texts, read_range, read_texts

__all__ = [
    "Described",
    "DocumentWrite",
    "Head",
    "Key",
    "Refused",
    "Standing",
    "acronyms",
    "add_repository",
    "begin_removal",
    "current",
    "delete_documents",
    "delete_repository",
    "described",
    "heads",
    "insert_documents",
    "insert_texts",
    "layouts",
    "lock_repository",
    "make_current",
    "outlines",
    "read_range",
    "read_texts",
    "recount",
    "refused_files",
    "removing",
    "repositories",
    "repository_by_id",
    "retire",
    "sections",
    "set_refused",
    "set_repository",
    "standing",
]
