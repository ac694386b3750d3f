"""Sends requests: bounded in time and size, repeated only where that changes nothing.

Invariant: a host that is not public is reached only where a person has said so; a redirect is followed only to the same
origin, by a request that reads and carries no credential; no cookie outlives a call.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import email.utils
import ssl
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Final

import httpx2
from cachetools import LRUCache

from thresher.core import Breaker, InvalidInput, Pauses, SourceUnavailable
from thresher.knowledge.apis.addresses import Refusal, guarded_request
from thresher.knowledge.apis.calls.access import origin_of
from thresher.openapi import IDEMPOTENT, EncodedBody, HttpRequest

MOST_OCTETS: Final = 8 << 20
"""Bytes of an answer that are read."""
_ATTEMPTS: Final = 3
_WAIT: Final = 0.5
_LONGEST_WAIT: Final = 10.0
"""Seconds between two attempts, whatever the server asks for."""
_CONNECT: Final = 10.0
_REDIRECTS: Final = 5
_MOVED: Final = frozenset({301, 302, 303, 307, 308})
_UNWRITABLE: Final = (httpx2.LocalProtocolError, httpx2.InvalidURL, httpx2.UnsupportedProtocol, UnicodeError)
_AGAIN: Final = frozenset({429, 502, 503, 504})
_BREAKERS: Final = 1_024
_WINDOWS: Final[Mapping[str, int]] = {
    "gzip": zlib.MAX_WBITS | 16,
    "x-gzip": zlib.MAX_WBITS | 16,
    "deflate": zlib.MAX_WBITS,
}


@dataclass(frozen=True, slots=True)
class RawReply:
    """An answer as it came.

    Attributes:
        status: Its status.
        headers: Its headers.
        content: The first bytes of its body, decompressed where its encoding is known.
        whole: Whether that is all of it.
        packed: The content encoding that is not known; empty if there is none.
        url: Where it came from.
        notes: What was done, or not done, on the way.
    """

    status: int
    headers: httpx2.Headers
    content: bytes
    whole: bool
    packed: str
    url: str
    notes: tuple[str, ...] = ()

    @property
    def link(self) -> str:
        """The target of `rel="next"` in its Link header; may be empty."""
        answer = httpx2.Response(self.status, headers=self.headers)
        return str(answer.links.get("next", {}).get("url", ""))


class Sender:
    """Sends the requests of all calls; remembers which hosts do not answer."""

    def __init__(self) -> None:
        self._breakers: LRUCache[tuple[int, str], Breaker] = LRUCache(_BREAKERS)

    async def send(self, tenant: int, request: HttpRequest, *, refusal: Refusal | None, signed: bool) -> RawReply:
        """Send a request, again after a failure if its method allows that.

        Args:
            tenant: Whose failures count.
            request: The request, with its credentials.
            refusal: Makes the error for a host that is not public; None if it need not be, and a proxy may be used.
            signed: Whether it carries credentials.

        Raises:
            InvalidInput: It cannot be written as HTTP.
            NotAllowed: The host is not public.
            SourceUnavailable: It cannot be reached, breaks off, or did not answer several times in a row.
        """
        # One client a call: cookies that a server sets are nobody else's.
        async with httpx2.AsyncClient(
            timeout=httpx2.Timeout(None, connect=_CONNECT),
            trust_env=refusal is None,
            verify=_tls(),
        ) as client:
            return await self._attempts(client, tenant, request, refusal=refusal, signed=signed)

    async def _attempts(
        self, client: httpx2.AsyncClient, tenant: int, request: HttpRequest, *, refusal: Refusal | None, signed: bool
    ) -> RawReply:
        origin = origin_of(request.base)
        breaker = self._breakers.setdefault((tenant, origin), Breaker(Pauses()))
        repeatable = request.method in IDEMPOTENT
        for attempt in range(1, _ATTEMPTS + 1):
            if waiting := breaker.attempt():
                raise SourceUnavailable(
                    f"{origin} did not answer several times in a row: {breaker.reason}.",
                    hint=f"Try again in {max(1, round(waiting))} seconds.",
                )
            last = attempt == _ATTEMPTS or not repeatable
            try:
                reply = await _followed(client, request, refusal=refusal, signed=signed)
            except _UNWRITABLE:  # not the server's fault; and the error would show what is written
                breaker.gave_up()
                raise InvalidInput("The request cannot be written as HTTP; nothing was sent.", hint=_WRITTEN) from None
            except (httpx2.TransportError, httpx2.StreamError, zlib.error) as error:
                reason = _reason(error)
                breaker.failed(reason)
                if last:
                    raise SourceUnavailable(f"{origin} did not answer: {reason}.", hint=_hint(request)) from None
                await asyncio.sleep(_WAIT * 2 ** (attempt - 1))
                continue
            except BaseException:
                breaker.gave_up()
                raise
            breaker.succeeded()
            wait = _wait(reply, attempt)
            if last or reply.status not in _AGAIN or wait > _LONGEST_WAIT:
                return reply if attempt == 1 else replace(reply, notes=(*reply.notes, f"Sent {attempt} times."))
            await asyncio.sleep(wait)
        raise AssertionError("the last attempt returns or raises")


_WRITTEN: Final = "The address is too long, or a header's name or value has characters that HTTP does not allow."


def _hint(request: HttpRequest) -> str:
    if request.method in IDEMPOTENT:
        return "Check the address, or try again."
    return f"A {request.method} is not sent twice: look whether it was carried out before you repeat it."


async def _followed(
    client: httpx2.AsyncClient, request: HttpRequest, *, refusal: Refusal | None, signed: bool
) -> RawReply:
    """Send a request, and follow redirects within its origin if it only reads and carries no credential."""
    address, notes = request.url, list[str]()
    for hop in range(_REDIRECTS + 1):
        reply = await _sent(client, request, address, refusal=refusal)
        location = reply.headers.get("location", "")
        if reply.status not in _MOVED or not location:
            return replace(reply, notes=tuple(notes))
        target = _target(address, location)
        why = _why_not(request, address, target, signed=signed) or (
            "it redirects too often" if hop == _REDIRECTS else ""
        )
        if why:
            return replace(reply, notes=(*notes, f"The answer redirects, and was not followed: {why}."))
        notes.append("Followed a redirect.")
        address = target
    raise AssertionError("the last hop returns")


def _target(address: str, location: str) -> str:
    """Return the address that a redirect leads to; empty if it is not valid."""
    try:
        return str(httpx2.URL(address).join(location))
    except (httpx2.InvalidURL, ValueError):
        return ""


def _why_not(request: HttpRequest, address: str, target: str, *, signed: bool) -> str:
    """Return why a redirect is not followed; empty if it is."""
    if not target:
        return "its address is not valid"
    here, there = httpx2.URL(address), httpx2.URL(target)
    if (here.scheme, here.host, here.port) != (there.scheme, there.host, there.port) or there.userinfo:
        return "it leads to another host"
    if signed:
        return "the call carries credentials"
    return "" if request.safe else f"it would repeat a {request.method}"


async def _sent(client: httpx2.AsyncClient, request: HttpRequest, address: str, *, refusal: Refusal | None) -> RawReply:
    headers = {"User-Agent": "thresher", "Accept-Encoding": "gzip", **dict(request.headers)}
    if request.cookies:
        headers["Cookie"] = "; ".join(f"{name}={value}" for name, value in request.cookies)
    message = await guarded_request(
        client,
        request.method,
        address,
        headers=headers,
        refusal=refusal,
        **_content(request.body, headers),
    )
    answer = await client.send(message, stream=True)
    try:
        content, whole, packed = await _read(answer)
    finally:
        await answer.aclose()
    return RawReply(answer.status_code, answer.headers, content, whole, packed, address)


def _content(body: EncodedBody | None, headers: dict[str, str]) -> Mapping[str, Any]:
    if body is None:
        return {}
    if body.content is None:
        return {"files": _files(body)}
    headers["Content-Type"] = body.media
    return {"content": body.content}


def _files(body: EncodedBody) -> Sequence[tuple[str, tuple[str | None, bytes, str] | tuple[str | None, bytes]]]:
    return [
        (one.name, (one.filename or None, one.content, one.media) if one.media else (one.filename or None, one.content))
        for one in body.parts
    ]


async def _read(answer: httpx2.Response) -> tuple[bytes, bool, str]:
    """Return the first bytes of a body, whether that is all, and the encoding that is not known."""
    packed = answer.headers.get("content-encoding", "").strip().lower()
    window = _WINDOWS.get(packed)
    unpack = _Unpacker(window).unpack if window else None
    content = bytearray()
    async for part in answer.aiter_raw():
        room = MOST_OCTETS + 1 - len(content)
        content += part[:room] if unpack is None else unpack(part, room)
        if len(content) > MOST_OCTETS:
            return bytes(content[:MOST_OCTETS]), False, "" if unpack else packed
    if unpack is not None:
        unpack(b"", 0)
    return bytes(content), True, "" if unpack or packed == "identity" else packed


class _Unpacker:
    """Decompresses a body of one or several members (RFC 1952, section 2.2), and keeps nothing of what follows."""

    def __init__(self, window: int) -> None:
        self._window = window
        self._member: zlib._Decompress | None = None  # pyright: ignore[reportPrivateUsage] - it has no other name

    def unpack(self, part: bytes, room: int) -> bytes:
        """Return at most `room` bytes of what a part holds; an empty part is the end.

        Raises:
            zlib.error: It is not compressed, or breaks off.
        """
        if not part and self._member is not None:
            raise zlib.error("the compressed answer breaks off")
        content = bytearray()
        while part and len(content) < room:
            self._member = self._member or zlib.decompressobj(self._window)
            content += self._member.decompress(part, room - len(content))
            part = self._member.unused_data
            self._member = None if self._member.eof else self._member
        return bytes(content)


def _wait(reply: RawReply, attempt: int) -> float:
    """Return the seconds before the next attempt: what the server asks for, else twice as long each time."""
    asked = reply.headers.get("retry-after", "").strip()
    if asked.isdecimal() and len(asked) < 9:
        return float(asked)
    if asked:
        try:
            until = email.utils.parsedate_to_datetime(asked)
        except (ValueError, OverflowError):
            return _WAIT * 2 ** (attempt - 1)
        zone = until if until.tzinfo else until.replace(tzinfo=dt.UTC)
        return max(0.0, (zone - dt.datetime.now(dt.UTC)).total_seconds())
    return _WAIT * 2 ** (attempt - 1)


def _reason(error: Exception) -> str:
    if isinstance(error, httpx2.RemoteProtocolError):  # quotes what the server sent, and is shown to other callers
        return "its answer is not HTTP, or breaks off"
    return (str(error).strip() or type(error).__name__)[:200].rstrip(".")


@cache
def _tls() -> ssl.SSLContext:
    """The context of all clients: reading the certificates takes longer than a call."""
    return httpx2.create_ssl_context()
