"""`/v1/insight` and `/v1/cases` over a real port."""

from __future__ import annotations

from tests.api.serving import Served, assert_problem


async def test_insight_of_another_tenant_is_not_seen(product: Served) -> None:
    """A message of one tenant counts for it alone."""
    _, mine = await product.key("local")
    _, other = await product.key("other")
    answer = await product.web.post("/v1/context", headers=mine, json={"message": "zxqv wvut plomb"})
    assert answer.status_code == 200
    services = product.app.services
    await services.insight.contexts.settle()
    await services.intents.settle()
    await services.tools.settle()

    usage = [(await product.web.get("/v1/insight/usage?days=2", headers=one)).json() for one in (mine, other)]
    unanswered = [(await product.web.get("/v1/insight/unanswered", headers=one)).json() for one in (mine, other)]

    assert [one["total"]["messages"] for one in usage] == [1, 0]
    assert len(usage[0]["days"]) == 3
    assert [len(one["messages"]) for one in unanswered] == [1, 0]
    assert unanswered[0]["texts_kept"] is False
    assert (await product.web.get("/v1/insight/intents", headers=mine)).json()["days"][-1]["messages"] == 1
    assert (await product.web.get("/v1/insight/calls?failed=true", headers=mine)).json()["calls"] == []
    assert (await product.web.get("/v1/insight/attention", headers=mine)).json()["unread"] == {}


async def test_cases_are_saved_run_and_removed(product: Served) -> None:
    """Another tenant sees none of them."""
    _, mine = await product.key("local")
    _, other = await product.key("other")
    line = {"message": "zxqv wvut plomb", "needs": {"tools": ["git_log"]}}
    made = await product.web.post("/v1/cases", headers=mine, json=line)
    imported = await product.web.post("/v1/cases/import", headers=mine, json={"cases": [line, {**line, "needs": {}}]})

    run = await product.web.post("/v1/cases/runs", headers=mine)

    case = made.json()["id"]
    assert made.status_code == 201
    assert imported.json() == {"added": 0, "replaced": 2}
    assert (run.json()["cases"], run.json()["passed"]) == (1, 1)
    assert (await product.web.get("/v1/cases/runs/last", headers=mine)).json()["run"]["id"] == run.json()["id"]
    assert len((await product.web.get("/v1/cases/runs", headers=mine)).json()["runs"]) == 1
    assert (await product.web.get("/v1/cases", headers=other)).json() == {"cases": []}
    assert (await product.web.get("/v1/cases/runs/last", headers=other)).json() == {"run": None}
    assert_problem(await product.web.delete(f"/v1/cases/{case}", headers=other), 404, "not_found")
    assert (await product.web.delete(f"/v1/cases/{case}", headers=mine)).status_code == 204
    assert (await product.web.get("/v1/cases", headers=mine)).json() == {"cases": []}


async def test_what_is_out_of_bounds_is_a_problem(keyless: Served) -> None:
    """Periods, limits, unknown names in the query, cases without a message."""
    for path in ("usage?days=0", "usage?days=1e9", "unanswered?limit=501", "calls?before=0", "calls?serer=x"):
        assert_problem(await keyless.web.get(f"/v1/insight/{path}"), 422, "invalid_input")
    for body in ({"message": ""}, {"message": "x", "needs": {"spells": ["a"]}}, {"message": "x", "verb": "ask"}):
        assert_problem(await keyless.web.post("/v1/cases", json=body), 422, "invalid_input")
