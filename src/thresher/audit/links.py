"""The links of a chain: their content, their bytes, and their hash.

Invariant: the hash of a link is keyed and covers every column of its row, its tenant, its position and the hash of the
link before it; making one needs the key, not only the database.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import hmac
import json
from dataclasses import astuple, dataclass
from typing import Final, Literal, TypeAlias

from thresher.audit.records import Attempt, StatementOutcome
from thresher.core import mask_text
from thresher.store import SecretBox, clean

Kind: TypeAlias = Literal["decision", "outcome", "pruned", "restarted"]

NOTHING: Final = bytes(32)
"""Stands for the hash of the link before the first."""
SQL_CHARACTERS: Final = 100_000
"""Characters of a statement that are kept; the guard refuses a longer one."""
_NOTE_CHARACTERS: Final = 4_000
_NAME_CHARACTERS: Final = 200
_EDITION: Final = "audit link 1"


@dataclass(frozen=True, slots=True)
class LinkContent:
    """The content of a link; the columns are explained with the table."""

    kind: Kind
    at: dt.datetime
    owner: str | None = None
    trace_id: str = ""
    subject: int | None = None
    actor: str = ""
    client: str = ""
    model: str = ""
    thread: str = ""
    connection: str = ""
    dialect: str = ""
    sql: str = ""
    tool: str = ""
    allowed: bool | None = None
    rule: str = ""
    outcome: str = ""
    rows: int | None = None
    ms: float | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class ChainLink:
    """A row of the chain.

    Attributes:
        tenant: The tenant of the chain.
        id: Its position, counted from 1.
        key: Identifies the key of `hash`.
        previous: The hash of the link before.
        hash: Over all other attributes.
        content: Its content.
    """

    tenant: int
    id: int
    key: bytes
    previous: bytes
    hash: bytes
    content: LinkContent


@dataclass(frozen=True, slots=True)
class ChainHead:
    """The last link of a chain: its position and its hash; `seal` is a keyed hash over both."""

    id: int
    hash: bytes
    key: bytes
    seal: bytes

    @property
    def name(self) -> str:
        """The form in which people note it: `position:hash`."""
        return name_head(self.id, self.hash)


class Signer:
    """Makes and checks hashes of links and heads with the installation's key."""

    def __init__(self, secrets: SecretBox) -> None:
        self._secret = secrets.signing_key("audit log")
        self.key = hmac.digest(self._secret, b"name of the key", "sha256")[:8]

    def link(self, tenant: int, place: int, previous: bytes, content: LinkContent) -> ChainLink:
        """Make the link that follows another one."""
        digest = self._digest(tenant, place, self.key, previous, content)
        return ChainLink(tenant, place, self.key, previous, digest, content)

    def head(self, tenant: int, place: int, digest: bytes) -> ChainHead:
        """Make the head for a link."""
        return ChainHead(place, digest, self.key, self._seal(tenant, place, digest))

    def fits(self, link: ChainLink) -> bool:
        """Return whether a link is unchanged."""
        return hmac.compare_digest(self._digest(link.tenant, link.id, link.key, link.previous, link.content), link.hash)

    def seals(self, tenant: int, head: ChainHead) -> bool:
        """Return whether a head is unchanged."""
        return hmac.compare_digest(self._seal(tenant, head.id, head.hash), head.seal)

    def _digest(self, tenant: int, place: int, key: bytes, previous: bytes, content: LinkContent) -> bytes:
        at = content.at.astimezone(dt.UTC).isoformat(timespec="microseconds")
        values = [at if isinstance(value, dt.datetime) else value for value in astuple(content)]
        fields = [_EDITION, tenant, place, key.hex(), previous.hex(), *values]
        return hmac.digest(self._secret, json.dumps(fields, separators=(",", ":")).encode(), "sha256")

    def _seal(self, tenant: int, place: int, digest: bytes) -> bytes:
        return hmac.digest(self._secret, f"audit head 1:{tenant}:{place}:{digest.hex()}".encode(), "sha256")


def decision_of(attempt: Attempt, owner: str | None, trace_id: str, at: dt.datetime) -> LinkContent:
    """Return the content of a decision's link."""
    return LinkContent(
        kind="decision",
        at=at,
        owner=owner,
        trace_id=trace_id,
        actor=_cut(attempt.actor, _NAME_CHARACTERS),
        client=_cut(attempt.client, _NAME_CHARACTERS),
        model=_cut(attempt.model, _NAME_CHARACTERS),
        thread=_cut(attempt.thread, _NAME_CHARACTERS),
        connection=_cut(attempt.connection, _NAME_CHARACTERS),
        dialect=attempt.dialect,
        sql=_statement(attempt.sql),
        tool=_cut(attempt.tool, _NAME_CHARACTERS),
        allowed=attempt.allowed,
        rule=attempt.rule,
    )


def outcome_of(
    decision: int, ended: StatementOutcome, owner: str | None, trace_id: str, at: dt.datetime
) -> LinkContent:
    """Return the content of an outcome's link; the database's message without credentials."""
    return LinkContent(
        kind="outcome",
        at=at,
        owner=owner,
        trace_id=trace_id,
        subject=decision,
        outcome=ended.outcome,
        rows=ended.rows,
        ms=round(float(ended.ms), 3),
        note=mask_text(_cut(ended.error, _NOTE_CHARACTERS)),
    )


def name_head(place: int, digest: bytes) -> str:
    """Return the form in which people note a head."""
    return f"{place}:{digest.hex() if place else ''}"


def _statement(sql: str) -> str:
    """Return the whole statement, or the beginning and the hash of one that is too long."""
    text = _storable(sql)
    if len(text) <= SQL_CHARACTERS:
        return text
    digest = hashlib.sha256(sql.encode("utf-8", "replace")).hexdigest()
    return f"{text[:SQL_CHARACTERS]}… ({len(sql)} characters, SHA-256 {digest})"


def _cut(text: str, most: int) -> str:
    text = _storable(text)
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _storable(text: str) -> str:
    """Replace zero bytes, which PostgreSQL cannot store, by a visible form."""
    return clean(text.replace("\0", "\N{SYMBOL FOR NULL}"))
