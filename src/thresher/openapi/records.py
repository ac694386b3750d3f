"""What is known of an API description: its operations, its problems, and where things stand in it.

Invariant: frozen; everything here is data of others, never instruction. A pointer is RFC 6901 text (`/paths/~1users`),
empty for the whole document; lines count from 1, 0 where unknown.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

Json: TypeAlias = Any
"""A value as JSON knows it: None, bool, int, float, str, list, dict with keys of text."""

Dialect: TypeAlias = Literal["2.0", "3.0", "3.1", "3.2"]
Severity: TypeAlias = Literal["error", "warning", "info", "hint"]
ParameterIn: TypeAlias = Literal["path", "query", "querystring", "header", "cookie", "body", "formData"]


@dataclass(frozen=True, slots=True)
class SourceLocation:
    """Where something stands in a description.

    Attributes:
        pointer: JSON pointer.
        line: From 1; 0 where it is not known.
        column: From 1; 0 where it is not known.
    """

    pointer: str
    line: int = 0
    column: int = 0


@dataclass(frozen=True, slots=True)
class Problem:
    """A part that could not be read, and was left out while the rest was kept.

    Attributes:
        code: Such as `unresolved-ref`, `remote-ref`, `circular-ref`, `bad-parameter`, `duplicate-key`.
        message: What is wrong, and what to do.
        place: Where.
    """

    code: str
    message: str
    place: SourceLocation


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of an operation, its own or its path's.

    Attributes:
        name: As sent.
        place: In which part of the request.
        required: Whether a call must give it.
        description: What is said of it.
        schema: Its JSON Schema, `$ref`s unresolved; Swagger 2.0's inline type keywords are gathered to one.
        deprecated: Whether it should no longer be used.
        example: The first example given for it; None without.
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
    """One form of a body.

    Attributes:
        media: Such as `application/json`.
        schema: Its JSON Schema, `$ref`s unresolved; None where none is given.
        example: The first example given for it; None without.
    """

    media: str
    schema: Mapping[str, Json] | None = None
    example: Json = None


@dataclass(frozen=True, slots=True)
class Body:
    """What a request carries. Swagger 2.0's `body` and `formData` parameters become one."""

    required: bool = False
    description: str = ""
    contents: tuple[MediaType, ...] = ()
    pointer: str = ""


@dataclass(frozen=True, slots=True)
class Response:
    """What an operation may answer.

    Attributes:
        status: `200`, `4XX` or `default`.
        description: What is said of it.
        contents: The forms of its body.
        headers: Names of its headers.
        pointer: Where it is defined.
    """

    status: str
    description: str = ""
    contents: tuple[MediaType, ...] = ()
    headers: tuple[str, ...] = ()
    pointer: str = ""


@dataclass(frozen=True, slots=True)
class SecurityScheme:
    """How a caller proves who it is.

    Attributes:
        name: As the description calls it.
        type: `apiKey`, `http`, `oauth2`, `openIdConnect`, `mutualTLS`; Swagger's `basic` is `http`.
        scheme: For `http`: `basic`, `bearer`, ...
        place: For `apiKey`: `header`, `query` or `cookie`.
        key: For `apiKey`: the name of the header, parameter or cookie.
        description: What is said of it.
    """

    name: str
    type: str
    scheme: str = ""
    place: str = ""
    key: str = ""
    description: str = ""


@dataclass(frozen=True, slots=True)
class Requirement:
    """One way to be let in: all of these schemes together, each with its scopes; none at all: no sign-in."""

    schemes: tuple[tuple[str, tuple[str, ...]], ...] = ()


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation: a method of a path (or of a webhook), with what its path gives it merged in.

    Attributes:
        method: Upper case.
        path: As in `paths`.
        operation_id: Empty without.
        summary: Empty without.
        description: As written, Markdown.
        tags: As written.
        parameters: Own and the path's, own ones winning; `body` and `formData` are in `body`.
        body: What the request carries; None without.
        responses: In the order of the description.
        security: Ways to be let in, any of which is enough; None where the description says nothing.
        deprecated: Whether it should no longer be used.
        servers: Base addresses of this operation where they differ from the description's.
        schemas: Names of the component schemas that its request and answers reach directly or not, nearest first.
        pointer: Where it stands.
        digest: SHA-256, hexadecimal, over everything above and the texts of the schemas it names: while it stays, so
            does all that is made of it.
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
        """`GET /users/{id}`: what names an operation within one description."""
        return f"{self.method} {self.path}"


@dataclass(frozen=True, slots=True)
class Tag:
    """A group of operations, as the description explains it."""

    name: str
    description: str = ""


@dataclass(frozen=True, slots=True)
class Finding:
    """What a rule has to say about a description.

    Attributes:
        rule: Spectral's id where the rule is the same, ours else.
        kind: `clarity`, `examples`, `structure`, `errors` or `security`.
        severity: Spectral's words.
        message: What is wrong.
        place: Where; the pointer is what Spectral gives as its path.
        why: What it costs the reader of the description.
        fix: What to do.
        evidence: What was seen: the text, the name, the queries that missed.
        operation: Key of the operation it belongs to (`GET /users`); empty for the description as a whole.
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
    """How good a description is, 0 to 100, with the formula that gave it.

    Attributes:
        value: 0 to 100.
        formula: In words and numbers, so that a reader can repeat it.
    """

    value: int
    formula: str


@dataclass(frozen=True, slots=True)
class Edit:
    """A text to be set in a description: a description, a summary or an example, nothing else.

    Attributes:
        pointer: Where, RFC 6901; its parent exists.
        value: What shall stand there.
        rule: The finding's rule that it mends.
        by: `rule` or `model`: who wrote it.
    """

    pointer: str
    value: Json
    rule: str
    by: Literal["rule", "model"] = "rule"


@dataclass(frozen=True, slots=True)
class Patch:
    """A change of descriptions and examples, in two forms.

    Attributes:
        edits: What it sets.
        overlay: An OpenAPI Overlay 1.0 document.
        diff: A unified diff of the source's text that keeps comments and order.
        before: The score without it.
        after: The score with it.
        mended: Findings that are gone.
        dropped: Edits that failed a check, each with its reason.
    """

    edits: tuple[Edit, ...]
    overlay: Mapping[str, Json]
    diff: str
    before: Score
    after: Score
    mended: tuple[Finding, ...]
    dropped: tuple[tuple[Edit, str], ...] = ()
