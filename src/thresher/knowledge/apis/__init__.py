"""The APIs kind: descriptions of APIs, the operation that a question means, and where descriptions fail their readers.

Uses: audit, core, embedding, jobs, llm, openapi, results, scanner, search, store.
"""

from thresher.knowledge.apis.calls.access import CredentialRequest
from thresher.knowledge.apis.calls.caller import CallRequest
from thresher.knowledge.apis.calls.models import (
    MOST_PAGES,
    SECONDS,
    ApiCredential,
    ApiHost,
    ApiReply,
    CredentialType,
    Effect,
    Place,
    SentRequest,
)
from thresher.knowledge.apis.endpoints import EndpointReference
from thresher.knowledge.apis.explanation import explain_endpoint
from thresher.knowledge.apis.ingestion.rows import KIND
from thresher.knowledge.apis.ingestion.sync import TASK, SyncTask
from thresher.knowledge.apis.models import (
    DEFAULT_BUDGET,
    DEFAULT_LIMIT,
    LIMIT_CAP,
    EndpointAnswer,
    EndpointCount,
    FeedbackType,
    FoundEndpoint,
    FoundEndpoints,
    Improvements,
    Provider,
    QueryCount,
    SyncCounts,
    TagCount,
    TimeRange,
    UsageReport,
    Version,
)
from thresher.knowledge.apis.naming import name_from
from thresher.knowledge.apis.rendering import PatchForm, improvements_markdown, in_form
from thresher.knowledge.apis.service import ApiService

__all__ = [
    "DEFAULT_BUDGET",
    "DEFAULT_LIMIT",
    "KIND",
    "LIMIT_CAP",
    "MOST_PAGES",
    "SECONDS",
    "TASK",
    "ApiCredential",
    "ApiHost",
    "ApiReply",
    "ApiService",
    "CallRequest",
    "CredentialRequest",
    "CredentialType",
    "Effect",
    "EndpointAnswer",
    "EndpointCount",
    "EndpointReference",
    "FeedbackType",
    "FoundEndpoint",
    "FoundEndpoints",
    "Improvements",
    "PatchForm",
    "Place",
    "Provider",
    "QueryCount",
    "SentRequest",
    "SyncCounts",
    "SyncTask",
    "TagCount",
    "TimeRange",
    "UsageReport",
    "Version",
    "explain_endpoint",
    "improvements_markdown",
    "in_form",
    "name_from",
]
