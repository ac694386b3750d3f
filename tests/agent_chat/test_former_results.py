"""Results of tools in the turns after their own: their shape and their cursor, no longer all of them."""

from __future__ import annotations

import json

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage

from thresher.agent.transcript import FORMER_RESULT, shown
from thresher.embedding import count_tokens

ROWS = json.dumps([{"id": number, "name": f"item {number}"} for number in range(2_000)])
CURSOR = "\n[The result has 20,000 tokens; this is a part of it. Read more with read_result, cursor 12.3]"


def turn(text: str, result: str, *, failed: bool = False) -> list[AnyMessage]:
    """A question, the call of a tool, and its answer."""
    call = {"name": "list_items", "args": {}, "id": text, "type": "tool_call"}
    status = "error" if failed else "success"
    return [
        HumanMessage(text),
        AIMessage("", tool_calls=[call]),
        ToolMessage(result, tool_call_id=text, name="list_items", status=status),
    ]


def test_large_results_of_earlier_turns_shrink() -> None:
    """To a shape with the line of the cursor; those of this turn, small ones and failures stay."""
    former = [*turn("a", ROWS), *turn("b", ROWS[:6_000] + CURSOR), *turn("c", "few"), *turn("d", ROWS, failed=True)]
    seen = shown([*former, *turn("now", ROWS)], 1_000_000)
    results = [str(one.text) for one in seen if isinstance(one, ToolMessage)]

    assert json.loads(results[0])["shape"].startswith("[2000 x {id: 0 … 1999")
    assert count_tokens(results[0]) <= FORMER_RESULT
    assert results[1].endswith(CURSOR)
    assert count_tokens(results[1]) <= FORMER_RESULT + count_tokens(CURSOR)
    assert results[2:] == ["few", ROWS, ROWS]
