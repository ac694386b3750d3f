"""Calls operations: arguments are checked, the host is allowed, the decision is noted, and only then it is sent.

Invariant: nothing leaves before everything about a call was found to be in order, and no answer, error or log entry
contains a stored secret.
"""

from __future__ import annotations

import asyncio
import base64
import codecs
import json
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal
from urllib.parse import unquote_plus, urlsplit

from pydantic_core import from_json

from thresher.audit import Attempt, AuditLog, StatementOutcome
from thresher.core import Caller, InvalidInput, SourceUnavailable, ThresherError, dumps
from thresher.knowledge.apis.addresses import Refusal
from thresher.knowledge.apis.cache import DescriptionCache, LocatedOperation
from thresher.knowledge.apis.calls.access import (
    Access,
    AccessStore,
    allowed_host,
    credentials_for,
    origin_of,
    refusal_of,
)
from thresher.knowledge.apis.calls.models import MOST_PAGES, SECONDS, ApiReply, Effect, SealedCredential, SentRequest
from thresher.knowledge.apis.calls.sending import MOST_OCTETS, RawReply, Sender
from thresher.knowledge.apis.calls.signing import Secrets, Signer, signed_names
from thresher.knowledge.apis.endpoints import EndpointReference, Endpoints, operation_of
from thresher.openapi import (
    SAFE,
    CheckedArguments,
    Description,
    HttpRequest,
    NextPage,
    Operation,
    Part,
    build_request,
    check_arguments,
    is_json,
    is_text,
    next_page,
    plain_media,
    server_address,
    servers_of,
)
from thresher.results import LEAST_BUDGET, fit, fits

_SHOWN: Final = frozenset(
    {"content-type", "content-disposition", "content-encoding", "content-language", "content-range", "location"}
    | {"link", "etag", "last-modified", "retry-after", "allow", "deprecation", "sunset", "www-authenticate"}
    | {"x-request-id", "x-total-count", "x-next-page", "x-ratelimit-limit", "x-ratelimit-remaining"}
    | {"x-ratelimit-reset", "ratelimit", "ratelimit-limit", "ratelimit-remaining", "ratelimit-reset"}
)
"""Headers of an answer that a caller may need."""
_HEADER: Final = 1_000
_BODY: Final = 4_000
"""Characters of a header, and of a body that is shown."""
_BAD: Final = 400
_UNAUTHORIZED: Final = 401
_SLOW: Final = frozenset({"idna", "punycode"})
"""Encodings whose decoders take time with the square of the length."""
_PAGES_OCTETS: Final = 4 * MOST_OCTETS


@dataclass(frozen=True, slots=True)
class CallRequest:
    """A call as its caller wants it.

    Attributes:
        reference: The operation.
        arguments: Parameters by name, and `body`.
        server: The server; the first of the description if empty.
        server_variables: Values of its variables.
        media_type: Of the body, where the operation takes several.
        pages: Most pages that are fetched.
        budget: Most tokens of the body; 0 for all of it.
        seconds: Time limit.
        dry_run: Whether nothing is sent.
        effect: What the call may be.
        client: Name and version of the client.
        thread: The conversation or session.
    """

    reference: EndpointReference
    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])
    server: str = ""
    server_variables: Mapping[str, str] = field(default_factory=dict[str, str])
    media_type: str = ""
    pages: int = 1
    budget: int = 0
    seconds: float = SECONDS
    dry_run: bool = False
    effect: Effect = "any"
    client: str = ""
    thread: str = ""


