"""Answers messages of threads in a process of its own, so that it can be killed.

Run as `python -m tests.agent_chat.talker ADDRESS TENANT LLM PACKS FOLDER`. Each line that it reads is a call (`text`,
`thread`, `settings`, `decisions`) and is answered beside those before it. It prints a line when it is ready, for each
event and for each refusal.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any
from uuid import UUID

from tests.agent_chat.conftest import conversing
from tests.support.product import opened
from thresher.agent import ChatCall
from thresher.agent.conversations import Conversations
from thresher.agent.exchange import Decision
from thresher.context import readiness
from thresher.core import Caller, Settings, ThresherError
from thresher.embedding import open_encoder
from thresher.gateway.packs import tools as pack_tools
from thresher.knowledge.intents import Sources
from thresher.llm import Message
from thresher.store import Database


def be_patient() -> None:
    """Wait for what people are not kept waiting for, as the tests' own process does: the machine may be busy."""
    readiness.FRESH_SECONDS, readiness.ASKED_SECONDS = 0.0, 20.0
    pack_tools.PATIENCE = pack_tools.QUICK_SECONDS = 20.0


def tell(kind: str, text: str = "") -> None:
    """Print a line, at once."""
    os.write(1, json.dumps([kind, text]).encode() + b"\n")


async def answer(conversations: Conversations, caller: Caller, asked: dict[str, Any]) -> None:
    """Run a turn."""
    said = (Message("user", asked["text"]),) if asked["text"] else ()
    decisions = tuple(Decision(**one) for one in asked["decisions"])
    call = ChatCall(said, UUID(asked["thread"]), settings=asked["settings"], decisions=decisions)
    try:
        async for told in conversations.talk(caller, call):
            tell(type(told).__name__, getattr(told, "text", ""))
    except ThresherError as error:
        tell(type(error).__name__, error.message)


async def main(address: str, tenant: str, llm: str, packs: str, folder: str) -> None:
    """Open a product, and answer line after line."""
    be_patient()
    settings = Settings(data_dir=Path(folder), allow_root=True, llm_url=llm, llm_model="fake", database_files=())
    encoder, database = open_encoder(settings), await Database.open(address)
    known = await database.tenant(tenant)
    async with (
        opened(database, known, settings, encoder, Sources(built_in=Path(packs))) as services,
        conversing(services) as (conversations, _),
        asyncio.TaskGroup() as turns,
    ):
        await conversations.warm()
        tell("ready")
        while line := await asyncio.to_thread(sys.stdin.readline):
            turns.create_task(answer(conversations, services.caller, json.loads(line)))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
