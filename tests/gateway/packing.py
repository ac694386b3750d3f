"""Packs for tests of the gateway: folders, and a gateway that finds them."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fastmcp import Client
from mcp_types import CallToolResult

from tests.support.product import opened
from thresher.core import Settings, Tenant
from thresher.embedding import Encoder
from thresher.knowledge.intents import Sources
from thresher.services import Services
from thresher.store import Database

RULES = "Ship on Mondays only."
TOOLS = '''
from fastmcp.tools import tool

@tool(annotations={"readOnlyHint": True})
def releases(product: str, most: int = 3) -> list[str]:
    """List the releases of a product."""
    return [f"{product} {number}" for number in range(most)]
'''


def write_pack(folder: Path, name: str, *, rules: str = RULES, code: str = "", **metadata: str) -> Path:
    """A folder with a pack; written anew where it is there."""
    place = folder / name
    place.mkdir(parents=True, exist_ok=True)
    extra = "".join(f"\n  {key}: {value!r}" for key, value in metadata.items())
    front = f"name: {name}\ndescription: How we {name} our products." + (f"\nmetadata:{extra}" if extra else "")
    (place / "SKILL.md").write_text(f"---\n{front}\n---\n\n{rules}\n", encoding="utf-8")
    (place / "examples.txt").write_text(f"{name} the product\nwe want to {name} it now\n", encoding="utf-8")
    if code:
        (place / "tools.py").write_text(code, encoding="utf-8")
    return place


@asynccontextmanager
async def with_packs(
    database: Database, tenant: Tenant, settings: Settings, encoder: Encoder, folder: Path
) -> AsyncGenerator[Services]:
    """Services that use the packs of a folder."""
    async with opened(database, tenant, settings, encoder, Sources(configured=(folder,))) as services:
        yield services


async def call(client: Client[Any], name: str, /, **arguments: Any) -> CallToolResult:
    """The answer as it comes over the wire, errors included."""
    return await client.call_tool_mcp(name, arguments)


def text(result: CallToolResult) -> str:
    """The text of an answer."""
    return "".join(block.text for block in result.content if block.type == "text")


async def changed(services: Services) -> None:
    """Have a change of a pack's files seen at once."""
    await services.intents.reload(services.caller)