class EndpointCaller:
    """Calls operations for all callers; one per process.

    Args:
        cache: Holds descriptions.
        endpoints: Finds operations.
        store: Holds hosts and credentials.
        audit: Where calls are noted before they are sent.
    """

    def __init__(self, cache: DescriptionCache, endpoints: Endpoints, store: AccessStore, audit: AuditLog) -> None:
        self._cache = cache
        self._endpoints = endpoints
        self._store = store
        self._audit = audit
        self._sender = Sender()
        self._signer = Signer(store, self._sender)

    async def call(self, caller: Caller, wanted: CallRequest) -> ApiReply:
        """Call an operation.

        Raises:
            InvalidInput: The operation is ambiguous, or arguments do not fit; nothing was sent.
            NotFound: There is no such operation, its provider is inactive, or its description was not read yet.
            NotAllowed: Nobody has allowed the host, it is not public, or a credential is missing; nothing was sent.
            SourceUnavailable: The server cannot be reached, or is too slow.
            StoreError: The call could not be noted; nothing was sent.
        """
        if not 1 <= wanted.pages <= MOST_PAGES:
            raise InvalidInput("The number of pages is out of range.", hint=f"Fetch 1 to {MOST_PAGES} pages.")
        located = await self._endpoints.locate(caller, wanted.reference)
        description = await self._cache.description(caller.tenant, located.version)
        operation = _callable(operation_of(description, located.brief))
        if not wanted.dry_run:
            _check_effect(operation, wanted.effect)
        access = await self._store.access(caller, located.provider, located.version.id)
        call = _Call(caller, wanted, located, description, operation, access, self._signer, self._sender)
        await call.prepare()
        if wanted.dry_run:
            return await call.rehearsed()
        decision = await self._audit.decide(caller, _attempt(caller, wanted, call))
        started, outcome, error = time.perf_counter(), "error", ""
        try:
            async with asyncio.timeout(wanted.seconds):
                reply = await call.run()
            outcome, error = ("ok", "") if reply.status < _BAD else ("error", f"HTTP {reply.status}")
        except TimeoutError:
            outcome = "timeout"
            raise SourceUnavailable(
                f"{located.provider.name} did not answer {operation.key} in {wanted.seconds:g} seconds.",
                hint="Ask for less, or with a longer timeout." if operation.method in SAFE else _MAYBE,
            ) from None
        except ThresherError as failure:
            error = failure.message = call.secrets.masked(failure.message)
            raise
        except asyncio.CancelledError:
            outcome = "cancelled"
            raise
        finally:
            milliseconds = round((time.perf_counter() - started) * 1000, 1)
            ended = StatementOutcome(outcome, 0, milliseconds, error)  # pyright: ignore[reportArgumentType] - of these
            await asyncio.shield(self._audit.end(caller, decision, ended))
        return _fitted(replace(reply, ms=milliseconds), wanted.budget)


def _fitted(reply: ApiReply, budget: int) -> ApiReply:
    """A reply whose body takes no more tokens than the budget; 0 for all of it."""
    if not budget or reply.body is None:
        return reply
    text = reply.body if isinstance(reply.body, str) else dumps(reply.body)
    if fits(text, budget):
        return reply
    if reply.encoding == "base64":
        said, body, encoding = f"{len(text) * 3 // 4:,} bytes of {reply.media or 'data'} are not shown", None, ""
    else:
        mime = "application/json" if reply.encoding == "json" else reply.media
        fitted = fit(text, max(budget, LEAST_BUDGET), mime=mime)
        said = f"{fitted.parts:,} of {fitted.of:,} parts are shown"
        body, encoding = (json.loads(fitted.text), "json") if fitted.kind == "json" else (fitted.text, "text")
    before = f"{reply.left_out} " if reply.left_out else ""
    left_out = f"{before}Cut to {budget:,} tokens: {said}. Ask for less, or with a larger budget."
    return replace(reply, body=body, left_out=left_out, encoding=encoding)


_MAYBE: Final = "It may have been carried out: look before you repeat it."


