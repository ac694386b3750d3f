"""The APIs kind: descriptions of APIs, the operation that a question means, and where descriptions fail their readers.

Uses: core, embedding, jobs, llm, openapi, scanner, search, store.
"""

from thresher.knowledge.apis.details import explain_endpoint
from thresher.knowledge.apis.entries import KIND
from thresher.knowledge.apis.improvements_text import improvements_markdown
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
from thresher.knowledge.apis.patch_forms import PatchForm, in_form
from thresher.knowledge.apis.service import ApiService
from thresher.knowledge.apis.task import TASK, SyncTask

__all__ = [
    "DEFAULT_BUDGET",
    "DEFAULT_LIMIT",
    "KIND",
    "LIMIT_CAP",
    "TASK",
    "ApiService",
    "EndpointAnswer",
    "EndpointCount",
    "FeedbackType",
    "FoundEndpoint",
    "FoundEndpoints",
    "Improvements",
    "PatchForm",
    "Provider",
    "QueryCount",
    "SyncCounts",
    "SyncTask",
    "TagCount",
    "TimeRange",
    "UsageReport",
    "Version",
    "explain_endpoint",
    "improvements_markdown",
    "in_form",
]
