"""Sources of descriptions: who may read what, and errors."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.knowledge_apis.conftest import SHOP, described
from tests.knowledge_apis.serving import Site, site
from thresher.core import Caller, InvalidInput, NotAllowed, NotFound, Settings, SourceUnavailable, Tenant, ThresherError
from thresher.knowledge.apis import addresses
from thresher.knowledge.apis.addresses import is_public
from thresher.knowledge.apis.ingestion import download, sources
from thresher.knowledge.apis.ingestion.download import Validators, read_source
from thresher.knowledge.apis.ingestion.sources import DescriptionSource, checked_address, read_file, resolve_source
from thresher.openapi import DescriptionLimits

OWNER = Caller(Tenant(1, "local"))
KEYED = Caller(Tenant(1, "local"), keyed=True)
TEXT = json.dumps(described(SHOP)).encode()


@pytest.fixture
async def web() -> AsyncIterator[Site]:
    """A web server."""
    async with site() as found:
        yield found


@pytest.mark.parametrize(
    "text", ["", " ", "a\nb", "x" * 2_001, "ssh://git@a.example/b", "http://", "https://a.example:x/", "relative.json"]
)
def test_an_invalid_source_is_refused(text: str) -> None:
    """Also a relative path without a folder that it is relative to."""
    with pytest.raises(InvalidInput):
        resolve_source(text, OWNER, Settings())


@pytest.mark.parametrize(
    "text",
    [
        "https://user:word@a.example/x",
        "https://user@a.example/x",
        "https://a.example/x?access_token=1",
        "http://a/?key=1",
        "https://a.example/x?a=1;token=word",
        "https://a.example/x;jsessionid=word/y",
    ],
)
def test_a_credential_in_an_address_is_refused_and_not_repeated(text: str) -> None:
    """A stored source is shown to everyone who sees the provider."""
    with pytest.raises(InvalidInput, match="credential") as error:
        checked_address(text)

    assert "word" not in str(error.value)


@pytest.mark.parametrize(
    "host", ["0177.0.0.1", "0x7f.1", "2130706433", "127.1", "127.0.0.1.", "[::1", "host:99999", "host:x", "⒈com"]
)
def test_an_oddly_written_host_is_refused(host: str) -> None:
    """Hosts that resolvers interpret differently, and texts that are not hosts."""
    with pytest.raises(InvalidInput, match="address"):
        checked_address(f"http://{host}/openapi.json")


def test_an_address_is_stored_in_one_form() -> None:
    """Without the fragment, which no server sees."""
    assert checked_address("HTTPS://A.Example/Api.json?format=yaml#top") == "https://a.example/Api.json?format=yaml"


def test_paths_are_stored_absolute_and_without_links(tmp_path: Path) -> None:
    """Relative paths start from the caller's project folder."""
    file = tmp_path / "api.json"
    file.write_bytes(TEXT)
    (tmp_path / "link.json").symlink_to(file)
    here = Caller(Tenant(1, "local"), project=str(tmp_path))

    found = [resolve_source(text, here, Settings()).location for text in ("api.json", "link.json", f"file://{file}")]

    assert found == [str(file)] * 3
    with pytest.raises(InvalidInput, match="is a folder"):
        resolve_source(str(tmp_path), OWNER, Settings())
    with pytest.raises(NotFound, match="does not exist"):
        resolve_source(str(tmp_path / "none"), OWNER, Settings())


def test_with_a_key_only_named_folders_are_read_from(tmp_path: Path) -> None:
    """The error does not reveal whether the file exists; links are resolved before that is decided."""
    for name in ("open", "closed"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "api.json").write_bytes(TEXT)
    (tmp_path / "open" / "out.json").symlink_to(tmp_path / "closed" / "api.json")
    settings = Settings(api_sources=(str(tmp_path / "open"),))

    assert resolve_source(str(tmp_path / "open" / "api.json"), KEYED, settings).location.endswith("open/api.json")
    refused = ["closed/api.json", "closed/none", "open/out.json", "open/../closed/api.json"]
    said = set[str]()
    for path in refused:
        with pytest.raises(NotAllowed) as error:
            resolve_source(str(tmp_path / path), KEYED, settings)
        said.add(str(error.value))
    assert len(said) == 1


