"""Records of an API description: its operations, problems, findings and patches.

Invariant: frozen; every text here is untrusted data, never an instruction. A pointer is RFC 6901 text
(`/paths/~1users`), empty for the whole document; lines count from 1 and are 0 if unknown.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

Json: TypeAlias = Any
"""A JSON value: None, bool, int, float, str, list, or dict with text keys."""

Dialect: TypeAlias = Literal["2.0", "3.0", "3.1", "3.2"]
Severity: TypeAlias = Literal["error", "warning", "info", "hint"]
ParameterIn: TypeAlias = Literal["path", "query", "querystring", "header", "cookie", "body", "formData"]


@dataclass(frozen=True, slots=True)
class SourceLocation:
    """A location in a description.

    Attributes:
        pointer: JSON pointer.
        line: From 1; 0 if unknown.
        column: From 1; 0 if unknown.
    """

    pointer: str
    line: int = 0
    column: int = 0


@dataclass(frozen=True, slots=True)
class Problem:
    """A part that could not be read and was left out.

    Attributes:
        code: Such as `unresolved-ref`, `remote-ref`, `circular-ref`, `bad-parameter`, `duplicate-key`.
        message: What is wrong and what to do.
        place: Where.
    """

    code: str
    message: str
    place: SourceLocation


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of an operation, its own or inherited from its path.

    Attributes:
        name: As sent.
        place: Part of the request that carries it.
        required: Whether a call must send it.
        description: Its description.
        schema: Its JSON Schema with unresolved `$ref`s; Swagger 2.0's inline type keywords are collected into one.
        deprecated: Whether it should no longer be used.
        example: Its first example, or None.
        pointer: Where it is defined.
    """

    name: str
    place: ParameterIn
    required: bool = False
    description: str = ""
    schema: Mapping[str, Json] = field(default_factory=dict[str, Json])
    deprecated: bool = False
    example: Json = None
    pointer: str = ""


@dataclass(frozen=True, slots=True)
class MediaType:
    """A body in one media type.

    Attributes:
        media: Such as `application/json`.
        schema: Its JSON Schema with unresolved `$ref`s, or None.
        example: Its first example, or None.
    """

    media: str
    schema: Mapping[str, Json] | None = None
    example: Json = None


@dataclass(frozen=True, slots=True)
class Body:
    """A request body. Swagger 2.0's `body` and `formData` parameters become one."""

    required: bool = False
    description: str = ""
    contents: tuple[MediaType, ...] = ()
    pointer: str = ""


@dataclass(frozen=True, slots=True)
class Response:
    """A response of an operation.

    Attributes:
        status: `200`, `4XX` or `default`.
        description: Its description.
        contents: Its body by media type.
        headers: Names of its headers.
        links: Operations that go on from it, each with its arguments: `getUser(id = $response.body#/id)`.
        pointer: Where it is defined.
    """

    status: str
    description: str = ""
    contents: tuple[MediaType, ...] = ()
    headers: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    pointer: str = ""


@dataclass(frozen=True, slots=True)
class SecurityScheme:
    """A way for a caller to authenticate.

    Attributes:
        name: Its name in the description.
        type: `apiKey`, `http`, `oauth2`, `openIdConnect`, `mutualTLS`; Swagger's `basic` is `http`.
        scheme: For `http`: `basic`, `bearer`, ...
        place: For `apiKey`: `header`, `query` or `cookie`.
        key: For `apiKey`: the name of the header, parameter or cookie.
        description: Its description.
    """

    name: str
    type: str
    scheme: str = ""
    place: str = ""
    key: str = ""
    description: str = ""


@dataclass(frozen=True, slots=True)
class Requirement:
    """Security schemes that a call must satisfy together, each with its scopes; empty if no sign-in is needed."""

    schemes: tuple[tuple[str, tuple[str, ...]], ...] = ()


@dataclass(frozen=True, slots=True)
class Operation:
    """A method of a path or webhook, with everything inherited from the path.

    Attributes:
        method: Upper case.
        path: As in `paths`.
        operation_id: May be empty.
        summary: May be empty.
        description: Markdown, as written.
        tags: As written.
        parameters: Its own and the path's, its own winning; `body` and `formData` are in `body`.
        body: The request body, or None.
        responses: In document order.
        security: Alternative requirements; None if the description has none.
        deprecated: Whether it should no longer be used.
        servers: Its own base addresses, if they differ from the description's.
        schemas: Names of the component schemas that it reaches, directly or not, nearest first.
        pointer: Where it is defined.
        digest: SHA-256, hexadecimal, over everything above and the schemas it reaches; what is derived from an
            operation is valid as long as its digest stays.
    """

    method: str
    path: str
    operation_id: str = ""
    summary: str = ""
    description: str = ""
    tags: tuple[str, ...] = ()
    parameters: tuple[Parameter, ...] = ()
    body: Body | None = None
    responses: tuple[Response, ...] = ()
    security: tuple[Requirement, ...] | None = None
    deprecated: bool = False
    servers: tuple[str, ...] = ()
    schemas: tuple[str, ...] = ()
    pointer: str = ""
    digest: str = ""

    @property
    def key(self) -> str:
        """`GET /users/{id}`: identifies an operation within one description."""
        return f"{self.method} {self.path}"


@dataclass(frozen=True, slots=True)
class Tag:
    """A group of operations, as the description explains it."""

    name: str
    description: str = ""


@dataclass(frozen=True, slots=True)
class Finding:
    """A violation of a rule by a description.

    Attributes:
        rule: Spectral's id if the rule is shared with it, else our own.
        kind: `clarity`, `examples`, `structure`, `errors` or `security`.
        severity: In Spectral's terms.
        message: What is wrong.
        place: Where; the pointer is the path that Spectral reports.
        why: What it costs a reader of the description.
        fix: What to do.
        evidence: What was found: a text, a name, queries without a hit.
        operation: Key of its operation (`GET /users`); empty if it concerns the whole description.
    """

    rule: str
    kind: Literal["clarity", "examples", "structure", "errors", "security"]
    severity: Severity
    message: str
    place: SourceLocation
    why: str = ""
    fix: str = ""
    evidence: str = ""
    operation: str = ""


@dataclass(frozen=True, slots=True)
class Score:
    """The quality of a description with the formula behind it.

    Attributes:
        value: 0 to 100.
        formula: In words and numbers, so that a reader can repeat it.
    """

    value: int
    formula: str


@dataclass(frozen=True, slots=True)
class Edit:
    """A description, summary or example to set in a description of an API.

    Attributes:
        pointer: Where; its parent exists.
        value: The new value.
        rule: The rule whose finding it fixes.
        by: `rule` or `model`: who wrote it.
        effect: Measured change of the mean reciprocal rank of right operations, by all texts of this rule together, on
            questions that no text was written from; None if search does not read the place.
    """

    pointer: str
    value: Json
    rule: str
    by: Literal["rule", "model"] = "rule"
    effect: float | None = None


@dataclass(frozen=True, slots=True)
class Patch:
    """A change of descriptions and examples, as an overlay and as a diff.

    Attributes:
        edits: The edits that it makes.
        overlay: An OpenAPI Overlay 1.0 document.
        diff: A unified diff of the source that keeps comments and order.
        before: The score without it.
        after: The score with it.
        mended: Findings that it fixes.
        dropped: Edits that failed a check, each with its reason.
    """

    edits: tuple[Edit, ...]
    overlay: Mapping[str, Json]
    diff: str
    before: Score
    after: Score
    mended: tuple[Finding, ...]
    dropped: tuple[tuple[Edit, str], ...] = ()
