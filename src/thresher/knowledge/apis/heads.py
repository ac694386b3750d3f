"""Records of providers and operations that answers need before they open a description.

Invariant: frozen; the operations of a version belong to one edition and never change within it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from thresher.knowledge.apis.ingestion.wording import title_of
from thresher.openapi import Tag


@dataclass(frozen=True, slots=True)
class VersionHead:
    """A version of a provider's description.

    Attributes:
        id: Row id.
        label: Such as `v2`.
        edition: Incremented when the version's operations change.
        digest: SHA-256 of the bytes in use; empty before the first import.
        operations: Number of operations.
        title: `info.title` as written.
        dialect: `2.0`, `3.0`, `3.1` or `3.2`.
        servers: Base addresses as written.
        source: Path or URL of the description.
    """

    id: int
    label: str
    edition: int
    digest: str
    operations: int
    title: str = ""
    dialect: str = ""
    servers: tuple[str, ...] = ()
    source: str = ""


@dataclass(frozen=True, slots=True)
class ProviderHead:
    """A provider that a caller sees.

    Attributes:
        id: Row id.
        owner: The only user who sees it; None if everyone in the tenant does.
        name: Its unique name.
        display_name: Its name as people write it.
        aliases: Other names for it.
        base_url: Address of its operations if the description names none.
        active: Whether search includes it.
        versions: Its versions, the newest label first.
    """

    id: int
    owner: str | None
    name: str
    display_name: str
    aliases: tuple[str, ...]
    base_url: str
    active: bool
    versions: tuple[VersionHead, ...]


@dataclass(frozen=True, slots=True)
class Brief:
    """The stored summary of an operation.

    Attributes:
        id: Row id, which is also the id of the index entry.
        endpoint: Public id, such as `op_0123456789ab`.
        method: Upper case.
        path: As in the description.
        operation_id: Empty if there is none.
        summary: Empty if there is none.
        description: Clipped.
        tags: As written.
        parameters: Names, path parameters first.
        body: Name of the schema of the request body; empty if there is none.
        tips: Facts about how it is used.
        deprecated: Whether the description marks it as deprecated.
        pointer: JSON pointer of the operation.
        ordinal: Position in the description.
        digest: Digest of everything the description says about it.
    """

    id: int
    endpoint: str
    method: str
    path: str
    operation_id: str
    summary: str
    description: str
    tags: tuple[str, ...]
    parameters: tuple[str, ...]
    body: str
    tips: tuple[str, ...]
    deprecated: bool
    pointer: str
    ordinal: int
    digest: str

    @property
    def key(self) -> str:
        """Method and path, such as `GET /users/{id}`."""
        return f"{self.method} {self.path}"

    @property
    def title(self) -> str:
        """Summary, short description, or id or path in words."""
        return title_of(self.method, self.path, self.operation_id, self.summary, self.description)


@dataclass(frozen=True, slots=True)
class Operations:
    """The operations of a version at one edition.

    Attributes:
        version: Row id of the version.
        edition: Edition of the version.
        briefs: In the order of the description.
        by_id: Row id to operation.
        by_endpoint: Public id to operation.
        by_key: `GET /users/{id}` to operation.
        tags: With their descriptions.
    """

    version: int
    edition: int
    briefs: tuple[Brief, ...]
    by_id: Mapping[int, Brief]
    by_endpoint: Mapping[str, Brief]
    by_key: Mapping[str, Brief]
    tags: tuple[Tag, ...] = ()


def operations_of(version: int, edition: int, briefs: tuple[Brief, ...], tags: tuple[Tag, ...]) -> Operations:
    """Build the operations of a version with their lookup tables."""
    return Operations(
        version,
        edition,
        briefs,
        {one.id: one for one in briefs},
        {one.endpoint: one for one in briefs},
        {one.key: one for one in briefs},
        tags,
    )


def endpoint_id(provider: str, label: str, method: str, path: str) -> str:
    """Return the public id of an operation: the same on every machine and after every sync."""
    named = "\0".join((provider, label, method, path))
    return f"op_{hashlib.sha256(named.encode('utf-8', 'surrogatepass')).hexdigest()[:12]}"
