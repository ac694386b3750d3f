"""Components as a client and a person see them, through a real daemon."""

from __future__ import annotations

import json
from pathlib import Path

from tests.components.modules import BROKEN, FORECAST, PROMPT, RESOURCES, put
from tests.daemon.home import Home, opened
from tests.support import Databases, eventually


async def test_a_client_calls_reads_and_prompts(open_folder: Path, databases: Databases, tmp_path: Path) -> None:
    """What a tool prints does not disturb the protocol; a broken module is in the list and in the doctor's report."""
    put(tmp_path, tools_weather=FORECAST, tools_bad=BROKEN, prompts_greeting=PROMPT, resources_notes=RESOURCES)
    name = await databases.create()
    settings = {"THRESHER_DATABASE_URL": databases.url(name), "THRESHER_COMPONENTS_DIR": str(tmp_path)}
    with opened(open_folder / "components-daemon", **settings) as home:
        client = home.client()
        client.greet()
        listed = await eventually(lambda: _loaded(home), seconds=90)
        answer = client.call("call_tool_write", name="forecast", arguments={"city": "Rome"})
        prompts = client.ask("prompts/list")["result"]["prompts"]
        greeting = next(prompt["name"] for prompt in prompts if "greeting" in prompt["name"])
        prompt = client.ask("prompts/get", {"name": greeting, "arguments": {"name": "Ada"}})["result"]
        addresses = [one["uri"] for one in client.ask("resources/list")["result"]["resources"]]
        notes = next(address for address in addresses if "notes" in address)
        note = client.ask("resources/read", {"uri": notes})["result"]
        table = home.run("components", "list")
        refreshed = home.run("components", "refresh", "--json")
        checks = json.loads(home.run("doctor", "--json").stdout)
        key = home.json("keys", "add", "guest")["key"]
        refused = home.run("components", "list", settings={"THRESHER_KEY": key})
        client.leave()
    await databases.drop(name)

    assert answer["content"][0]["text"] == "Sun in Rome"
    assert prompt["messages"][0]["content"]["text"] == "Say hello to Ada."
    assert note["contents"][0]["text"] == "buy milk"
    assert {file["path"] for file in listed["files"] if file["problem"]} == {"tools/bad.py"}
    assert "tools: forecast" in table.stdout
    assert refreshed.returncode == 1
    assert "division by zero" in str([check for check in checks if check["name"] == "components"])
    assert "nobody with a key" in refused.stderr


def _loaded(home: Home) -> dict[str, object] | None:
    listed = home.json("components", "list")
    return None if listed["loading"] or not listed["files"] else listed
