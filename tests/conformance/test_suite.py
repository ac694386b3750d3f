"""The conformance suite in front of the gateway and behind it: a client must lose nothing by having it in between."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conformance.conftest import Ends
from tests.conformance.suite import REVISIONS, lost, read, scenarios, table, weaker

pytestmark = [pytest.mark.conformance, pytest.mark.timeout(400)]


@pytest.mark.parametrize("revision", REVISIONS)
async def test_what_passes_in_front_of_the_gateway_passes_behind_it(ends: Ends, revision: str) -> None:
    """Every scenario of the revision, without a warning that is not there in front; the reference server passes all."""
    direct = await scenarios(ends.direct, revision)
    through = await scenarios(ends.through, revision)

    assert [name for name, one in direct.items() if not one.ok] == []
    assert lost(direct, through) == [], table(direct, through)
    assert {name: through[name].reasons for name in weaker(direct, through)} == {}


def test_a_suite_that_says_nothing_is_no_success(tmp_path: Path) -> None:
    """A crash of the suite must not look like a run without failures."""
    with pytest.raises(RuntimeError, match="no result"):
        read("Error: something\n", tmp_path)


def test_scenarios_are_read_and_extensions_left_out(tmp_path: Path) -> None:
    """Marks and counts as the suite prints them."""
    said = "✓ ping: 9 passed, 0 failed\n=== SUMMARY ===\n✓ ping: 2 passed, 0 failed\n✗ a: 0 passed, 1 failed\n"
    found = read(said + "✗ tasks-x: 0 passed, 1 failed\n", tmp_path)

    assert [(one.name, one.ok, one.passed, one.failed) for one in found.values()] == [
        ("ping", True, 2, 0),
        ("a", False, 0, 1),
    ]
    assert lost(found, {}) == ["ping"]
