"""How the demo calls tools, and what it shows of their answers."""

from __future__ import annotations

from typing import Any

import pytest
from fastmcp import Client, FastMCP
from fastmcp.exceptions import ToolError
from fastmcp.tools import ToolResult

from thresher.calling import RULES_META
from thresher.demo.messages import LocalCall
from thresher.demo.tour import beginning, call_tool, definition_tokens


@pytest.fixture
def gateway() -> FastMCP[Any]:
    """A server with a `call_tool` as the gateway has it."""
    server: FastMCP[Any] = FastMCP("gateway")

    @server.tool
    def call_tool(name: str, arguments: dict[str, Any]) -> str:
        """Calls."""
        if name == "clock_fail":
            raise ToolError("the clock stands still")
        return f"{name} {arguments}"

    return server


@pytest.fixture
def strict() -> FastMCP[Any]:
    """A server that answers the first call with rules, as the gateway does."""
    server: FastMCP[Any] = FastMCP("gateway")
    answers = [ToolResult("Wind it up first.", meta={RULES_META: ["clock"]}, is_error=True), ToolResult("ticks")]

    @server.tool
    def call_tool(name: str, arguments: dict[str, Any]) -> ToolResult:
        """Calls."""
        return answers.pop(0)

    return server


async def test_an_answer_comes_back_with_its_time(gateway: FastMCP[Any]) -> None:
    """The name that clients see, the arguments as they are."""
    async with Client(gateway) as client:
        called = await call_tool(client, LocalCall("clock", "now", {"zone": "UTC"}))

    assert (called.text, called.failed) == ("clock_now {'zone': 'UTC'}", False)
    assert called.ms > 0


async def test_where_rules_come_first_the_call_is_made_again(strict: FastMCP[Any]) -> None:
    """What is shown is the tool's answer, and what the rules cost."""
    async with Client(strict) as client:
        called = await call_tool(client, LocalCall("clock", "now"))

    assert (called.text, called.failed) == ("ticks", False)
    assert (called.rules, called.rules_tokens) == (("clock",), 5)


async def test_a_failed_call_says_so(gateway: FastMCP[Any]) -> None:
    """The tool's own words are kept."""
    async with Client(gateway) as client:
        called = await call_tool(client, LocalCall("clock", "fail"))

    assert called.failed
    assert "the clock stands still" in called.text


async def test_a_definition_costs_its_name_description_and_schema(gateway: FastMCP[Any]) -> None:
    """What a client sends to a model, and nothing else."""
    async with Client(gateway) as client:
        (tool,) = await client.list_tools()

    assert 20 < definition_tokens(tool) < 120


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("", ""),
        ("one\n\n two\n", "one\n two"),
        ('{"a":\n 1}', '{"a": 1}'),
        ("x" * 900, "x" * 800 + " ..."),
        ("\n".join("abcdefghijklmnop"), "\n".join("abcdefghijklm") + " ..."),
    ],
)
def test_the_beginning_of_an_answer_is_shown(text: str, shown: str) -> None:
    """JSON in one line, no blank lines, an ellipsis where more follows."""
    assert beginning(text) == shown
