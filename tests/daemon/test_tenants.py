"""Tenants by name: only a key makes a new one."""

from __future__ import annotations

import pytest

from tests.daemon.home import Home

pytestmark = pytest.mark.timeout(300)  # several processes import everything, beside other tests

NOT_FOUND = 3


async def test_a_mistyped_tenant_is_an_error_that_names_near_ones_and_makes_none(light: Home) -> None:
    """For whatever takes a tenant but `keys add`, which says that it made one."""
    made = light.json("keys", "add", "ann", "--tenant", "acme-team")
    again = light.json("keys", "add", "bob", "--tenant", "acme-team")

    wrong = [
        light.run(*command, "--tenant", "acme-taem")
        for command in (("keys", "list"), ("keys", "revoke", "ann"), ("tools", "stats"), ("purge",))
    ]

    assert (made["new_tenant"], again["new_tenant"]) == (True, False)
    assert [done.returncode for done in wrong] == [NOT_FOUND] * len(wrong)
    assert all("acme-team" in done.stderr for done in wrong)
    assert light.run("keys", "list", "--tenant", "acme-taem").returncode == NOT_FOUND