class _Call:
    """One call, from its arguments to its pages."""

    def __init__(
        self,
        caller: Caller,
        wanted: CallRequest,
        located: LocatedOperation,
        description: Description,
        operation: Operation,
        access: Access,
        signer: Signer,
        sender: Sender,
    ) -> None:
        self._caller = caller
        self._wanted = wanted
        self._located = located
        self._description = description
        self._operation = operation
        self._access = access
        self._signer = signer
        self._sender = sender
        self.secrets = Secrets()
        self._credentials: Sequence[SealedCredential] = ()
        self._refusal: Refusal | None = None
        self._notes: list[str] = []
        self.request = HttpRequest(operation.method, "", operation.path)

    @property
    def provider(self) -> str:
        """Name of the API."""
        return self._located.provider.name

    async def prepare(self) -> None:
        """Check everything, and build the request of the first page, without credentials."""
        wanted, provider = self._wanted, self._located.provider
        optional = not wanted.dry_run
        try:
            self._credentials = credentials_for(self._access, provider, self._description, self._operation)
        except ThresherError as error:
            self._checked(wanted.arguments)  # wrong arguments are reported first
            if optional:
                raise
            self._notes.append(f"{error}")
        checked = self._checked(wanted.arguments)
        self._notes += checked.notes
        base = server_address(
            servers_of(self._description, self._operation),
            chosen=wanted.server,
            variables=wanted.server_variables,
            base_url=provider.base_url,
            source=self._access.source,
        )
        self.request = build_request(self._description, self._operation, base, checked)
        try:
            host = allowed_host(self._access, provider, base, self._credentials)
            self._refusal = refusal_of(host, provider)
        except ThresherError as error:
            if optional:
                raise
            self._notes.append(f"{error}")

    def _checked(self, arguments: Mapping[str, Any]) -> CheckedArguments:
        return check_arguments(
            self._description,
            self._operation,
            arguments,
            signed=signed_names(self._credentials),
            media=self._wanted.media_type,
        )

    async def rehearsed(self) -> ApiReply:
        """Return the request as it would be sent."""
        signed = await self._signed(self.request, dry=True)
        return replace(self._reply(signed), notes=("Nothing was sent.", *self._notes))

    async def run(self) -> ApiReply:
        """Send the request, and those of the following pages as far as they are wanted."""
        request, arguments = self.request, dict(self._wanted.arguments)
        replies: list[ApiReply] = []
        octets, following = 0, None
        while True:
            signed = await self._signed(request)
            raw = await self._sent(request, signed)
            octets += len(raw.content)
            reply = self._read(signed, raw)
            replies.append(reply)
            following = self._following(raw, reply, arguments)
            if following is None or len(replies) == self._wanted.pages or octets > _PAGES_OCTETS:
                return self._joined(replies, following)
            arguments |= following.arguments
            request = self._turned(request, following, arguments)

    async def _signed(self, request: HttpRequest, *, dry: bool = False) -> HttpRequest:
        return await self._signer.sign(
            self._caller,
            self._located.provider,
            self._access,
            request,
            self._credentials,
            self.secrets,
            dry=dry,
        )

    async def _sent(self, request: HttpRequest, signed: HttpRequest) -> RawReply:
        """Send a request; once more if a token that was fetched earlier is no longer valid."""
        tenant, carries = self._caller.tenant.id, bool(self._credentials)
        raw = await self._sender.send(tenant, signed, refusal=self._refusal, signed=carries)
        if raw.status == _UNAUTHORIZED and self._signer.forget(self._caller, self._credentials):
            again = await self._signed(request)
            raw = await self._sender.send(tenant, again, refusal=self._refusal, signed=carries)
        return raw

    def _following(self, raw: RawReply, reply: ApiReply, arguments: Mapping[str, Any]) -> NextPage | None:
        """Return the next page, if it is on the same host."""
        if not self.request.safe or raw.status >= _BAD or not raw.whole:
            return None
        body = reply.body if reply.encoding == "json" else None
        try:
            found = next_page(self._description, self._operation, arguments, url=raw.url, link=raw.link, body=body)
            elsewhere = found and found.url and origin_of(found.url) != origin_of(self.request.base)
        except (InvalidInput, ValueError):
            found, elsewhere = None, True
        if elsewhere:
            self._notes.append("The next page is on another host, or its address is not valid: it is not fetched.")
        return None if found is None or elsewhere else replace(found, arguments=self._shareable(found.arguments))

    def _shareable(self, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return arguments of the next page without secrets, which each page is given separately."""
        return {
            name: self.secrets.without(value) if isinstance(value, str) else value
            for name, value in arguments.items()
            if not self._signs(name.removeprefix("query."))
        }

    def _signs(self, name: str) -> bool:
        """Return whether a credential fills this query parameter."""
        return ("query", name.lower()) in signed_names(self._credentials)

    def _turned(self, request: HttpRequest, following: NextPage, arguments: Mapping[str, Any]) -> HttpRequest:
        """Return the request of the next page."""
        if following.arguments and not following.url:
            built = build_request(self._description, self._operation, self.request.base, self._checked(arguments))
            return replace(request, path=built.path, query=built.query)
        parts = urlsplit(following.url)
        pairs = [one for one in parts.query.split("&") if not self._signs(unquote_plus(one.partition("=")[0]))]
        path = f"{parts.path}?{'&'.join(pairs)}" if any(pairs) else parts.path
        return replace(request, base=origin_of(following.url), path=path, query=())

    def _joined(self, replies: Sequence[ApiReply], following: NextPage | None) -> ApiReply:
        last = replies[-1]
        joined = replace(
            last,
            request=replies[0].request,
            pages=len(replies),
            more=following is not None,
            next=dict(following.arguments) if following is not None else {},
            notes=tuple(dict.fromkeys((*self._notes, *(note for one in replies for note in one.notes)))),
        )
        if self._wanted.pages == 1:
            return joined
        whole = all(one.encoding == "json" for one in replies)
        cut = " ".join(dict.fromkeys(one.left_out for one in replies if one.left_out))
        return replace(joined, body=[one.body for one in replies], encoding="json" if whole else "text", left_out=cut)

    def _reply(self, request: HttpRequest) -> ApiReply:
        return ApiReply(
            endpoint=self._located.brief.endpoint,
            provider=self.provider,
            request=_shown(request, self.secrets),
        )

    def _read(self, request: HttpRequest, raw: RawReply) -> ApiReply:
        """Return an answer, its secrets masked."""
        headers = {
            name.lower(): self.secrets.masked(value)[:_HEADER]
            for name, value in raw.headers.items()
            if name.lower() in _SHOWN
        }
        media = raw.headers.get("content-type", "")[:200]
        body, encoding, notes = _body_of(raw, media, self.secrets)
        left_out = "" if raw.whole else f"The answer is larger than {MOST_OCTETS >> 20} MiB: this is its beginning."
        return replace(
            self._reply(request),
            status=raw.status,
            headers=headers,
            media=plain_media(media),
            encoding=encoding,
            body=body,
            left_out=left_out,
            notes=(*raw.notes, *notes),
        )


def _callable(operation: Operation) -> Operation:
    """Return an operation that can be called."""
    if operation.pointer.startswith("/webhooks/"):
        raise InvalidInput(f"{operation.key} is a webhook: the API sends it.", hint="It cannot be called.")
    return operation


def _check_effect(operation: Operation, effect: Effect) -> None:
    """Refuse a call that is not of the kind that its caller may make."""
    safe = operation.method in SAFE
    if effect == "read" and not safe:
        raise InvalidInput(
            f"{operation.key} may change something.", hint="Use call_api_endpoint_write, same arguments."
        )
    if effect == "write" and safe:
        raise InvalidInput(f"{operation.key} only reads.", hint="Use call_api_endpoint, same arguments.")


def _attempt(caller: Caller, wanted: CallRequest, call: _Call) -> Attempt:
    """Return what is noted: the address without credentials; a body may hold anything, so it is not."""
    return Attempt(
        actor=caller.user or caller.tenant.name,
        client=wanted.client,
        model="",
        thread=wanted.thread,
        connection=call.provider,
        dialect="http",
        sql=f"{call.request.method} {call.secrets.masked(call.request.url)}",
        allowed=True,
        rule="",
        tool="call_api_endpoint",
    )


def _shown(request: HttpRequest, secrets: Secrets) -> SentRequest:
    headers = {name: secrets.masked(value) for name, value in request.headers}
    if request.cookies:
        headers["Cookie"] = secrets.masked("; ".join(f"{name}={value}" for name, value in request.cookies))
    body = ""
    if request.body is not None:
        headers["Content-Type"] = request.body.media
        content = request.body.content
        body = _clipped(content) if content is not None else ""
        body += "\n".join(f"{one.name}: {_part(one)}" for one in request.body.parts)
    return SentRequest(request.method, secrets.masked(request.url), headers, secrets.without(body))


def _part(part: Part) -> str:
    """Return a part of a form in a few words."""
    return f"{part.filename} ({part.media}, {len(part.content):,} bytes)" if part.filename else _clipped(part.content)


def _clipped(content: bytes) -> str:
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return f"({len(content):,} bytes)"
    return text if len(text) <= _BODY else f"{text[:_BODY]}... ({len(content):,} bytes)"


def _body_of(
    raw: RawReply, media: str, secrets: Secrets
) -> tuple[Any, Literal["", "json", "text", "base64"], tuple[str, ...]]:
    """Return a body, how it is given, and notes."""
    if not raw.content:
        return None, "", ()
    text = None if raw.packed else _decoded(raw.content, media)
    if text is None:
        note = (f"The content encoding {raw.packed[:40]} is not known.",) if raw.packed else ()
        return base64.b64encode(raw.content).decode(), "base64", note
    shown = secrets.without(text)
    notes = ("The answer contained a stored secret, which is masked.",) if shown != text else ()
    if is_json(media) and raw.whole:
        try:
            return from_json(shown), "json", notes
        except ValueError:
            return shown, "text", (*notes, "The answer is said to be JSON, and is not, or is nested too deeply.")
    return shown, "text", notes


def _decoded(content: bytes, media: str) -> str | None:
    """Return the text of a body; None if it is not one."""
    charset = next(
        (
            part.partition("=")[2].strip(" \"'")
            for part in media.split(";")[1:]
            if part.strip().lower()[:8] == "charset="
        ),
        "",
    )
    plain = plain_media(media)
    if charset and (is_text(plain) or is_json(plain) or plain.startswith("application/")):
        with suppress(LookupError, ValueError):  # there is no such encoding, or it is not one of texts
            if codecs.lookup(charset).name not in _SLOW:
                return content.decode(charset, "replace")
    if plain.startswith(("image/", "audio/", "video/", "font/")) and not is_text(plain):
        return None
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("utf-8", "replace") if is_text(plain) or is_json(plain) else None
    return None if "\0" in text else text
