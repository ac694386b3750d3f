"""All SQL of the APIs kind.

Invariant: every statement runs inside `Database.transaction(tenant)` or `Database.once`; the tenant in each WHERE is
for the planner, the row-level policy keeps tenants apart even without it.
"""

from thresher.knowledge.apis.queries.operations import (
    all_ids,
    briefs,
    delete_documents,
    delete_gone,
    digests,
    gone_ids,
    holders,
    mark_gone,
    put_document,
    read_document,
    tags,
    upsert_operations,
    wordings,
)
from thresher.knowledge.apis.queries.providers import (
    NOW,
    Standing,
    add_provider,
    begin_removal,
    begin_version_removal,
    delete_providers,
    delete_version,
    heads,
    lock_names,
    providers,
    put_version,
    removing,
    set_provider,
    set_version,
    standing,
)

__all__ = [
    "NOW",
    "Standing",
    "add_provider",
    "all_ids",
    "begin_removal",
    "begin_version_removal",
    "briefs",
    "delete_documents",
    "delete_gone",
    "delete_providers",
    "delete_version",
    "digests",
    "gone_ids",
    "heads",
    "holders",
    "lock_names",
    "mark_gone",
    "providers",
    "put_document",
    "put_version",
    "read_document",
    "removing",
    "set_provider",
    "set_version",
    "standing",
    "tags",
    "upsert_operations",
    "wordings",
]
