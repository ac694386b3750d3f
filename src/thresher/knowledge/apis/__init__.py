"""The APIs kind: descriptions of APIs, the operation that a question means, and where descriptions fail their readers.

Uses: core, openapi.
"""

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
    TagCount,
    TimeRange,
    UsageReport,
    Version,
)

__all__ = [
    "DEFAULT_BUDGET",
    "DEFAULT_LIMIT",
    "LIMIT_CAP",
    "EndpointAnswer",
    "EndpointCount",
    "FeedbackType",
    "FoundEndpoint",
    "FoundEndpoints",
    "Improvements",
    "Provider",
    "QueryCount",
    "TagCount",
    "TimeRange",
    "UsageReport",
    "Version",
]
