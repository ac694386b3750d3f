"""The packs that ship with Thresher are whole, true and clean."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from thresher.calling import SCHEMAS
from thresher.embedding import count_tokens
from thresher.knowledge.intents import KnownTools, Pack, lint, read_pack, subject_at
from thresher.knowledge.intents.line_checks import plain_line
from thresher.packs import BUILT_IN

NAMES = ("apis", "databases", "documents", "git", "relations", "tools", "valuelists")
GIT_TOOLS = (
    *("add", "branch", "checkout", "commit", "create_branch", "diff", "diff_staged", "diff_unstaged"),
    *("log", "reset", "show", "status"),
)
KNOWN = KnownTools(
    frozenset({*SCHEMAS, "process_prompt", *(f"git_git_{name}" for name in GIT_TOOLS)}), frozenset({"git"})
)


def pack(name: str) -> Pack:
    """A built-in pack, which must need no mending."""
    read, problems = read_pack(BUILT_IN / name, "built-in")
    assert problems == ()
    return read


def test_these_packs_ship() -> None:
    """Every folder is a pack, and the folder is a real one."""
    assert tuple(sorted(path.name for path in BUILT_IN.iterdir() if (path / "SKILL.md").is_file())) == NAMES


def test_lint_has_nothing_to_say() -> None:
    """No hint either: all sections, a hundred lines, known tools, no line twice or nearly so."""
    assert lint(subject_at([BUILT_IN]), known=KNOWN) == ()


@pytest.mark.parametrize("name", NAMES)
def test_the_scanner_finds_nothing(name: str) -> None:
    """Read from elsewhere, where packs are scanned: a pack that ships is not scanned at each start."""
    assert read_pack(BUILT_IN / name, "configured")[0].findings == ()
    assert pack(name).findings == ()


@pytest.mark.parametrize("name", NAMES)
def test_a_pack_brings_enough_of_everything(name: str) -> None:
    """Lines, near misses, and questions of both kinds that no line repeats."""
    read = pack(name)
    taught = {plain_line(line) for line in (*read.examples, *read.not_examples)}
    asked = [plain_line(query.query) for query in read.evals]

    assert len(read.examples) >= 100
    assert len(read.not_examples) >= 50
    assert sum(query.should_trigger for query in read.evals) >= 40
    assert sum(not query.should_trigger for query in read.evals) >= 40
    assert taught.isdisjoint(asked)
    assert len(set(asked)) == len(asked)


@pytest.mark.parametrize("name", NAMES)
def test_lines_are_diverse(name: str) -> None:
    """Short and long ones, questions and orders, and no beginning that dominates."""
    lines = pack(name).examples
    words = [len(line.split()) for line in lines]
    beginnings = [" ".join(plain_line(line).split()[:2]) for line in lines]

    assert sum(count <= 3 for count in words) >= 10
    assert sum(count >= 12 for count in words) >= 10
    assert sum(line.endswith("?") for line in lines) >= 15
    assert max(beginnings.count(beginning) for beginning in set(beginnings)) <= len(lines) * 0.06


@pytest.mark.parametrize("name", NAMES)
def test_the_rules_are_short_and_decline_in_their_own_words(name: str) -> None:
    """What a model pays for each message that matches; the sentence of the metadata stands in the rules."""
    read = pack(name)

    assert count_tokens(read.rules) < 2_000
    assert read.off_topic in " ".join(read.rules.split())
    assert read.fills_variables
    assert read.keywords


@pytest.mark.parametrize("name", NAMES)
def test_examples_of_calls_are_json(name: str) -> None:
    """What the rules show can be sent as it stands."""
    calls = re.findall(r"`(\{.*?\})`", pack(name).rules.replace("\n", " "))

    assert len(calls) >= 3
    assert all(isinstance(json.loads(call), dict) for call in calls)


async def test_the_git_pack_names_the_tools_and_parameters_of_the_git_server() -> None:
    """As the installed server declares them."""
    server = pytest.importorskip("mcp_server_git.server").create_server(None)
    tools = {tool.name: tool.input_schema for tool in await server.list_tools()}
    details = re.findall(r"^\| `git_(git_\w+)` \| (.*?) \| (.*?) \| ", pack("git").rules, re.MULTILINE)

    named = {
        name: ({*re.findall(r"`(\w+)`", required.split(":")[0])}, optional) for name, required, optional in details
    }

    assert set(tools) == set(named)
    assert {f"git_{name}" for name in GIT_TOOLS} == set(tools)
    for name, schema in tools.items():
        required, optional = named[name]
        assert required | {"repo_path"} == set(schema["required"]), name
        assert all(f"`{parameter}`" in optional for parameter in set(schema["properties"]) - set(schema["required"])), (
            name
        )


def test_packs_are_data_in_the_wheel() -> None:
    """The build takes the whole package folder, and no pack lies outside of it."""
    assert Path(__file__).parents[2] / "src" / "thresher" / "packs" == BUILT_IN


@pytest.mark.parametrize("name", NAMES)
def test_the_short_form_is_short_and_names_what_the_rules_name(name: str) -> None:
    """300 to 500 tokens; each tool, parameter and variable in it stands in the rules too."""
    read = pack(name)
    named = set(re.findall(r"`(\w+)`|\{\{\w+\}\}", read.short))

    assert 300 <= count_tokens(read.short) <= 500
    assert {one for one in named if one and one not in read.rules} == set()
    assert set(re.findall(r"\{\{\w+\}\}", read.short)) <= set(re.findall(r"\{\{\w+\}\}", read.rules))
