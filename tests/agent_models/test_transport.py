"""How requests reach services: over TLS, through proxies, and nowhere that cannot be reached."""

from __future__ import annotations

import asyncio
import datetime as dt
import gzip
import ipaddress
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from langchain_core.messages import HumanMessage

from tests.agent_models.conftest import KEY, Connect, Watched
from thresher.core import ModelError

HELLO = [HumanMessage("Hello there")]
ANSWER = b'data: {"choices": [{"delta": {"content": "Safe."}, "finish_reason": "stop"}]}\n\ndata: [DONE]\n\n'


def certificate(folder: Path) -> Path:
    """A certificate of this machine's address, signed by itself, with its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "tests")])
    today = dt.datetime.now(dt.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(today - dt.timedelta(days=1))
        .not_valid_after(today + dt.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    file = folder / "service.pem"
    plain = serialization.NoEncryption()
    form = serialization.PrivateFormat.PKCS8
    pem = serialization.Encoding.PEM
    file.write_bytes(made.public_bytes(pem) + key.private_bytes(pem, form, plain))
    return file


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"\r\n\r\n")
    head = f"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {len(ANSWER)}\r\n\r\n"
    writer.write(head.encode() + ANSWER)
    await writer.drain()
    writer.close()


@pytest.fixture
async def sealed(tmp_path: Path) -> AsyncIterator[tuple[str, Path]]:
    """A service behind TLS, and its certificate."""
    file = certificate(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    server = await asyncio.start_server(_answer, "127.0.0.1", 0, ssl=context)
    yield f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", file
    server.close()


async def test_a_service_is_asked_over_tls(
    connect: Connect, sealed: tuple[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whose certificate this machine trusts."""
    url, file = sealed
    monkeypatch.setenv("SSL_CERT_FILE", str(file))

    assert (await connect(url).complete(HELLO)).text == "Safe."


async def test_an_answer_that_is_packed_is_refused(connect: Connect) -> None:
    """Its size could not be bounded before it is unpacked, and nothing packed was asked for."""

    async def packed(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        body = gzip.compress(ANSWER)
        head = (
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-encoding: gzip\r\n"
            f"content-length: {len(body)}\r\n\r\n"
        )
        writer.write(head.encode() + body)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(packed, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"

    with pytest.raises(ModelError, match=r"is packed \(gzip\)"):
        await connect(url).complete(HELLO)
    server.close()


async def test_a_service_that_is_not_vouched_for_is_not_asked(connect: Connect, sealed: tuple[str, Path]) -> None:
    """The key would go to the impostor."""
    with pytest.raises(ModelError, match=r"no secure connection to 127\.0\.0\.1:\d+ can be made"):
        await connect(sealed[0]).complete(HELLO)


async def test_requests_go_through_the_machines_proxy(
    connect: Connect, fake: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    """But to hosts that are named as reached without one."""
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    monkeypatch.setenv("http_proxy", fake.url.removesuffix("/v1").replace("//", "//me:secret@"))
    monkeypatch.setenv("no_proxy", "127.0.0.1")

    through = await connect("http://models.example.com/v1").complete(HELLO)
    direct = await connect(key=None).complete(HELLO)

    assert (through.text, direct.text) == ("Hello there", "Hello there")
    assert [one["host"] for one in fake.headers] == ["models.example.com", fake.url.split("/")[2]]
    assert fake.authorizations == [f"Bearer {KEY}", None]
    assert ["proxy-authorization" in one for one in fake.headers] == [True, False]


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("http://127.0.0.1:1/v1?key=hidden", r"nothing answers at 127\.0\.0\.1:1\. Is it running\?"),
        ("http://nowhere.invalid/hidden", r"the host of nowhere\.invalid:80 is not known\. Is its name right\?"),
    ],
    ids=["closed", "unknown"],
)
async def test_what_cannot_be_reached_is_an_error_after_three_tries(connect: Connect, url: str, words: str) -> None:
    """With the host and the port alone of the address."""
    with pytest.raises(ModelError, match=words) as failed:
        await connect(url).complete(HELLO)

    assert "hidden" not in str(failed.value)


async def test_a_connection_that_the_service_has_closed_is_not_used_again(connect: Connect, fake: Watched) -> None:
    """The next request opens another one."""
    model = connect()
    await model.complete(HELLO)
    fake.hang_up()

    await model.complete(HELLO)

    assert (fake.connections, len(fake.requests)) == (2, 2)


async def test_the_query_of_an_address_goes_along(connect: Connect, fake: Watched) -> None:
    """Azure wants its version there."""
    await connect(f"{fake.url}?api-version=2025-01-01").complete(HELLO)

    assert fake.paths == ["/v1/chat/completions?api-version=2025-01-01"]