async def test_files_that_cannot_be_read_say_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Missing, too large, or replaced by a link since they were checked."""
    file = tmp_path / "api.json"
    file.write_bytes(b"x" * 2_000)
    (tmp_path / "link.json").symlink_to(file)

    assert len(await read_file(str(file))) == 2_000
    with pytest.raises(NotFound):
        await read_file(str(tmp_path / "none"))
    with pytest.raises(InvalidInput, match="cannot be read"):
        await read_file(str(tmp_path / "link.json"))
    with pytest.raises(InvalidInput, match="is not a file"):
        await read_file("/dev/null")
    monkeypatch.setattr(sources, "LIMITS", DescriptionLimits(octets=1_000))
    with pytest.raises(InvalidInput, match="larger than"):
        await read_file(str(file))


async def test_an_unchanged_page_is_not_read_again(web: Site) -> None:
    """Its server gets the known validators."""
    address = web.serves("/api.json", TEXT, etag='"1"', last_modified="Sun, 01 Nov 2026 00:00:00 GMT")

    first = await read_source(DescriptionSource(address))
    second = await read_source(DescriptionSource(address), first.validators)

    assert (first.data, second.data) == (TEXT, None)
    assert first.validators == Validators('"1"', "Sun, 01 Nov 2026 00:00:00 GMT")
    assert "if-modified-since: sun, 01 nov" in web.asked[1].lower()


async def test_redirects_are_followed_and_packed_answers_unpacked(web: Site) -> None:
    """As long as they end."""
    web.serves("/new.json", gzip.compress(TEXT), content_encoding="gzip")
    web.serves("/old.json", status=301, location="/new.json")
    web.serves("/ring", status=302, location="/ring")
    web.serves("/file", status=302, location="file:///etc/passwd")
    web.serves("/lost", status=302)

    assert (await read_source(DescriptionSource(f"{web.base}/old.json"))).data == TEXT
    for path, said in {
        "/ring": "too often",
        "/file": "not a valid address",
        "/lost": "without a valid address",
    }.items():
        with pytest.raises(InvalidInput, match=said):
            await read_source(DescriptionSource(f"{web.base}{path}"))


@pytest.mark.parametrize(
    ("status", "headers", "body", "error", "said"),
    [
        (404, {}, b"", NotFound, "does not exist"),
        (410, {}, b"", NotFound, "does not exist"),
        (401, {}, b"", InvalidInput, "sign-in"),
        (403, {}, b"", InvalidInput, "sign-in"),
        (418, {}, b"", InvalidInput, "418"),
        (429, {}, b"", SourceUnavailable, "429"),
        (503, {}, b"", SourceUnavailable, "503"),
        (200, {}, b" <!DOCTYPE html><form>", InvalidInput, "is a web page"),
        (200, {"content_type": "text/html"}, b"Please sign in", InvalidInput, "is a web page"),
        (200, {}, b"  \n", InvalidInput, "is empty"),
        (200, {"content_encoding": "gzip"}, b"no gzip", SourceUnavailable, "cannot be read"),
        (200, {"content_encoding": "gzip"}, gzip.compress(b"{}")[:-9], SourceUnavailable, "breaks off"),
    ],
)
async def test_an_invalid_description_is_named_in_the_error(
    web: Site, status: int, headers: dict[str, str], body: bytes, error: type[ThresherError], said: str
) -> None:
    """The error also says what to do, and nothing is stored."""
    address = web.serves("/api.json", body, status, **headers)

    with pytest.raises(error, match=said) as raised:
        await read_source(DescriptionSource(address))

    assert raised.value.hint


async def test_waiting_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A silent server, and one that does not exist."""
    quiet = await asyncio.start_server(lambda reader, writer: asyncio.Event().wait(), "127.0.0.1", 0)
    monkeypatch.setattr(download, "SECONDS", 0.2)

    async with quiet:
        with pytest.raises(SourceUnavailable, match="was not read"):
            await read_source(DescriptionSource(f"http://127.0.0.1:{quiet.sockets[0].getsockname()[1]}/"))
    with pytest.raises(SourceUnavailable, match="cannot be read"):
        await read_source(DescriptionSource("http://127.0.0.1:1/"))


