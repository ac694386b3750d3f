"""`thresher tools improve` from a file of definitions to a report, JSON, SARIF and an exit status."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.cli.conftest import Command
from tests.support.product import ListedServer, listed

HTTP_SERVER = Path(__file__).parent.parent / "fakes" / "http_server.py"
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


def test_a_server_that_is_being_written_is_listed_and_not_added(command: Command, tmp_path: Path) -> None:
    """It is judged beside the catalogue, without the installed server of its name, which goes on."""
    draft = ListedServer.at(tmp_path, "draft", listed("delete_order", "Handles the things you need."))
    running = ListedServer.at(tmp_path, "shop", listed("list_orders", "Lists the orders of a customer."))
    command("servers", "add", "shop", "--command", running.config.command, "--", *running.config.args)
    arguments = ("tools", "improve", "shop", "--command", draft.config.command)

    report = command(*arguments, "--", *draft.config.args)
    answer = command(*arguments, "--json", "--", *draft.config.args).json
    known = command("tools", "list", "--json").json

    assert report.code == 0
    assert "proposal: Delete the order" in report.out
    assert "rewrites apply" not in report.out
    assert [tool["name"] for tool in answer["tools"]] == ["delete_order"]
    assert [tool["name"] for tool in known if tool["tool"]["server"] == "shop"] == ["shop_list_orders"]
    assert not [one for one in command("servers", "list", "--json").json if "draft" in one["name"]]
    assert command("servers", "remove", "shop").code == 0


def test_a_draft_is_reached_over_http(command: Command) -> None:
    """By an address, with headers."""
    with subprocess.Popen([sys.executable, str(HTTP_SERVER)], stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        url = f"http://127.0.0.1:{int(server.stdout.readline())}/mcp"
        answer = command("tools", "improve", "web", "--url", url, "--header", "X-Test: 1", "--json").json
        server.kill()

    assert answer["server"] == "web"
    assert answer["tools"]


def test_a_draft_that_cannot_be_used_says_why(command: Command, tmp_path: Path) -> None:
    """A missing program, a broken or an empty list, options that do not belong together."""
    empty = ListedServer.at(tmp_path, "empty")
    ended = {
        "missing": command("tools", "improve", "x", "--command", "/none/such"),
        "empty": command("tools", "improve", "x", "--command", empty.config.command, "--", *empty.config.args),
        "name": command("tools", "improve", "x y", "--command", empty.config.command),
    }
    wrong = [
        ("--command", "a"),
        ("x", "--command", "a", "--url", "http://127.0.0.1:1/mcp"),
        ("x", "--definitions", "a.json", "--command", "a"),
        ("x", "--url", "http://127.0.0.1:1/mcp", "--env", "A=1"),
        ("x", "--env", "A=1"),
        ("x", "--", "argument"),
    ]

    assert {name: end.code for name, end in ended.items()} == {"missing": 8, "empty": 3, "name": 2}
    assert "lists no tools" in ended["empty"].err
    assert [command("tools", "improve", *one).code for one in wrong] == [2] * len(wrong)
