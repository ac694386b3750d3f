"""Downloads descriptions over HTTP.

Invariant: time and memory are bounded. For a caller with a key, only public addresses are reached, whatever a name
resolves to and wherever a redirect leads: the connection goes to the address that was checked.
"""

from __future__ import annotations

import asyncio
import os
import zlib
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

import httpx2

from thresher.core import InvalidInput, NotAllowed, NotFound, SourceUnavailable, ThresherError
from thresher.knowledge.apis.addresses import guarded_request
from thresher.knowledge.apis.ingestion.sources import DescriptionSource, checked_address, read_file, too_large
from thresher.openapi import LIMITS

SECONDS: Final = 60.0
"""Time limit of one description, including redirects."""
_TIMEOUT: Final = httpx2.Timeout(15.0, connect=10.0)
_REDIRECTS: Final = 5
_ACCEPT: Final = "application/json, application/yaml, text/yaml, application/vnd.oai.openapi, */*;q=0.5"
_PACKED: Final = frozenset({"gzip", "x-gzip"})
_MOVED: Final = frozenset({301, 302, 303, 307, 308})


@dataclass(frozen=True, slots=True)
class Validators:
    """The validators of the bytes already known, as their server sent them."""

    etag: str = ""
    modified: str = ""

    @property
    def headers(self) -> dict[str, str]:
        """Request headers that ask for newer bytes only."""
        asked = {"If-None-Match": self.etag, "If-Modified-Since": self.modified}
        return {name: value for name, value in asked.items() if value}


@dataclass(frozen=True, slots=True)
class SourceContent:
    """The content of a source.

    Attributes:
        data: Its bytes; None if they have not changed.
        validators: Validators for the next request.
    """

    data: bytes | None
    validators: Validators = Validators()


async def read_source(source: DescriptionSource, validators: Validators = Validators()) -> SourceContent:
    """Read a source.

    Args:
        source: The file or address.
        validators: Validators of the bytes already known.

    Raises:
        NotFound: The source does not exist.
        NotAllowed: A redirect or a name leads to an address that the caller may not reach.
        InvalidInput: It cannot be read, is too large, or is a web page.
        SourceUnavailable: The server is unreachable, too slow, or breaks off; a retry may help.
    """
    if not source.remote:
        return await _file_content(source.location, validators)
    try:
        async with asyncio.timeout(SECONDS):
            return await _fetch(source, validators)
    except TimeoutError:
        raise SourceUnavailable(
            f"{source.location} was not read in {SECONDS:.0f} seconds.", hint="Try again, or download the file."
        ) from None


async def _file_content(location: str, known: Validators) -> SourceContent:
    """Return the content of a file; its validator is made of the time of its last change and its size."""
    with suppress(OSError):  # reading tells what is wrong
        status = await asyncio.to_thread(os.stat, location, follow_symlinks=False)
        etag = f"{status.st_mtime_ns}-{status.st_size}"
        return SourceContent(None) if known.etag == etag else SourceContent(await read_file(location), Validators(etag))
    return SourceContent(await read_file(location))


async def _fetch(source: DescriptionSource, validators: Validators) -> SourceContent:
    address = source.location
    # A proxy resolves names itself, so a guarded request must bypass it.
    async with httpx2.AsyncClient(timeout=_TIMEOUT, trust_env=not source.keyed) as client:
        for _ in range(_REDIRECTS + 1):
            headers = {"Accept": _ACCEPT, "Accept-Encoding": "gzip", **validators.headers}
            refusal = None if not source.is_guarded(address) else _not_public
            request = await guarded_request(client, "GET", address, headers=headers, refusal=refusal)
            try:
                answer = await client.send(request, stream=True)
            except (httpx2.TransportError, httpx2.InvalidURL) as error:
                raise _unreachable(source.location, error) from None
            try:
                if answer.status_code not in _MOVED:
                    return await _content(source.location, answer)
                address = _next(source.location, address, answer)
            finally:
                await answer.aclose()
    raise InvalidInput(f"{source.location} redirects too often.", hint="Give the final address.")


