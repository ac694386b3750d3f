"""A product with something of every kind: a repository, an API, a database, servers with tools."""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from pydantic import SecretStr

from tests.api.serving import Served, served
from tests.console.person import person
from tests.support import Databases
from tests.support.product import ListedServer, listed
from tests.support.tracker import TRACKER
from thresher.calling import Call
from thresher.core import Settings, ThresherError, Tool
from thresher.knowledge.documents import origin_of

LEAVE = "# Leave\n\nEverybody has thirty days of holiday.\n\n<script>alert(1)</script>\n\n[x](javascript:alert(1))\n"
TOOLS = (
    Tool("git", "git_log", description="Show the commit logs of a repository."),
    Tool("git", "git_commit", description="Record changes to the repository."),
    Tool("git", "git_diff", description="Show the changes between two commits."),
    Tool("mail", "send_email", description="Send an email message to a person."),
    Tool("mail", "list_folders", description="<script>alert(1)</script> List the folders of the mailbox."),
    Tool("weather", "forecast", description="Forecast of the weather at a place."),
)
SHOP = """
create table customer (id integer primary key, name text);
create table invoice (id integer primary key, customer_id integer references customer (id), total real);
insert into customer values (1, '<b>Ann</b>'), (2, '=1+1'), (3, null);
insert into invoice values (1, 1, 10.5), (2, 2, 3), (3, 1, 4);
"""


@asynccontextmanager
async def filled_product(databases: Databases, folder: Path) -> AsyncGenerator[Served]:
    """The product, on a database of its own.

    Args:
        databases: Where its database is.
        folder: An empty folder that the database's account can enter.
    """
    data, files, name = folder / secrets.token_hex(4), folder / secrets.token_hex(4), await databases.create()
    data.mkdir()
    (files / "handbook").mkdir(parents=True)
    (files / "handbook" / "leave.md").write_text(LEAVE, encoding="utf-8")
    (files / "handbook" / "logo.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0")
    (files / "tracker.yaml").write_text(TRACKER, encoding="utf-8")
    connection = sqlite3.connect(files / "shop.sqlite")
    connection.executescript(SHOP)
    connection.close()
    url = SecretStr(databases.url(name))
    settings = Settings(data_dir=data, allow_root=True, database_url=url, home_packs="off", workers=0)
    async with served(settings) as product:
        services = product.app.services
        await services.documents.index_here(services.caller, "handbook", origin_of(str(files / "handbook")))
        await services.tools.import_tools(services.caller, TOOLS)
        async with person(product) as owner:
            await owner.see("/knowledge/databases")
            await owner.do("/knowledge/databases", name="shop", url=f"sqlite:///{files / 'shop.sqlite'}")
            await owner.see("/knowledge/databases/shop")
            await owner.do("/knowledge/databases/shop/refresh")
            await owner.see("/knowledge/apis")
            await owner.do("/knowledge/apis", sources=str(files / "tracker.yaml"), name="tracker")
        yield product
    await databases.drop(name)


NONSENSE = "zxqv wvut plomb"
HOSTILE = "<script>alert(1)</script> plomb \u202e zxqv"
NEEDS_KEY = {"type": "object", "properties": {"key": {"type": "string"}}, "required": ["key"]}


@asynccontextmanager
async def used_product(databases: Databases, folder: Path) -> AsyncGenerator[Served]:
    """A product that keeps texts and was used: messages with and without an answer, calls that worked and failed.

    Arguments as of `filled_product`.
    """
    data, files, name = folder / secrets.token_hex(4), folder / secrets.token_hex(4), await databases.create()
    data.mkdir()
    files.mkdir()
    settings = Settings(
        data_dir=data,
        allow_root=True,
        database_url=SecretStr(databases.url(name)),
        home_packs="off",
        workers=0,
        log_text="on",
    )
    async with served(settings) as product:
        services = product.app.services
        box = ListedServer.at(files, "box", listed("open_box", "Open the box and show what is in it."))
        safe = ListedServer.at(files, "safe", listed("open_safe", "Open the safe.", inputSchema=NEEDS_KEY))
        for server in (box, safe):
            await services.tools.add_server(services.caller, server.config)
            await services.tools.refresh(services.caller, server.config.name)
        safe.breaks()  # it is kept, and waits for a person
        await services.tools.refresh(services.caller, "safe")
        for message in ("open the box and show what is in it", NONSENSE, NONSENSE, HOSTILE):
            await services.context.get_context(services.caller, message)
        for tool in ("box_open_box", "box_open_box", "safe_open_safe"):
            with suppress(ThresherError):
                await services.calling.call(services.caller, Call(tool, {}))
        await services.tools.settle()
        await services.intents.settle()
        await services.insight.contexts.settle()
        yield product
    await databases.drop(name)
