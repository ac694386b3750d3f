"""Calls of operations, to an application with every parameter style: each can be called, wrong ones never leave."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.knowledge_apis import styled_app
from tests.knowledge_apis.conftest import write
from tests.knowledge_apis.styled_app import CLIENT_SECRET, KEY, LIST, OBJECT, PLAIN_LIST, TOKEN
from thresher.core import Caller, InvalidInput, NotAllowed, Settings, SourceUnavailable, ThresherError
from thresher.embedding import count_tokens
from thresher.knowledge.apis import ApiReply, ApiService, CallRequest, CredentialRequest, EndpointReference
from thresher.knowledge.apis.cache import DescriptionCache
from thresher.knowledge.apis.calls import sending
from thresher.knowledge.apis.calls.access import AccessStore
from thresher.openapi import Description, Operation, read_description
from thresher.services import Services

NAME = "styled"
SECRETS = (KEY, TOKEN, CLIENT_SECRET)
PICTURE = {"base64": base64.b64encode(b"\x89PNG\x00").decode(), "filename": "a.png", "content_type": "image/png"}
GIVEN: Mapping[str, Mapping[str, Any]] = {
    "GET /reserved": {"value": "a:b/c&d=e"},
    "GET /content": {"value": {"a": [1]}},
    "GET /toys": {"limit": 5, "words": ["a", "b"], "active": False, "since": "2026-01-31"},
    "POST /toys": {"body": {"name": "ball", "price": 2.5, "tags": ["x"]}},
    "PUT /toys/{toy_id}": {"toy_id": 7, "X-Trace": "t1", "body": {"name": "ball"}},
    "PATCH /toys/{toy_id}": {"toy_id": 7, "body": {"colour": "blue"}},
    "DELETE /toys/{toy_id}": {"toy_id": 7},
    "GET /session": {"visit": 3, "x-limits": [1]},
    "POST /form": {"body": {"name": "a & b", "words": ["x", "y z"], "level": 2}},
    "POST /upload": {"body": {"picture": PICTURE, "more": [{"text": "hello", "filename": "b.txt"}], "title": "T"}},
    "POST /bytes": {"body": {"base64": "AAEC"}},
    "POST /text": {"body": "grüße"},
    "POST /either": {"body": {"a": 1}},
    "GET /bytes/{count}": {"count": 4},
    "GET /large/{count}": {"count": 2},
    "GET /moved": {"to": "/toys"},
    "GET /failing": {"times": 0},
}
"""Arguments by operation, where they are not those of a style, or none."""
BAD: Mapping[str, Mapping[str, Any]] = {"POST /failing": {"status": 503}}
"""Operations that answer with an error, as described."""
WRONG: Mapping[str, tuple[Mapping[str, Any], ...]] = {
    "GET /toys": (
        {"limit": 500}, {"limit": "x"}, {"words": {"a": 1}}, {"active": 5}, {"since": "31.1.2026"}, {"page": 0},
    ),
    "POST /toys": (
        {"body": {"name": "b"}}, {"body": {"name": "ball", "colour": "green"}}, {"body": {"name": "ball", "id": 4}},
        {"body": {"name": "ball", "price": -1}}, {"body": {}}, {"body": []}, {"body": {"name": 5}}, {"name": "ball"},
    ),
    "PUT /toys/{toy_id}": ({"toy_id": "seven", "body": {"name": "ball"}}, {"toy_id": 1.5, "body": {"name": "ball"}}),
    "GET /session": ({"visit": "x", "x-limits": [1]}, {"visit": 1, "x-limits": ["a"]}),
    "POST /form": ({"body": {"name": "a", "words": ["x"], "level": "high"}}, {"body": "name=a"}),
    "POST /upload": (
        {"body": {"picture": "text", "more": [PICTURE], "title": "T"}}, {"body": {"picture": PICTURE, "title": "T"}},
        {"body": {"picture": {"base64": "*"}, "more": [PICTURE], "title": "T"}},
    ),
    "POST /bytes": ({"body": "AAEC"}, {"body": {"base64": "AA", "text": "b"}}, {"body": 5}),
    "POST /text": ({"body": "more than twenty characters"}, {"body": {"a": 1}}),
    "GET /content": ({"value": "text"},),
    "GET /bytes/{count}": ({"count": ""}, {"count": ".."}, {"count": None}),
}  # fmt: skip
"""Arguments that the description does not allow, beside those that every operation refuses."""


@pytest.fixture
async def base(services: Services, caller: Caller, tmp_path: Path) -> AsyncIterator[str]:
    """The address of the application, which a person has allowed; its description is indexed."""
    styled_app.app.state.seen.clear()
    async with styled_app.serving() as address:
        document = {**styled_app.description(), "servers": [{"url": address}]}
        await services.apis.add(caller, NAME, [str(write(tmp_path / "styled.json", document))])
        await services.apis.access.allow_host(caller, NAME, address, private=True)
        yield address


@pytest.fixture
def described() -> Description:
    """The description of the application."""
    return read_description(json.dumps(styled_app.description()).encode())


def request(key: str, arguments: Mapping[str, Any] | None = None, **more: Any) -> CallRequest:
    """A call of `METHOD /path`."""
    method, path = key.split(" ", 1)
    reference = EndpointReference(provider=NAME, method=method, path=path)
    return CallRequest(reference, arguments or {}, **more)


async def sign_in(service: ApiService, caller: Caller) -> None:
    """Store all credentials."""
    for name in ("HeaderKey", "QueryKey", "CookieKey"):
        await service.access.set_credential(caller, NAME, CredentialRequest(KEY, name))
    await service.access.set_credential(caller, NAME, CredentialRequest(KEY, "Basic", user="ann"))
    await service.access.set_credential(caller, NAME, CredentialRequest(TOKEN, "Bearer"))


async def refused(service: ApiService, caller: Caller, wanted: CallRequest) -> ThresherError | ApiReply:
    """The error of a call."""
    try:
        return await service.call(caller, wanted)
    except ThresherError as error:
        return error


def arguments_of(operation: Operation) -> Mapping[str, Any]:
    """The arguments of one operation: of a style, the value that it is for."""
    if not operation.path.startswith("/styles/"):
        return GIVEN.get(operation.key, {})
    _, _, place, style, _, kind, *_ = operation.path.split("/")
    plain = style.endswith("Delimited") or place == "header"
    value: Any = (PLAIN_LIST if plain else LIST) if kind == "list" else OBJECT
    return {
        "X-Value" if place == "header" else "value": {"R": "100"} if place == "header" and kind != "list" else value
    }


async def test_every_operation_can_be_called(
    base: str, service: ApiService, caller: Caller, described: Description
) -> None:
    """Each of them answers as described, and a value of each style arrives as it was given."""
    await sign_in(service, caller)
    given = CredentialRequest(CLIENT_SECRET, "OAuth", user="us", token_url=f"{base}/token", scopes=("toys",))
    await service.access.set_credential(caller, NAME, given)
    answered: dict[str, int] = {}
    arrived: dict[str, Any] = {}
    for operation in described.operations:
        arguments = arguments_of(operation)
        reply = await service.call(caller, request(operation.key, arguments))
        answered[operation.key] = reply.status
        if operation.path.startswith("/styles/"):
            arrived[operation.key] = (reply.body["value"], *arguments.values())

    assert len(answered) == len(described.operations) == 53
    assert {key: status for key, status in answered.items() if status >= 400} == {"POST /failing": 503}
    assert len(arrived) == 25
    assert {key: values for key, values in arrived.items() if values[0] != values[1]} == {}


async def test_wrong_arguments_are_refused_before_anything_is_sent(
    base: str, service: ApiService, caller: Caller, described: Description
) -> None:
    """Unknown, missing and invalid ones of each operation: all of them are named, and no request arrives."""
    await sign_in(service, caller)
    tried, others = 0, list[Any]()
    for operation in described.operations:
        if operation.path == "/oauth":
            continue
        right = arguments_of(operation)
        wrong = [{**right, "nothing_like_it": 1}, *WRONG.get(operation.key, ())]
        needed = [one.name for one in operation.parameters if one.required and one.name in right]
        needed += ["body"] if operation.body and operation.body.required else []
        wrong += [{name: value for name, value in right.items() if name != missing} for missing in needed]
        for arguments in wrong:
            outcome = await refused(service, caller, request(operation.key, arguments))
            tried += 1
            others += [] if isinstance(outcome, InvalidInput) else [(operation.key, arguments, outcome)]

    assert others == []
    assert styled_app.app.state.seen == []
    assert tried > 100


async def test_arguments_are_read_as_they_are_meant(base: str, service: ApiService, caller: Caller) -> None:
    """Text that stands for a number, a list or an object, other spellings of a name, a default of the schema."""
    listed = await service.call(caller, request("GET /toys", {"limit": "7", "words": "one", "active": "false"}))
    replaced = await service.call(
        caller, request("PUT /toys/{toy_id}", {"toyId": "7", "x-trace": 5, "body": '{"name": "ball"}'})
    )

    assert listed.request.url == f"{base}/toys?limit=7&words=one&active=false"
    assert replaced.body == {"id": 7, "name": "ball", "trace": "5"}


async def test_bodies_arrive_as_they_were_given(base: str, service: ApiService, caller: Caller) -> None:
    """Forms, files by value, text, bytes, and a media type of several."""
    form = await service.call(caller, request("POST /form", GIVEN["POST /form"]))
    upload = await service.call(caller, request("POST /upload", GIVEN["POST /upload"]))
    octets = await service.call(caller, request("POST /bytes", GIVEN["POST /bytes"]))
    text = await service.call(caller, request("POST /text", GIVEN["POST /text"]))
    xml = await service.call(caller, request("POST /either", {"body": "<a/>"}, media_type="application/xml"))

    assert form.body == {"name": "a & b", "words": ["x", "y z"], "level": 2}
    assert upload.body["files"] == [
        ["a.png", "image/png", PICTURE["base64"]],
        ["b.txt", "application/octet-stream", base64.b64encode(b"hello").decode()],
    ]
    assert octets.body == {"type": "application/octet-stream", "octets": "AAEC"}
    assert text.body == {"type": "text/plain", "text": "grüße"}
    assert xml.body == {"type": "application/xml", "text": "<a/>"}


async def test_a_value_stays_in_its_place(base: str, service: ApiService, caller: Caller) -> None:
    """No value adds a segment, a parameter or a header."""
    key = "GET /styles/path/simple/together/list/{value}"
    path = await service.call(caller, request(key, {"value": ["a..b", "c?d#e;f"]}))
    query = await service.call(caller, request("GET /reserved", {"value": "a&admin=true#x"}))

    assert path.body == {"value": ["a..b", "c?d#e;f"]}
    assert query.body == {"query": "value=a%26admin%3Dtrue%23x"}
    with pytest.raises(InvalidInput, match="cannot hold"):
        await service.call(caller, request("PUT /toys/{toy_id}", {"toy_id": 1, "X-Trace": "a\r\nb: c", "body": {}}))


async def test_a_host_is_reached_only_when_a_person_has_allowed_it(
    base: str, service: ApiService, caller: Caller
) -> None:
    """The refusal names the command; an address that is not public needs more."""
    await service.access.disallow_host(caller, NAME, base)
    with pytest.raises(NotAllowed) as nobody:
        await service.call(caller, request("GET /toys"))
    await service.access.allow_host(caller, NAME, base, private=False)
    with pytest.raises(NotAllowed) as private:
        await service.call(caller, request("GET /toys"))

    command = f"thresher apis hosts allow {NAME} {base} --private"
    assert nobody.value.hint.endswith(command)
    assert private.value.hint.endswith(command)
    assert styled_app.app.state.seen == []


async def test_with_a_key_only_public_hosts_are_allowed(
    base: str, service: ApiService, services: Services, caller: Caller
) -> None:
    """Private ones are for the owner, but for those that the settings name."""
    keyed = replace(caller, user="ann", keyed=True)
    open_hosts = Settings(api_hosts=("http://10.0.0.2:80",))
    named = AccessStore(services.database, DescriptionCache(services.database), services.secrets, open_hosts)
    allowed = await named.allow_host(keyed, NAME, "http://10.0.0.2", private=True)

    assert (allowed.private, allowed.owner) == (True, "ann")

    with pytest.raises(NotAllowed, match="not public"):
        await service.access.allow_host(keyed, NAME, "http://10.0.0.1", private=True)


async def test_a_users_host_never_gets_the_tenants_credential(base: str, service: ApiService, caller: Caller) -> None:
    """Whoever allows a host for themselves sends only what is theirs there."""
    ann = replace(caller, user="ann")
    await service.access.set_credential(caller, NAME, CredentialRequest(TOKEN, "Bearer"))
    await service.access.disallow_host(caller, NAME, base)
    await service.access.allow_host(ann, NAME, base, private=True)
    with pytest.raises(NotAllowed, match="your team's"):
        await service.call(ann, request("GET /bearer"))
    assert styled_app.app.state.seen == []
    await service.access.set_credential(ann, NAME, CredentialRequest(TOKEN, "Bearer"))
    own = await service.call(ann, request("GET /bearer"))

    assert own.status == 200
    assert [one.owner for one in await service.access.list_credentials(ann)] == [None, "ann"]
    assert [one.owner for one in await service.access.list_credentials(caller)] == [None]


async def test_another_tenant_sees_nothing(base: str, service: ApiService, services: Services, caller: Caller) -> None:
    """Neither hosts nor credentials."""
    await sign_in(service, caller)
    other = Caller(await services.database.tenant("another"))

    assert await service.access.list_hosts(other) == ()
    assert await service.access.list_credentials(other) == ()


@pytest.mark.parametrize(
    ("path", "given"),
    [
        ("/header-key", CredentialRequest(KEY, "HeaderKey")),
        ("/query-key", CredentialRequest(KEY, "QueryKey")),
        ("/cookie-key", CredentialRequest(KEY, "CookieKey")),
        ("/basic", CredentialRequest(KEY, "Basic", user="ann")),
        ("/bearer", CredentialRequest(TOKEN, "Bearer")),
        ("/oauth", CredentialRequest(CLIENT_SECRET, "OAuth", user="us", token_url="/token", scopes=("toys",))),
    ],
)
async def test_credentials_are_sent_and_never_shown(
    base: str, service: ApiService, services: Services, caller: Caller, path: str, given: CredentialRequest
) -> None:
    """Of each type; not in an answer that repeats them, a dry run, the audit log, or in a row."""
    with pytest.raises(NotAllowed, match="needs a sign-in") as missing:
        await service.call(caller, request(f"GET {path}"))
    given = replace(given, token_url=base + given.token_url if given.token_url else "")
    stored = await service.access.set_credential(caller, NAME, given)
    dry = await service.call(caller, request(f"GET {path}", dry_run=True))
    before = len(styled_app.app.state.seen)
    reply = await service.call(caller, request(f"GET {path}"))
    entries = await services.audit.entries(caller)
    async with services.database.transaction(caller.tenant) as link:
        rows = (await link.exec_driver_sql("select c::text from api_credential c")).all()

    assert f"--scheme {given.scheme}" in missing.value.hint
    assert before == 0
    assert (reply.status, reply.body["admitted"]) == (200, True)
    told = repr((stored, dry, reply, entries, rows, missing.value))
    assert [secret for secret in SECRETS if secret in told] == []
    assert "***" in repr(dry.request)


async def test_a_short_secret_is_masked_where_it_is_a_word(base: str, service: ApiService, caller: Caller) -> None:
    """Not inside other words, which it would make unreadable."""
    await service.access.set_credential(caller, NAME, CredentialRequest("k7", "QueryKey"))
    dry = await service.call(caller, request("GET /query-key", dry_run=True))

    assert "k7" not in repr(dry)
    assert "***" in dry.request.url


async def test_a_token_that_has_ended_is_fetched_again(base: str, service: ApiService, caller: Caller) -> None:
    """Once, and the call is made with the new one."""
    given = CredentialRequest(CLIENT_SECRET, "OAuth", user="us", token_url=f"{base}/token", scopes=("toys",))
    await service.access.set_credential(caller, NAME, given)
    await service.call(caller, request("GET /oauth"))
    again = await service.call(caller, request("GET /oauth"))

    assert again.status == 200
    assert [path for _, path, _, _ in styled_app.app.state.seen] == ["/token", "/oauth", "/oauth"]


async def test_redirects_stay_on_their_host_and_carry_no_credential(
    base: str, service: ApiService, caller: Caller
) -> None:
    """Another host is told, not visited."""
    near = await service.call(caller, request("GET /moved", {"to": "/tokens"}))
    far = await service.call(caller, request("GET /moved", {"to": "https://example.com/"}))

    assert near.body["rows"] == [0, 0]
    assert (far.status, far.headers["location"]) == (307, "https://example.com/")
    assert "another host" in far.notes[0]


async def test_only_what_changes_nothing_is_sent_again(base: str, service: ApiService, caller: Caller) -> None:
    """Three times at most; a POST once."""
    read = await service.call(caller, request("GET /failing", {"times": 2}))
    write = await service.call(caller, request("POST /failing"))

    assert (read.body, read.notes) == ("answered after 3", ("Sent 3 times.",))
    assert write.status == 503
    assert [method for method, path, _, _ in styled_app.app.state.seen if path == "/failing"] == [*["GET"] * 3, "POST"]


async def test_a_server_that_is_gone_is_reported(base: str, service: ApiService, caller: Caller) -> None:
    """With what can be done."""
    gone = "http://127.0.0.1:9"
    await service.access.allow_host(caller, NAME, gone, private=True)

    with pytest.raises(SourceUnavailable, match="did not answer") as failure:
        await service.call(caller, request("POST /toys", GIVEN["POST /toys"], server=gone))
    assert "not sent twice" in failure.value.hint


@pytest.mark.parametrize(
    ("key", "arguments", "bodies"),
    [
        ("GET /linked", {}, [[0], [1], [2]]),
        (
            "GET /tokens",
            {"page_size": 1},
            [{"rows": [n], "next_page_token": str(n + 1) if n < 3 else ""} for n in range(4)],
        ),
        ("GET /offsets", {}, [[0, 1], [2, 3], [4]]),
    ],
)
async def test_pages_are_followed_on_request(
    base: str, service: ApiService, caller: Caller, key: str, arguments: Mapping[str, Any], bodies: list[Any]
) -> None:
    """By a Link header, a token, an offset; as many as are wanted."""
    one = await service.call(caller, request(key, arguments))
    following = await service.call(caller, request(key, {**arguments, **one.next}))
    every = await service.call(caller, request(key, arguments, pages=10))

    assert (one.body, one.more) == (bodies[0], True)
    assert following.body == bodies[1]
    assert (every.body, every.pages, every.more) == (bodies, len(bodies), False)


async def test_pages_are_counted_where_the_answer_says_how_many(base: str, service: ApiService, caller: Caller) -> None:
    """A page number grows to the last page."""
    every = await service.call(caller, request("GET /toys", pages=10))
    two = await service.call(caller, request("GET /toys", pages=2))

    assert [one["page"] for one in every.body] == [1, 2, 3]
    assert (two.pages, two.more, two.next) == (2, True, {"page": 3})


async def test_a_large_answer_is_cut_and_says_so(base: str, service: ApiService, caller: Caller) -> None:
    """Below the budget it is untouched."""
    whole = await service.call(caller, request("GET /large/{count}", {"count": 100}))
    cut = await service.call(caller, request("GET /large/{count}", {"count": 100}, budget=500))
    octets = await service.call(caller, request("GET /bytes/{count}", {"count": 300}))

    assert (len(whole.body), whole.left_out) == (100, "")
    assert "Cut to 500 tokens" in cut.left_out
    assert count_tokens(cut.body if isinstance(cut.body, str) else json.dumps(cut.body)) <= 700
    assert base64.b64decode(octets.body) == bytes(number % 256 for number in range(300))


async def test_time_and_size_are_bounded(
    base: str, service: ApiService, caller: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What takes too long ends, what is too large is cut, and both are said."""
    monkeypatch.setattr(sending, "MOST_OCTETS", 1_000)
    with pytest.raises(SourceUnavailable, match=r"in 0\.2 seconds"):
        await service.call(caller, request("GET /hanging", {"seconds": 30}, seconds=0.2))
    long = await service.call(caller, request("GET /large/{count}", {"count": 100}))

    assert (len(long.body), long.encoding) == (1_000, "text")
    assert "larger than" in long.left_out


