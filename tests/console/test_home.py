"""Home: figures of today, what waits, servers; and how to begin."""

from __future__ import annotations

import html
import re
import sys
from pathlib import Path

import httpx

from tests.api.serving import Served
from tests.console.person import Person, said
from tests.support.product import LISTED, ListedServer
from thresher.console.pages.home import settled_at
from thresher.gateway import MCP_PATH
from thresher.insight import AttentionItem
from thresher.upstream import parse_servers


async def test_an_empty_system_explains_itself(owner: Person) -> None:
    """Three ways to add something, and each client's configuration, with the address of this port."""
    page = await owner.see("/")

    text = said(page)
    assert "Nothing is connected yet" in text
    assert 'name="document"' in page
    assert 'action="/knowledge/documents"' in page
    assert "thresher demo" in text
    for client in ("Claude Code", "Claude Desktop", "Cursor", "VS Code", "Codex"):
        assert client in text
    assert f"{str(owner.web.base_url).rstrip('/')}{MCP_PATH}" in text


async def test_the_shown_configurations_can_be_read(product: Served, owner: Person) -> None:
    """Also by Thresher itself, with the data folder of the product that shows them."""
    page = await owner.see("/")
    blocks = [html.unescape(one) for one in re.findall(r'<pre class="wrap" id="client[^>]*>([^<]*)</pre>', page)]

    files = [parse_servers(one, {}) for one in blocks if one.startswith("{")]

    assert len(files) >= 4
    assert all(len(servers) == 1 and not servers.problems for servers in files)
    assert any(str(product.app.services.settings.data_dir) in one for one in blocks)


async def test_a_key_is_told_how_to_send_itself(stranger: Person) -> None:
    """No program of the owner's machine, and a place for the key; nothing of the other tenant."""
    page = said(await stranger.see("/"))

    assert "Authorization: Bearer YOUR_KEY" in page
    assert "stdio" not in page
    assert "box" not in page
    assert "Only whoever runs this Thresher may add servers" in page


async def test_figures_of_today_lead_to_what_is_behind_them(user: Person) -> None:
    """Tokens against all definitions, calls with failures, and what got nothing."""
    page = await user.see("/")

    text = said(page)
    assert "Tokens handed out today" in text
    assert "saved" in text
    assert "1 failed" in text
    assert "Without an answer today 3" in text
    assert 'href="/insight/calls?days=1&amp;outcome=failed"' in page
    assert "Nothing is connected yet" not in text


async def test_what_waits_is_named_with_its_page_and_counted_on_every_page(user: Person) -> None:
    """The server that cannot be listed, with what to do; other pages show the number."""
    home = await user.see("/")
    other = await user.see("/insight")

    assert "The server 'safe' cannot be listed" in said(home)
    assert 'href="/servers/safe"' in home
    assert "thresher servers refresh safe" in said(home)
    assert 'class="count"' in other.partition("<main")[0]
    assert "waiting for a person" in other


async def test_what_waits_for_others_is_not_counted(user: Person, stranger: Person) -> None:
    """Each caller has a number of their own."""
    await user.see("/")
    page = await stranger.see("/")

    assert 'class="count"' not in page
    assert "safe" not in said(page)


async def test_servers_are_a_strip_that_lives(user: Person) -> None:
    """Those with problems first; the stream sends the same part."""
    page = await user.see("/")

    async with user.web.stream("GET", "/home/servers") as stream:
        lines = await _first_event(stream)

    strip = page.partition('<ul class="strip">')[2]
    assert strip.index("safe") < strip.index("box")
    assert "does not answer; its last tools are kept" in strip
    assert any("box" in line for line in lines)


async def _first_event(stream: httpx.Response) -> list[str]:
    lines: list[str] = []
    async for line in stream.aiter_lines():
        if not line:
            break
        lines.append(line)
    return lines


async def test_a_pasted_file_is_added_from_home(owner: Person, tmp_path: Path) -> None:
    """One form, and the outcome of each server."""
    await owner.see("/")
    program = ListedServer.at(tmp_path, "spare")
    document = (
        f'{{"mcpServers": {{"spare": {{"command": "{sys.executable}", "args": ["{LISTED}", "{program.file}"]}}}}}}'
    )

    answer = await owner.send("/servers/add", what="file", document=document)

    assert "spare added" in said(answer.text)


def test_each_kind_of_thing_that_waits_has_a_page() -> None:
    """Names of others are quoted."""
    kinds = ("tool", "pack", "server", "repository", "api", "connection", "job")
    items = [AttentionItem(kind, "a/b?c", "failed", "It failed.", "", None) for kind in kinds]
    sign_in = AttentionItem("server", "mail", "sign-in", "It needs a sign-in.", "", None)

    assert [settled_at(one) for one in items] == [
        "/tools/a%2Fb%3Fc",
        "/knowledge/packs/a%2Fb%3Fc",
        "/servers/a%2Fb%3Fc",
        "/knowledge/documents/a%2Fb%3Fc",
        "/knowledge/apis/a%2Fb%3Fc",
        "/knowledge/databases/a%2Fb%3Fc",
        "/settings/jobs?job=a%2Fb%3Fc",
    ]
    assert settled_at(sign_in) == "/servers/mail#sign-in"
