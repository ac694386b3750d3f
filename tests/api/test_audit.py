"""`/v1/audit` over a real port."""

from __future__ import annotations

import pytest

from tests.api.serving import Served, assert_problem
from tests.audit.conftest import attempt
from thresher.audit import StatementOutcome
from thresher.core import Caller


async def test_a_user_sees_his_own_statements_and_a_key_of_the_tenant_all(product: Served) -> None:
    """And nobody another tenant's; whether the log is whole is told to who sees all of it."""
    tenant, whole = await product.key("audited")
    _, user = await product.key("audited", "ada", "of-ada")
    _, other = await product.key("elsewhere")
    log = product.app.services.audit
    decision = await log.decide(Caller(tenant, "ada"), attempt("select 1"))
    await log.end(Caller(tenant, "ada"), decision, StatementOutcome("ok", 1, 2.5))
    await log.decide(Caller(tenant), attempt("drop table a", allowed=False))

    everything = (await product.web.get("/v1/audit", headers=whole)).json()
    mine = (await product.web.get("/v1/audit?since=2020-01-01T00:00:00", headers=user)).json()
    refused = (await product.web.get("/v1/audit?allowed=false&limit=1", headers=whole)).json()
    theirs = (await product.web.get("/v1/audit", headers=other)).json()
    checked = (await product.web.get("/v1/audit/verification", headers=whole)).json()

    assert [one["id"] for one in everything["entries"]] == [3, 1]
    assert [(one["attempt"]["sql"], one["ended"]["rows"]) for one in mine["entries"]] == [("select 1", 1)]
    assert [one["attempt"]["rule"] for one in refused["entries"]] == ["writes"]
    assert theirs == {"entries": [], "next": ""}
    assert (checked["sound"], checked["links"], checked["anchored"]) == (True, 3, 3)
    assert_problem(await product.web.get("/v1/audit/verification", headers=user), 403, "not_allowed")


async def test_what_is_no_question_is_a_problem(keyless: Served) -> None:
    """Unknown filters, limits out of bounds, and heads that are none."""
    for path in ("?limit=0", "?who=ada", "?since=yesterday", "/verification?expect=x"):
        assert_problem(await keyless.web.get(f"/v1/audit{path}"), 422, "invalid_input")
    assert_problem(await keyless.web.get("/v1/audit?cursor=x"), 422, "invalid_cursor")


@pytest.mark.parametrize("field", ["actor", "connection", "text"])
async def test_a_filter_with_what_no_text_of_the_log_holds_is_a_filter_like_others(keyless: Served, field: str) -> None:
    """A NUL is in no entry, and is no failure of ours."""
    answer = await keyless.web.get("/v1/audit", params={field: "no such\0thing"})

    assert (answer.status_code, answer.json()["entries"]) == (200, [])
