"""`/v1/jobs` over a real port."""

from __future__ import annotations

from tests.api.serving import Served, assert_problem
from thresher.core import Caller
from thresher.jobs import Job

TASK = "elsewhere.only"
"""No worker of ours does it, so its jobs stay as they are."""


async def defer(product: Served, caller: Caller) -> Job:
    """Ask for work."""
    services = product.app.services
    async with services.database.transaction(caller.tenant) as connection:
        return await services.jobs.defer(connection, caller.tenant, TASK, 1, owner=caller.user)


async def test_jobs_are_listed_shown_and_cancelled_by_those_whose_they_are(product: Served) -> None:
    """Another tenant's key sees none of them."""
    job = await defer(product, product.app.services.caller)
    _, other = await product.key("other")
    _, mine = await product.key("local")
    listed = (await product.web.get("/v1/jobs", headers=mine)).json()["jobs"]
    shown = (await product.web.get(f"/v1/jobs/{job.id}", headers=mine)).json()

    assert listed == [shown]
    assert (shown["id"], shown["task"], shown["state"], shown["ended_at"]) == (job.id, TASK, "waiting", None)
    assert (await product.web.get("/v1/jobs", headers=other)).json() == {"jobs": []}
    assert_problem(await product.web.get(f"/v1/jobs/{job.id}", headers=other), 404, "not_found")
    assert_problem(await product.web.post(f"/v1/jobs/{job.id}/cancel", headers=other), 404, "not_found")
    cancelled = await product.web.post(f"/v1/jobs/{job.id}/cancel", headers=mine)
    assert cancelled.json()["state"] == "cancelled"
    assert_problem(await product.web.post(f"/v1/jobs/{job.id}/cancel", headers=mine), 409, "conflict")


async def test_what_is_no_number_is_a_problem(keyless: Served) -> None:
    """Or a number that no job can have, or a limit out of bounds."""
    assert_problem(await keyless.web.get("/v1/jobs/last"), 422, "invalid_input")
    assert_problem(await keyless.web.get(f"/v1/jobs/{2**70}"), 404, "not_found")
    assert_problem(await keyless.web.get("/v1/jobs?limit=0"), 422, "invalid_input")