async def test_an_endless_answer_is_cut_off(web: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if it is small on the wire."""
    monkeypatch.setattr(download, "LIMITS", DescriptionLimits(octets=1_000))
    web.serves("/bomb.json", gzip.compress(b" " * 100_000), content_encoding="gzip")

    with pytest.raises(InvalidInput, match="larger than"):
        await read_source(DescriptionSource(f"{web.base}/bomb.json"))


@pytest.mark.parametrize("encoding", ["gzip, gzip", "deflate, gzip", "br"])
async def test_nested_compression_is_refused(web: Site, encoding: str) -> None:
    """Five kilobytes would become gigabytes at once."""
    web.serves("/bomb.json", gzip.compress(gzip.compress(b" " * 100_000)), content_encoding=encoding)

    with pytest.raises(InvalidInput, match="unsupported content encoding"):
        await read_source(DescriptionSource(f"{web.base}/bomb.json"))


async def test_the_address_of_a_redirect_may_be_signed_and_is_not_shown(web: Site) -> None:
    """Downloads are often redirected to a store that needs a signature; the given address is stored."""
    web.serves("/new.json?sig=word", TEXT)
    web.serves("/old.json", status=302, location="/new.json?sig=word")
    web.serves("/gone.json", status=302, location="/nothing?sig=word")

    assert (await read_source(DescriptionSource(f"{web.base}/old.json"))).data == TEXT
    with pytest.raises(NotFound) as error:
        await read_source(DescriptionSource(f"{web.base}/gone.json"))
    assert "word" not in str(error.value)


async def test_with_a_key_only_public_addresses_are_reached(web: Site) -> None:
    """However they are written, and not by a redirect; what the settings name is reached wherever it is."""
    web.serves("/api.json", TEXT)
    web.serves("/away", status=302, location="http://localhost/secret")
    port = web.base.rpartition(":")[2]
    named = (f"{web.base}/",)

    hosts = ["127.0.0.1", "localhost", "2130706433", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0", "169.254.169.254"]
    for host in hosts:
        with pytest.raises((NotAllowed, SourceUnavailable)):
            await read_source(DescriptionSource(f"http://{host}:{port}/api.json", keyed=True))
    assert web.asked == []
    assert (await read_source(DescriptionSource(f"{web.base}/api.json", keyed=True, named=named))).data == TEXT
    with pytest.raises(NotAllowed, match="not public"):
        await read_source(DescriptionSource(f"{web.base}/away", keyed=True, named=named))


async def test_the_checked_address_is_the_one_connected_to(web: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """A name is resolved once, so that it cannot become another address in between; its server still gets the name."""
    web.serves("/api.json", TEXT)
    port = int(web.base.rpartition(":")[2])
    resolved: list[str] = []

    async def resolve(host: str, *_: object, **__: object) -> list[tuple[int, int, int, str, tuple[str, int]]]:
        resolved.append(host)
        return [(2, 1, 6, "", ("127.0.0.1", port))]

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", resolve)
    monkeypatch.setattr(addresses, "is_public", lambda _: True)
    read = await read_source(DescriptionSource(f"http://api.example:{port}/api.json", keyed=True))

    assert read.data == TEXT
    assert resolved == ["api.example"]
    assert f"host: api.example:{port}" in web.asked[0].lower()


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("93.184.215.14", True),
        ("2606:2800:21f:cb07:6820:80da:af6b:8b2c", True),
        *(
            (one, False)
            for one in ("10.0.0.1", "172.16.3.4", "192.168.1.1", "100.64.0.1", "169.254.169.254", "0.0.0.0")
        ),
        *(
            (one, False)
            for one in (
                "::",
                "::10.0.0.1",
                "64:ff9b:1::a00:1",
                "fec0::1",
                "fe80::1%eth0",
                "fc00::1",
                "::ffff:10.0.0.1",
                "64:ff9b::a00:1",
                "2002:a00:1::",
            )
        ),
        *(
            (one, False)
            for one in (
                "192.0.0.192",
                "192.0.0.9",
                "168.63.129.16",
                "192.88.99.1",
                "::ffff:168.63.129.16",
                "64:ff9b::a83f:8110",
            )
        ),
        *((one, False) for one in ("224.0.0.1", "ff02::1", "255.255.255.255", "192.0.2.1")),
    ],
)
def test_public_addresses_are_recognised(address: str, public: bool) -> None:
    """An address that embeds a private one is private too."""
    assert is_public(address) is public
