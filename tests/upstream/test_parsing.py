from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thresher.core import InvalidInput
from thresher.upstream import ServerConfig, parse_servers

CLAUDE = {
    "mcpServers": {
        "time": {"command": "uvx", "args": ["mcp-server-time", 8], "env": {"TZ": "UTC"}, "disabled": True},
        "files": {"type": "stdio", "command": "npx", "args": ["-y", "files", "${userHome}/docs"], "cwd": "/tmp"},
        "web": {"type": "streamable-http", "url": "https://example.com/mcp", "headers": {"X-Key": "${KEY}"}},
    }
}


def problem(entry: object, variables: dict[str, str] | None = None, name: str = "one") -> str:
    """The one problem of a file with this entry beside a good one."""
    parsed = parse_servers({"mcpServers": {name: entry, "good": {"command": "x"}}}, variables or {})
    assert [server.name for server in parsed] == ["good"]
    (found,) = parsed.problems
    assert found.server == name
    return str(found)


def test_reads_the_file_that_claude_and_cursor_share() -> None:
    """Commands, addresses, environment, headers and the disabled mark all arrive."""
    parsed = parse_servers(CLAUDE, {"KEY": "k", "HOME": "/home/me"})

    assert parsed.problems == ()
    assert list(parsed) == [
        ServerConfig("time", "stdio", command="uvx", args=("mcp-server-time", "8"), env={"TZ": "UTC"}, enabled=False),
        ServerConfig("files", "stdio", command="npx", args=("-y", "files", "/home/me/docs"), cwd="/tmp"),
        ServerConfig("web", "http", url="https://example.com/mcp", headers={"X-Key": "k"}),
    ]


def test_reads_the_files_of_vs_code_with_comments_and_trailing_commas() -> None:
    """A `//` inside a text is not a comment; inputs are reported, and so is the entry that needs one."""
    text = """\ufeff{
      // my servers
      "inputs": [{"id": "token", "type": "promptString"}],
      "servers": {
        "a": {"type": "http", "url": "https://a.example/mcp", /* here */ },
        "b": {"command": "b", "env": {"T": "${input:token}"}},
      },
    }"""

    parsed = parse_servers(text, {})

    assert [server.url for server in parsed] == ["https://a.example/mcp"]
    assert "inputs: token" in str(parsed.problems[0])
    assert "${input:token}" in str(parsed.problems[1])
    assert parse_servers({"mcp": {"servers": {"a": {"command": "x"}}}}, {})[0].command == "x"


def test_a_broken_text_is_reported_with_its_line_and_column() -> None:
    """Blanking comments out keeps the positions true."""
    with pytest.raises(InvalidInput, match="line 3, column 18"):
        parse_servers('{ // first\n "mcpServers": {\n "a": {"command" "x"}\n}}', {})


@pytest.mark.parametrize("document", ["", "[]", "3", "{}", '{"mcpServers": []}', "[" * 100_000, "x" * 5_000_001])
def test_what_is_no_server_file_is_refused(document: str) -> None:
    """The error shows what such a file looks like, or how large it may be."""
    with pytest.raises(InvalidInput, match="server file"):
        parse_servers(document, {})


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(), lambda x: st.lists(x) | st.dictionaries(st.text(), x)
    )
)
def test_no_entry_however_odd_loses_the_others(entry: object) -> None:
    """Every entry is either usable or reported."""
    parsed = parse_servers(json.dumps({"mcpServers": {"odd": entry, "good": {"command": "x"}}}), {})

    assert parsed[-1].name == "good"
    assert len(parsed) + len(parsed.problems) == 2


def test_variables_are_filled_in_wherever_a_text_stands() -> None:
    """Plain, with `env:`, with a default; values are not expanded again and `$NAME` stays."""
    entry = {"command": "${BIN}", "args": ["${env:A}-${B:-two}", "$A", "${E:-}"], "env": {"X": "${A}${A}"}}

    (server,) = parse_servers({"mcpServers": {"s": entry}}, {"BIN": "run", "A": "${B}", "E": ""})

    assert server.command == "run"
    assert server.args == ("${B}-two", "$A", "")
    assert server.env == {"X": "${B}${B}"}


@pytest.mark.parametrize(("variables", "state"), [({}, "not set"), ({"KEY": ""}, "empty")])
def test_a_missing_variable_is_named_and_never_becomes_empty(variables: dict[str, str], state: str) -> None:
    """The problem names the server, the field, the variable and what to do."""
    said = problem({"url": "https://x.example", "headers": {"Authorization": "Bearer ${KEY}"}}, variables)

    assert said.startswith("Server 'one'")
    assert f"KEY is {state}" in said
    assert "'headers.Authorization'" in said
    assert "${KEY:-value}" in said


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ("npx", "not an object"),
        ({}, "neither"),
        ({"command": "x", "url": "https://x"}, "both"),
        ({"command": " "}, "empty"),
        ({"command": 3.5}, "'command' must be a text"),
        ({"command": "x", "args": "x"}, "'args' must be a list"),
        ({"command": "x", "args": [None]}, "'args[0]' must be a text"),
        ({"command": "x", "args": ["\0"]}, "NUL"),
        ({"command": "x", "env": ["A=1"]}, "'env' must be an object"),
        ({"command": "x", "envFile": ".env"}, "envFile"),
        ({"command": "x", "disabled": "yes"}, "true or false"),
        ({"command": "x", "type": "sse"}, "does not fit"),
        ({"url": "https://x.example", "type": "stdio"}, "does not fit"),
        ({"url": "https://x.example", "type": "carrier-pigeon"}, "does not fit"),
        ({"url": "file:///etc/passwd"}, "not an http"),
        ({"url": "https://[bad"}, "not an http"),
        ({"url": "https://x.example", "headers": {"A B": "x"}}, "not a valid HTTP header"),
        ({"url": "https://x.example", "headers": {"A": "x\r\nB: y"}}, "not a valid HTTP header"),
        ({"command": "x", "cwd": "${workspaceFolder}"}, "workspaceFolder"),
    ],
)
def test_each_kind_of_broken_entry_says_what_is_wrong(entry: object, said: str) -> None:
    """One sentence with the field's name."""
    assert said in problem(entry)


def test_a_server_name_that_cannot_prefix_tools_gets_a_suggestion() -> None:
    """Spaces are common in Claude Desktop's files."""
    assert "'My-Server'" in problem({"command": "x"}, name="My Server!")
    assert "'my-server'" in problem({"command": "x"}, name="***")


def test_plain_scalars_become_texts() -> None:
    """Ports and flags are often written without quotes."""
    (server,) = parse_servers({"mcpServers": {"s": {"command": "x", "args": [8080, 1.5], "env": {"D": True}}}}, {})

    assert server.args == ("8080", "1.5")
    assert server.env == {"D": "true"}
