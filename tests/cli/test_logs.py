"""The figures of the logs and the purge, on the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Command
from tests.cli.test_views import text
from tests.daemon.home import Home, fake_server
from tests.support import eventually
from thresher.cli.knowledge import tools


@pytest.fixture(scope="module")
def home(own_home: Home) -> Home:
    """A home of this module's own: it counts searches and calls."""
    return own_home


def figures(**changes: Any) -> dict[str, Any]:
    """The answer to `tools stats` without any rows."""
    times = {f"{name}_ms": None for name in ("latency_p50", "latency_p95", "latency_p99", "embedding_p50")}
    shares = dict.fromkeys(("embedded_share", "fallback_rate", "abstained_share", "degraded_share", "error_rate"))
    calls = {"calls": 0, "asked_calls": 0, "chosen_share": None, "shadow_chosen_share": None, "mean_rank": None}
    tools = {"tools": 0, "never_chosen": [], "most_chosen": [], "called_unchosen": []}
    counts = {"since": "2026-01-02T03:04:05+00:00", "discoveries": 0, "shadow": 0, "sources": {}, "lost_rows": 0}
    return times | shares | calls | tools | counts | changes


async def test_what_was_found_and_called_shows_in_the_figures(command: Command, tmp_path: Path) -> None:
    """For people a table, for programs every figure; then nothing is left of it."""
    config = tmp_path / "mcp.json"
    config.write_text(json.dumps({"mcpServers": fake_server(tmp_path)}))
    assert command("servers", "add", "--config", str(config)).code == 0
    for _ in range(3):
        assert command("tools", "find", "echo", "--threshold", "0").code == 0

    found = await eventually(
        lambda: (answer := command("tools", "stats", "--json").json)["discoveries"] == 3 and answer
    )
    people = command("tools", "stats", "--days", "1")
    elsewhere = command("tools", "stats", "--tenant", "nobody", "--json")
    young = command("purge", "--json").json
    purged = command("purge", "--older-than", "0")
    left = command("tools", "stats", "--json").json

    assert found["latency_p99_ms"] >= found["latency_p50_ms"] > 0
    assert found["fallback_rate"] == 0
    assert found["tools"] > 0
    assert people.code == 0
    assert "discoveries" in people.out
    assert elsewhere.code == 3
    assert young["rows"] == left["discoveries"] == 0
    assert purged.out == "Removed 3 log rows and 0 unused embeddings.\n"


def test_a_wrong_period_is_told_in_one_line(command: Command) -> None:
    """With the exit code of a wrong argument."""
    for arguments in (("tools", "stats", "--days", "0"), ("purge", "--older-than", "-1")):
        ended = command(*arguments)

        assert ended.code == 2
        assert ended.err.startswith("thresher: ")


def test_a_figure_without_data_is_a_dash() -> None:
    """It is not a number."""
    shown = text(tools.figures(figures()))

    assert "- / - / -" in shown
    assert "never chosen            0 of 0 tools" in shown
    assert "none" in shown


def test_what_needs_a_look_is_said() -> None:
    """Fallbacks above the target, rows that were lost, names that found no room."""
    names = [f"tool{number}" for number in range(25)]
    counted = [{"name": "a_b", "count": 1234}]
    shown = text(
        tools.figures(
            figures(
                fallback_rate=0.002,
                lost_rows=7,
                never_chosen=names,
                tools=30,
                most_chosen=counted,
                shadow=2,
                sources={"hybrid": 5, "none": 0},
                mean_rank=1.25,
                chosen_share=0.5,
                latency_p50_ms=1.26,
            )
        )
    )

    for words in (
        "0.20 % - above the target",
        "7: the database did not take them",
        "25 of 30 tools",
        "and 5 more",
        "a_b 1,234",
        "2 in shadow",
        "hybrid 5",
        "1.3 ms",
    ):
        assert words in " ".join(shown.split()), words