async def test_a_call_is_of_the_kind_that_its_caller_may_make(base: str, service: ApiService, caller: Caller) -> None:
    """One that may write is not made as one that reads, nor the other way round."""
    for key, effect in (("POST /toys", "read"), ("GET /toys", "write")):
        with pytest.raises(InvalidInput, match=r"may change something|only reads"):
            await service.call(caller, request(key, GIVEN[key], effect=effect))

    assert styled_app.app.state.seen == []


async def test_calls_at_the_same_time_keep_apart(base: str, service: ApiService, caller: Caller) -> None:
    """Each gets its own answer, and each is noted."""
    wanted = [request("PUT /toys/{toy_id}", {"toy_id": number, "body": {"name": "ball"}}) for number in range(20)]
    replies = await asyncio.gather(*(service.call(caller, one) for one in wanted))

    assert [reply.body["id"] for reply in replies] == [*range(20)]


async def test_a_call_is_noted_before_it_is_sent(
    base: str, service: ApiService, services: Services, caller: Caller
) -> None:
    """With its address and its outcome, without its body."""
    await service.call(caller, request("POST /toys", GIVEN["POST /toys"]))
    (entry,) = (await services.audit.entries(caller)).entries

    assert (entry.attempt.connection, entry.attempt.sql) == (NAME, f"POST {base}/toys")
    assert entry.ended is not None
    assert entry.ended.outcome == "ok"


async def test_a_dry_run_tells_what_stands_in_the_way(base: str, service: ApiService, caller: Caller) -> None:
    """The request is shown all the same."""
    await service.access.disallow_host(caller, NAME, base)
    dry = await service.call(caller, request("GET /bearer", dry_run=True))

    assert dry.request.url == f"{base}/bearer"
    assert len([note for note in dry.notes if "thresher apis" in note]) == 2


async def test_relative_servers_follow_the_source_or_the_base_url(
    base: str, service: ApiService, caller: Caller, tmp_path: Path
) -> None:
    """A description without an address needs one of a person."""
    await service.add(caller, "plain", [str(write(tmp_path / "plain.json", styled_app.description()))])
    wanted = CallRequest(EndpointReference(provider="plain", method="GET", path="/toys"), dry_run=True)
    lost = await refused(service, caller, wanted)
    given = await service.call(caller, replace(wanted, server=base))

    assert isinstance(lost, InvalidInput)
    assert "does not say where the API is" in lost.message
    assert given.request.url == f"{base}/toys"
