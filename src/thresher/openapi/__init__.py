"""API descriptions as text: reading them, resolving references, linting, and patching.

Invariant: pure; nothing here reaches a network or a database, and no reference leaves its document.

Uses: core.
"""

from thresher.openapi.calls import (
    auth_of,
    base_address,
    base_of,
    call_of,
    client_credentials_url,
    finite,
    is_placeholder,
    parameter_example,
    sent_content,
)
from thresher.openapi.examples import best_example, checked_example, example_of
from thresher.openapi.patching import Material, Review, make_patch, suggest_edits
from thresher.openapi.reader.characters import UNSEEN, visible
from thresher.openapi.reader.description import Description, read_description
from thresher.openapi.reader.problems import LIMITS, DescriptionLimits
from thresher.openapi.reader.references import MISSING, MissingType
from thresher.openapi.records import (
    Body,
    Dialect,
    Edit,
    Finding,
    Json,
    MediaType,
    Operation,
    Parameter,
    ParameterIn,
    Patch,
    Problem,
    Requirement,
    Response,
    Score,
    SecurityScheme,
    Severity,
    SourceLocation,
    Tag,
)
from thresher.openapi.requests.arguments import CheckedArguments, argument_names, check_arguments
from thresher.openapi.requests.bodies import EncodedBody, Part, is_json, is_text, plain_media
from thresher.openapi.requests.building import HttpRequest, build_request
from thresher.openapi.requests.paging import NextPage, next_page
from thresher.openapi.requests.servers import server_address, servers_of
from thresher.openapi.requests.styles import cookie_text
from thresher.openapi.rules import RULES, DescriptionScores, LintRule, RuleHit, find_problems, finding_of, score
from thresher.openapi.samples import samples_of
from thresher.openapi.schema_checks import Direction, SchemaCheck
from thresher.openapi.schemas import bounds_of, brief_schema, is_simple, lines_of, name_of, schemas_reached, type_of
from thresher.openapi.tips import IDEMPOTENT, SAFE, tips_of

__all__ = [
    "IDEMPOTENT",
    "LIMITS",
    "MISSING",
    "RULES",
    "SAFE",
    "UNSEEN",
    "Body",
    "CheckedArguments",
    "Description",
    "DescriptionLimits",
    "DescriptionScores",
    "Dialect",
    "Direction",
    "Edit",
    "EncodedBody",
    "Finding",
    "HttpRequest",
    "Json",
    "LintRule",
    "Material",
    "MediaType",
    "MissingType",
    "NextPage",
    "Operation",
    "Parameter",
    "ParameterIn",
    "Part",
    "Patch",
    "Problem",
    "Requirement",
    "Response",
    "Review",
    "RuleHit",
    "SchemaCheck",
    "Score",
    "SecurityScheme",
    "Severity",
    "SourceLocation",
    "Tag",
    "argument_names",
    "auth_of",
    "base_address",
    "base_of",
    "best_example",
    "bounds_of",
    "brief_schema",
    "build_request",
    "call_of",
    "check_arguments",
    "checked_example",
    "client_credentials_url",
    "cookie_text",
    "example_of",
    "find_problems",
    "finding_of",
    "finite",
    "is_json",
    "is_placeholder",
    "is_simple",
    "is_text",
    "lines_of",
    "make_patch",
    "name_of",
    "next_page",
    "parameter_example",
    "plain_media",
    "read_description",
    "samples_of",
    "schemas_reached",
    "score",
    "sent_content",
    "server_address",
    "servers_of",
    "suggest_edits",
    "tips_of",
    "type_of",
    "visible",
]
