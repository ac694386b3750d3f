"""The conformance suite directly and through the gateway: which scenarios a client loses by having it in between."""

from __future__ import annotations

from typing import Any

from benchmarks import machine
from tests.conformance.npm import PACKAGES
from tests.conformance.serving import everything, gateway
from tests.conformance.suite import REVISIONS, Scenario, lost, scenarios, table, weaker


def _figures(direct: dict[str, Scenario], through: dict[str, Scenario]) -> dict[str, Any]:
    return {
        "scenarios": len(direct),
        "pass_direct": sum(one.ok for one in direct.values()),
        "pass_through": sum(one.ok for one in through.values()),
        "pass_direct_and_fail_through": lost(direct, through),
        "warned_of_through_alone": weaker(direct, through),
        "fail_direct": [name for name, one in direct.items() if not one.ok],
    }


async def run() -> dict[str, Any]:
    """Print the tables and save what they come to."""
    figures: dict[str, Any] = {"suite": {name: PACKAGES[package] for name, (package, _) in REVISIONS.items()}}
    async with everything() as upstream, gateway(upstream) as url:
        for revision in REVISIONS:
            direct, through = await scenarios(upstream, revision), await scenarios(url, revision)
            print(f"\n{revision}\n\n{table(direct, through)}", flush=True)
            figures[revision] = _figures(direct, through)
            for name in (*lost(direct, through), *weaker(direct, through)):
                print(name, *(through[name].reasons if name in through else ["did not run"]), sep="\n    ", flush=True)
    machine.save("conformance", figures)
    return figures
