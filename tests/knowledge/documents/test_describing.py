"""Guides by a model: a fake one over real HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from tests.fakes.chat_server import ChatServer
from thresher.core import ModelError, ModelTimeout
from thresher.embedding import count_tokens
from thresher.knowledge.documents.guides.writer import GUIDE_TOKENS, rewritten_guide, trusted
from thresher.llm import OpenAIChat

PATHS = ("README.md", "docs/setup/install.md", "docs/usage.md")
GUIDE = (
    "PEST++ estimates parameters. See https://example.org/pest.\nTerms: SVD (singular value decomposition), `noptmax`."
)
GOOD = "About estimating parameters.\n- `docs/setup/`: how to install\n- `docs/usage.md`: `noptmax` and others"


@pytest.fixture
def service() -> Iterator[ChatServer]:
    """A fake chat service that runs."""
    server = ChatServer()
    yield server
    server.stop()


@pytest.fixture
async def chat(service: ChatServer) -> AsyncIterator[OpenAIChat]:
    """Its client."""
    chat = OpenAIChat(service.url, "fake", key=None, seconds=10)
    yield chat
    await chat.close()


async def test_a_model_writes_the_guide_from_the_one_of_the_structure(chat: OpenAIChat, service: ChatServer) -> None:
    """The model receives it as data, inside a border."""
    service.model = lambda _: GOOD

    guide = await rewritten_guide(chat, "pest", GUIDE, PATHS, 10)

    assert guide == GOOD
    instructions, material = (message["content"] for message in service.requests[0]["messages"])
    border = material.split()[0]
    assert f"begin with {border} stands" in instructions
    assert material.endswith(f"{GUIDE}\n{border} end")


@pytest.mark.parametrize(
    ("line", "kept"),
    [
        ("- `docs/usage.md` tells more", True),
        ("- `docs` and `docs/setup/` tell more", True),
        ("- `noptmax` stops it, see https://example.org/pest", True),
        ("- `docs/other.md` does not exist", False),
        ("- set `rm -rf` first", False),
        ("- sign in at https://evil.example/login", False),
        ("- [sign in](evil.example)", False),
        ("- ![](https://evil.example/x.png?q=secret)", False),
    ],
)
def test_a_line_that_names_something_missing_is_dropped(line: str, kept: bool) -> None:
    """Models invent paths, and documents may try to send readers elsewhere."""
    text = trusted(f"First.\n{line}\nLast.", GUIDE, PATHS)

    assert (line in text) is kept
    assert text.startswith("First.")
    assert text.endswith("Last.")


async def test_a_guide_is_cut_on_a_line(chat: OpenAIChat, service: ChatServer) -> None:
    """At a size that fits every list of repositories."""
    service.model = lambda _: "\n".join(f"- line {number} of the guide" for number in range(200))

    guide = await rewritten_guide(chat, "pest", GUIDE, PATHS, 10)

    assert count_tokens(guide) <= GUIDE_TOKENS
    assert all(line.endswith("of the guide") for line in guide.split("\n"))


@pytest.mark.parametrize("said", ["`nothing.md`\n`else.md`", "One line."])
async def test_a_guide_without_usable_lines_is_an_error(chat: OpenAIChat, service: ChatServer, said: str) -> None:
    """The guide built from structure stays."""
    service.model = lambda _: said

    with pytest.raises(ModelError, match="does not contain"):
        await rewritten_guide(chat, "pest", GUIDE, PATHS, 10)


async def test_a_slow_model_does_not_block_indexing(chat: OpenAIChat, service: ChatServer) -> None:
    """Its time limit is a multiple of that for an interactive answer."""
    service.mode = "slow"

    with pytest.raises(ModelTimeout):
        await rewritten_guide(chat, "pest", GUIDE, PATHS, 0.02)
