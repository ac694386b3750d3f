"""Results with more than text, and how long they are kept."""

from __future__ import annotations

import json

import pytest

from thresher.core import JSON, NotFound
from thresher.embedding import count_tokens
from thresher.results import Delivery, KeptResult, Results
from thresher.services import Services

ROWS = [{"id": number, "name": f"item {number}"} for number in range(4_000)]


def said(answer: JSON) -> str:
    """What the texts of an answer say."""
    return "\n".join(block["text"] for block in answer["content"] if block["type"] == "text")


@pytest.mark.parametrize("budget", [100, 500])
@pytest.mark.parametrize("mime", ["image/png", "image/" + "x y " * 20_000])
async def test_images_are_told_within_the_budget(services: Services, budget: int, mime: str) -> None:
    """However many there are, and whatever they are called, there is room for the text, and its end is reached."""
    image = {"type": "image", "data": "AAAA", "mimeType": mime}
    answer = {"content": [{"type": "text", "text": "word " * 3_000}, *[image] * 12]}
    part = await services.results.deliver(services.caller, answer, Delivery("paint", budget=budget))

    assert count_tokens(said(part)) <= budget
    assert "read_result, cursor" in said(part)
    assert part["content"].count(image) == 12


@pytest.mark.parametrize("budget", [100, 500])
async def test_a_small_text_beside_large_structure_leaves_room(services: Services, budget: int) -> None:
    """The part is valid JSON."""
    image = {"type": "image", "data": "AAAA", "mimeType": "image/png"}
    answer = {"content": [{"type": "text", "text": "four words are here"}, image], "structuredContent": {"rows": ROWS}}
    part = await services.results.deliver(services.caller, answer, Delivery("list", budget=budget))

    assert count_tokens(said(part)) <= budget
    assert json.loads(part["content"][-2]["text"])["left_out"]


async def test_structure_beside_a_large_text_is_said_to_be_left_out(services: Services) -> None:
    """It is not what the text says."""
    answer = {
        "content": [{"type": "text", "text": "# Report\n\nNothing. " * 9_000}],
        "structuredContent": {"rows": ROWS},
    }
    part = await services.results.deliver(services.caller, answer, Delivery("report"))

    assert "structuredContent" not in part
    assert "structured content: only with budget 0" in said(part)


async def test_what_another_process_has_purged_is_gone(services: Services) -> None:
    """Though this one remembers it; so is what is too old."""
    caller, other = services.caller, Results(services.database, services.secrets, services.settings)
    cursor = await services.results.keep(caller, KeptResult("list", "text"))
    before = (await services.results.kept(caller, f" {cursor} ")).text
    await other.purge(caller, 0)
    with pytest.raises(NotFound):
        await services.results.kept(caller, cursor)

    short = Results(services.database, services.secrets, services.settings.model_copy(update={"result_hours": 1e-9}))
    old = await short.keep(caller, KeptResult("list", "text"))
    with pytest.raises(NotFound):
        await short.kept(caller, old)

    assert before == "text"


@pytest.mark.parametrize("cursor", ["", "x", "\0", "ABCDEF012345", "0" * 5_000, "'; --"])
async def test_no_other_text_is_a_cursor(services: Services, cursor: str) -> None:
    """It reaches no database."""
    with pytest.raises(NotFound):
        await services.results.read(services.caller, cursor)


async def test_reading_on_keeps_within_the_limit_of_a_client(services: Services) -> None:
    """As the first part does."""
    wide = Results(services.database, services.secrets, services.settings.model_copy(update={"result_tokens": 50_000}))
    cursor = await wide.keep(services.caller, KeptResult("list", json.dumps(ROWS)))
    part = await wide.read(services.caller, cursor, client="codex-mcp-client")

    assert part.tokens <= 10_000
