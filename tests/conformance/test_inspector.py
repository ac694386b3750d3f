"""The inspector's command line as a client of the gateway: JSON out, and an exit code for each outcome."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.conftest import Ends
from tests.conformance.npm import program

pytestmark = [pytest.mark.conformance, pytest.mark.timeout(200)]

FAILED_TOOL = 5
"""The inspector's exit code for a tool that says that it failed."""


async def inspect(home: Path, url: str, method: str, *options: str) -> tuple[int, Any, str]:
    """Run one method; returns exit code, JSON and what was said besides."""
    command = [*program("inspector"), "--cli", url, "--transport", "http", "--method", method, *options]
    process = await asyncio.create_subprocess_exec(
        *command,
        env={**os.environ, "HOME": str(home)},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, error = await asyncio.wait_for(process.communicate(), 60)
    assert process.returncode is not None
    return process.returncode, json.loads(out) if out.strip() else None, error.decode()


async def test_it_lists_what_the_server_lists(ends: Ends, tmp_path: Path) -> None:
    """Every tool with its schema as the server has it, after the gateway's own."""
    _, direct, _ = await inspect(tmp_path, ends.direct, "tools/list")
    code, through, _ = await inspect(tmp_path, ends.through, "tools/list")

    schemas = {tool["name"]: tool["inputSchema"] for tool in through["tools"]}
    assert code == 0
    assert {"find_tools", "describe_tools", "call_tool", "call_tool_write"} <= schemas.keys()
    assert all(schemas[tool["name"]] == tool["inputSchema"] for tool in direct["tools"])


async def test_it_calls_a_tool_by_its_own_name_and_through_call_tool(ends: Ends, tmp_path: Path) -> None:
    """The same blocks either way."""
    own = await inspect(tmp_path, ends.through, "tools/call", "--tool-name", "test_multiple_content_types")
    direct = await inspect(tmp_path, ends.direct, "tools/call", "--tool-name", "test_multiple_content_types")
    arguments = ["--tool-name", "call_tool_write", "--tool-arg", "name=test_simple_text"]
    meta = await inspect(tmp_path, ends.through, "tools/call", *arguments)

    assert own[0] == 0
    assert own[1]["content"] == direct[1]["content"]
    assert meta[1]["content"][0]["text"] == "This is a simple text response for testing."


async def test_a_failed_and_an_unknown_tool_have_their_exit_code(ends: Ends, tmp_path: Path) -> None:
    """The inspector tells them apart in front of the gateway and behind it alike."""
    failed = await inspect(tmp_path, ends.through, "tools/call", "--tool-name", "test_error_handling")
    unknown = await inspect(tmp_path, ends.through, "tools/call", "--tool-name", "no_such_tool")

    assert failed[0] == FAILED_TOOL
    assert "intentionally" in failed[1]["content"][0]["text"]
    assert unknown[0] == FAILED_TOOL
    assert "no_such_tool" in unknown[2]


async def test_it_reads_resources_and_prompts(ends: Ends, tmp_path: Path) -> None:
    """What the server offers besides tools comes through unchanged."""
    listed = await inspect(tmp_path, ends.through, "resources/list")
    resource = await inspect(tmp_path, ends.through, "resources/read", "--uri", "test://static-text")
    arguments = ["--prompt-name", "test_prompt_with_arguments", "--prompt-args", "arg1=a", "arg2=b"]
    prompt = await inspect(tmp_path, ends.through, "prompts/get", *arguments)

    assert "test://static-text" in [entry["uri"] for entry in listed[1]["resources"]]
    assert resource[1]["contents"][0]["text"] == "This is the content of the static text resource."
    assert prompt[1]["messages"][0]["content"]["text"] == "Prompt with arguments: arg1='a', arg2='b'"
