"""`thresher tools improve` from a file of definitions to a report, JSON, SARIF and an exit status."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.conftest import Command

POOL = [
    {"server": "shop", "name": "delete_order", "description": "Handles the things you need."},
    {"server": "shop", "name": "list_orders", "description": "List the orders of a customer."},
    {"server": "mail", "name": "send_email", "description": "Send an email to a person."},
]


def written(folder: Path) -> str:
    """The path of the definitions, a tool on each line."""
    file = folder / "tools.json"
    file.write_text("[\n" + ",\n".join(json.dumps(entry) for entry in POOL) + "\n]")
    return str(file)


def test_a_file_of_definitions_is_judged_without_a_server(command: Command, tmp_path: Path) -> None:
    """People read score, findings and proposals; programs get the record; a low score ends with 1."""
    arguments = ("tools", "improve", "shop", "--definitions", written(tmp_path))

    report = command(*arguments, "--min-score", "1")
    answer = command(*arguments, "--format", "json").json
    failed = command(*arguments, "--json", "--min-score", "100")

    worst = answer["tools"][0]
    assert (report.code, failed.code) == (0, 1)
    assert f"shop: {answer['score']} of 100" in report.out
    assert (worst["name"], worst["findings"][-1]["rule"]) == ("delete_order", "vague-description")
    assert worst["proposal"].startswith("Delete the order")
    assert "proposal: Delete the order" in report.out
    assert answer["rivals"] == 1


def test_sarif_names_rule_tool_and_line(command: Command, tmp_path: Path) -> None:
    """Version 2.1.0, with the file as it was given."""
    path = written(tmp_path)
    log = json.loads(command("tools", "improve", "shop", "--definitions", path, "-f", "sarif").out)

    (run,) = log["runs"]
    (vague,) = [one for one in run["results"] if one["ruleId"] == "vague-description"]
    location = vague["locations"][0]["physicalLocation"]
    assert log["version"] == "2.1.0"
    assert {one["ruleId"] for one in run["results"]} <= {rule["id"] for rule in run["tool"]["driver"]["rules"]}
    assert (location["artifactLocation"]["uri"], location["region"]["startLine"]) == (path, 2)
    assert vague["properties"]["proposal"]


def test_a_server_or_a_file_is_needed(command: Command, tmp_path: Path) -> None:
    """An unknown server, and a file of several servers without a name, are refused."""
    assert command("tools", "improve").code == 2
    assert command("tools", "improve", "nowhere").code == 3
    several = command("tools", "improve", "--definitions", written(tmp_path))
    assert "2 servers; which one" in several.err
