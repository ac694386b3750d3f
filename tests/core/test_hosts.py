"""Hosts in the addresses that people and servers give: one reading, or none."""

from __future__ import annotations

import pytest

from thresher.core import Caller, InvalidInput, Tenant, UpstreamRefused, is_host
from thresher.knowledge.apis.ingestion.sources import checked_address
from thresher.knowledge.documents import origin_of
from thresher.llm.service import service_address
from thresher.upstream import ServerConfig, parse_servers
from thresher.upstream.oauth.endpoint import check_address

ODD = (
    *("0177.0.0.1", "0x7f.1", "0x7f000001", "2130706433", "127.1", "127.0.0.1.", "1.2.3.256", "1.2.3.4.5"),
    *(
        "\uff11\uff12\uff17.0.0.1",
        "127\u30020\u30020\u30021",
        "\u2460.0.0.1",
        "a..b",
        ".a",
        "xn--",
        "a" * 64,
        "\u3002",
        "a b",
    ),
)


@pytest.mark.parametrize(
    "host", ["localhost", "a.example", "A.example.", "db_1", "m\u00fcller.example", "127.0.0.1", "::1"]
)
def test_hosts_as_everybody_writes_them_are_taken(host: str) -> None:
    """Names, names of other scripts, and addresses in their usual form."""
    assert is_host(host)


@pytest.mark.parametrize("host", ODD)
def test_a_host_in_an_odd_spelling_is_refused_wherever_an_address_comes_in(host: str) -> None:
    """Descriptions of APIs, models and encoders, servers, repositories, and what a server says of its sign-in."""
    url = f"http://{host}/x"
    problems = parse_servers({"mcpServers": {"a": {"url": url}}}, {}).problems

    assert not is_host(host)
    assert problems
    for read in (
        lambda: checked_address(url),
        lambda: service_address(url, "The address", "Give the key beside it."),
        lambda: origin_of(f"https://{host}/x", caller=Caller(Tenant(1, "local"))),
    ):
        with pytest.raises(InvalidInput):
            read()
    with pytest.raises(UpstreamRefused, match="not safe"):
        check_address(ServerConfig("a", "http", url="https://a.example/mcp"), f"https://{host}/token")


@pytest.mark.parametrize(
    "url", ["http://[::1", "http://a:99999/", "http://a:x/", "http://[v1.x]/", "http:///x", "http://"]
)
def test_a_broken_address_of_a_sign_in_is_refused(url: str) -> None:
    """It is a server's word, and no failure of ours."""
    with pytest.raises(UpstreamRefused, match="not safe"):
        check_address(ServerConfig("a", "http", url="https://a.example/mcp"), url)
    with pytest.raises(InvalidInput):
        service_address(url, "The address", "Give the key beside it.")
