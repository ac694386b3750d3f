"""`POST /v1/ai/query`: exactly what it says it answers, for whoever asks."""

from __future__ import annotations

from tests.api.serving import Served, assert_problem

QUERY = "/v1/ai/query"
EXACT = {
    "": {"query", "intent", "response", "session_id"},
    "intent": {"type", "confidence", "tools"},
    "response": {"type", "results", "total", "query", "filters_applied", "text", "notes"},
}


async def test_a_question_gets_exactly_these_fields(keyless: Served) -> None:
    """Also where nothing is installed; the conversation goes on, and null is as good as nothing."""
    first = (await keyless.web.post(QUERY, json={"query": "how do I add a watcher?"})).json()
    named = {"query": "more", "session_id": first["session_id"], "context": None}
    second = (await keyless.web.post(QUERY, json=named)).json()

    assert set(first) == EXACT[""]
    assert all(set(first[part]) == EXACT[part] for part in ("intent", "response"))
    assert first["query"] == first["response"]["query"] == "how do I add a watcher?"
    assert "thresher apis add" in first["response"]["text"]
    assert second["session_id"] == first["session_id"]


async def test_a_bad_question_is_a_problem(keyless: Served) -> None:
    """Blank, too long, of another type, with a field that is none, in a conversation that is none."""
    for body in ({"query": " "}, {"query": "x" * 5_000}, {"query": 7}, {"query": "x", "model": "y"}, {}):
        assert_problem(await keyless.web.post(QUERY, json=body), 422, "invalid_input")
    unknown = await keyless.web.post(QUERY, json={"query": "x", "session_id": "nobody-has-this"})

    assert_problem(unknown, 404, "not_found")
