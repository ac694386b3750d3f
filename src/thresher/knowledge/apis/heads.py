"""What an answer knows of providers and operations before it looks into a description.

Invariant: frozen; a version's operations are those of its edition and never change under it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from thresher.openapi import Tag


@dataclass(frozen=True, slots=True)
class VersionHead:
    """A description of a provider.

    Attributes:
        id: Row id.
        label: Such as `v2`.
        edition: Raised whenever its operations are others.
        digest: SHA-256 of the bytes that are answered from; empty where none were taken over yet.
        operations: How many.
        title: `info.title` as written.
        dialect: `2.0`, `3.0`, `3.1` or `3.2`.
        servers: Base addresses as written.
    """

    id: int
    label: str
    edition: int
    digest: str
    operations: int
    title: str = ""
    dialect: str = ""
    servers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ProviderHead:
    """A provider that a caller sees.

    Attributes:
        id: Row id.
        owner: The only user who sees it; None for everybody in the tenant.
        name: Its name.
        display_name: As people write it.
        aliases: Other words for it.
        base_url: Where its operations are called, where the description does not say.
        active: Whether search looks at it.
        versions: Its descriptions, the newest label first.
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
    """An operation in brief.

    Attributes:
        id: Row id, which is the entry's id in the index.
        endpoint: What is given out, such as `op_0123456789ab`.
        method: Upper case.
        path: As in the description.
        operation_id: Empty without.
        summary: Empty without.
        description: Clipped.
        tags: As written.
        parameters: Names, those of the path first.
        body: Name of the schema of what it is sent; empty without.
        tips: How it is used, from facts.
        deprecated: Whether it should no longer be used.
        pointer: Where it stands.
        ordinal: Its place in the description.
        digest: Of all that the description says of it.
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
        """`GET /users/{id}`."""
        return f"{self.method} {self.path}"


@dataclass(frozen=True, slots=True)
class Operations:
    """The operations of a version at one edition.

    Attributes:
        version: Row id.
        edition: The version's.
        briefs: In the order of the description.
        by_id: Row id to operation.
        by_endpoint: Id that is given out to operation.
        by_key: `GET /users/{id}` to operation.
        tags: As the description explains them.
    """

    version: int
    edition: int
    briefs: tuple[Brief, ...]
    by_id: Mapping[int, Brief]
    by_endpoint: Mapping[str, Brief]
    by_key: Mapping[str, Brief]
    tags: tuple[Tag, ...] = ()


def operations_of(version: int, edition: int, briefs: tuple[Brief, ...], tags: tuple[Tag, ...]) -> Operations:
    """The operations of a version, found by every name that they have."""
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
    """The id of an operation that is given out: the same whenever and wherever it is read."""
    named = "\0".join((provider, label, method, path))
    return f"op_{hashlib.sha256(named.encode('utf-8', 'surrogatepass')).hexdigest()[:12]}"
