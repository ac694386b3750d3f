"""What Thresher is compared with, in the same run: FastMCP's BM25 search, and plain bge-small."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from functools import cache

import numpy as np
from fastmcp.server.transforms.search.bm25 import BM25SearchTransform
from fastmcp.tools import FunctionTool

from thresher.core import Tool, load_settings
from thresher.embedding import FORMER_MODEL, Encoder, open_encoder

Ranker = Callable[[str], Awaitable[list[str]]]
"""A message -> the ten best tool keys, best first."""

DEPTH = 10


async def fastmcp_bm25(tools: Sequence[Tool]) -> Ranker:
    """FastMCP's own search transform over the same definitions."""

    def _body() -> None:
        """Never called: the transform reads definitions alone."""

    names = _distinct([tool.name for tool in tools])
    listed = [
        FunctionTool(name=name, description=tool.description, parameters=dict(tool.input_schema), fn=_body)
        for name, tool in zip(names, tools, strict=True)
    ]
    keys = {id(entry): tool.key for entry, tool in zip(listed, tools, strict=True)}
    transform = BM25SearchTransform(max_results=DEPTH)

    async def rank(message: str) -> list[str]:
        return [keys[id(found)] for found in await transform._search(listed, message)]

    return rank


def _distinct(names: Sequence[str]) -> list[str]:
    """Number namesakes, digit by digit: the transform knows tools by name, and reads no word of one character."""
    seen: Counter[str] = Counter()
    numbered: list[str] = []
    for name in names:
        numbered.append(name + "".join(f"_{digit}" for digit in str(seen[name])) if seen[name] else name)
        seen[name] += 1
    return numbered


@cache
def bge_small() -> Encoder:
    """The encoder that many start with, out of the extra `bge`."""
    return open_encoder(load_settings(model=FORMER_MODEL, model_dir=None, encoder_url=None))


async def plain_dense(tools: Sequence[Tool], encoder: Encoder) -> Ranker:
    """The encoder alone, used as its authors say: cosine of the prefixed message and `name: description`."""
    matrix = await encoder.embed_documents([f"{tool.name}: {tool.description}" for tool in tools])

    async def rank(message: str) -> list[str]:
        (vector,) = await encoder.embed_queries([message], prefixed=True)
        return [tools[index].key for index in np.argsort(-(matrix @ vector), kind="stable")[:DEPTH]]

    return rank


async def interleaved(rank: Ranker, queries: Sequence[str]) -> list[str]:
    """Rank each query on its own and take the results in turn."""
    rankings = [await rank(query) for query in queries]
    turns = (ranking[depth] for depth in range(DEPTH) for ranking in rankings if depth < len(ranking))
    return list(dict.fromkeys(turns))[:DEPTH]
