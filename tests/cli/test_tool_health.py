"""`thresher tools health` on a running daemon."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.conftest import Command
from tests.daemon.home import fake_server


def test_the_report_names_rules_and_the_share_that_is_found(command: Command, tmp_path: Path) -> None:
    """For people by rule, for programs whole; an unknown server is an error."""
    config = tmp_path / "mcp.json"
    config.write_text(json.dumps({"mcpServers": fake_server(tmp_path)}))
    added = command("servers", "add", "--config", str(config))

    report = command("tools", "health").out
    answer = command("tools", "health", "--json").json
    unknown = command("tools", "health", "-s", "nowhere")

    assert added.code == 0
    assert "More, and whether tools are found: thresher tools health." in added.out
    assert "queries find their tool" in report
    assert set(answer) == {"tools", "left_out", "queries", "found", "findings", "degraded", "measured_at"}
    assert answer["tools"] > 0
    assert {"rule", "tool", "server", "about", "message"} == set(answer["findings"][0])
    assert answer["findings"][0]["tool"] in report
    assert unknown.code == 3
