"""The worker process: does long work for the daemon that started it (`python -m thresher.worker`).

Invariant: whatever it works with it opens itself; it shares nothing with its parent but the database.

Uses: core, embedding, jobs, knowledge, llm, search, store.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AsyncExitStack

from thresher.core import Settings
from thresher.embedding import open_encoder
from thresher.jobs import Task
from thresher.jobs.worker import work
from thresher.knowledge.apis import SyncTask
from thresher.knowledge.databases import EmbedTask
from thresher.knowledge.documents import IndexTask
from thresher.llm import open_chat
from thresher.search import SearchIndex
from thresher.store import Database


async def open_tasks(settings: Settings, database: Database, stack: AsyncExitStack) -> Sequence[Task]:
    """Everything that a worker can do.

    Args:
        settings: Those of the daemon.
        database: Where the rows are.
        stack: Closes what the tasks hold.
    """
    encoder = open_encoder(settings)
    stack.push_async_callback(encoder.close)
    index = SearchIndex(database, encoder, settings)
    stack.push_async_callback(index.close)
    if (chat := open_chat(settings)) is not None:
        stack.push_async_callback(chat.close)
    return (IndexTask(database, index, settings, chat), EmbedTask(database, index), SyncTask(database, index))


if __name__ == "__main__":
    work(open_tasks)