def _not_public(host: str) -> NotAllowed:
    return NotAllowed(
        f"A caller with a key may not reach {host}: it is not public.",
        hint="The server's operator allows sources in THRESHER_API_SOURCES.",
    )


def _next(source: str, address: str, answer: httpx2.Response) -> str:
    """Return the target of a redirect; it may contain a credential, since it is neither stored nor shown."""
    try:
        following = str(httpx2.URL(address).join(answer.headers["location"]))
    except (KeyError, httpx2.InvalidURL):
        raise InvalidInput(f"{source} redirects without a valid address.", hint="Give the final address.") from None
    if address.startswith("https:") and not following.startswith("https:"):
        raise InvalidInput(f"{source} redirects to an address that is not encrypted.", hint="Give the final address.")
    return checked_address(following, kept=False)


async def _content(address: str, answer: httpx2.Response) -> SourceContent:
    """Return the content of a response."""
    if answer.status_code == HTTPStatus.NOT_MODIFIED:
        return SourceContent(None)
    if answer.status_code != HTTPStatus.OK:
        raise _refused(address, answer.status_code)
    payload = await _payload(address, answer)
    _check_is_data(address, answer.headers.get("content-type", ""), payload)
    validators = Validators(answer.headers.get("etag", "")[:500], answer.headers.get("last-modified", "")[:100])
    return SourceContent(bytes(payload), validators)


async def _payload(address: str, answer: httpx2.Response) -> bytearray:
    """Return the bytes of a response, decompressed here because a client that decompresses itself has no size limit."""
    packed = answer.headers.get("content-encoding", "identity").strip().lower()
    if packed not in {"", "identity", *_PACKED}:
        raise InvalidInput(
            f"{address} has an unsupported content encoding ({packed[:40]!r}).",
            hint="Download the description and add the file.",
        )
    unpacker = zlib.decompressobj(zlib.MAX_WBITS | 16) if packed in _PACKED else None
    payload = bytearray()
    try:
        async for part in answer.aiter_raw():
            room = LIMITS.octets + 1 - len(payload)
            payload += part if unpacker is None else unpacker.decompress(part, room)
            if len(payload) > LIMITS.octets:
                raise too_large(address)
    except (httpx2.TransportError, httpx2.StreamError, zlib.error) as error:
        raise _unreachable(address, error) from None
    if unpacker is not None and not unpacker.eof:
        raise _unreachable(address, EOFError("it breaks off"))
    return payload


def _check_is_data(address: str, media: str, payload: bytearray) -> None:
    """Refuse a web page, such as a sign-in page."""
    begin = bytes(payload[:500]).lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if begin.startswith(b"<") or (media.lower().startswith("text/html") and not begin.startswith((b"{", b"openapi"))):
        raise InvalidInput(
            f"{address} is a web page, perhaps for signing in, not a description.",
            hint="Give the address of the JSON or YAML, or download it and add the file.",
        )
    if not begin:
        raise InvalidInput(f"{address} is empty.", hint="Check the address.")


def _refused(address: str, status: int) -> ThresherError:
    if status in (HTTPStatus.NOT_FOUND, HTTPStatus.GONE):
        return NotFound(f"{address} does not exist ({status}).", hint="Check the address.")
    if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN, HTTPStatus.PROXY_AUTHENTICATION_REQUIRED):
        return InvalidInput(
            f"{address} requires a sign-in ({status}), which is not supported.",
            hint="Download the description and add the file.",
        )
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR or status == HTTPStatus.TOO_MANY_REQUESTS:
        return SourceUnavailable(f"The server of {address} answered {status}.", hint="Try again later.")
    return InvalidInput(f"The server of {address} answered {status}.", hint="Check the address.")


def _unreachable(address: str, error: Exception) -> SourceUnavailable:
    reason = str(error).strip() or type(error).__name__
    return SourceUnavailable(f"{address} cannot be read: {reason[:200]}.", hint="Check the address, or try again.")
