"""The tools of packs, as clients of both eras find and call them."""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fastmcp import Client
from fastmcp.exceptions import McpError

from tests.architecture.source import ROOT
from tests.gateway.packing import RULES, TOOLS, call, changed, text, with_packs, write_pack
from tests.gateway.talking import connect, served
from tests.support import eventually
from tests.support.product import CATALOGUE
from thresher.core import Caller, Settings, Tenant
from thresher.embedding import Encoder
from thresher.gateway import build_gateway
from thresher.services import Services
from thresher.store import Database


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where the packs lie."""
    place = tmp_path / "packs"
    place.mkdir()
    return place


@pytest.fixture
async def services(
    database: Database, tenant: Tenant, settings: Settings, encoder: Encoder, folder: Path
) -> AsyncIterator[Services]:
    """Services that use the packs of the folder, and hold up no call."""
    quiet = settings.model_copy(update={"rules_first": "off"})
    async with with_packs(database, tenant, quiet, encoder, folder) as services:
        await services.tools.import_tools(services.caller, CATALOGUE)
        yield services


@pytest.fixture(params=["auto", "legacy"])
def mode(request: pytest.FixtureRequest) -> str:
    """The client's era."""
    return request.param


async def test_a_pack_s_tool_is_found_described_and_called(services: Services, folder: Path, mode: str) -> None:
    """Like a tool of a server; what it returns is converted as FastMCP does it."""
    write_pack(folder, "ship", code=TOOLS)
    async with Client(build_gateway(services), mode=mode) as client:
        await eventually(lambda: _finds(client, "list the releases of a product", "ship_releases"))
        described = await call(client, "describe_tools", names=["ship_releases"])
        called = await call(client, "call_tool", name="ship_releases", arguments={"product": "Anvil", "most": "2"})
        directly = await call(client, "ship_releases", product="Anvil", most=1)

    assert "List the releases of a product." in text(described)
    assert called.structured_content == {"result": ["Anvil 0", "Anvil 1"]}
    assert directly.structured_content == {"result": ["Anvil 0"]}
    assert not called.is_error


async def test_a_tool_that_says_nothing_counts_as_writing(services: Services, folder: Path) -> None:
    """As a server's does."""
    write_pack(folder, "ship", code="from fastmcp.tools import tool\n@tool\ndef go() -> str:\n    return 'gone'\n")
    async with Client(build_gateway(services)) as client:
        refused = await call(client, "call_tool", name="ship_go", arguments={})
        done = await call(client, "call_tool_write", name="ship_go", arguments={})

    assert "call_tool_write" in text(refused)
    assert text(done) == "gone"


CONTEXT = """
import threading
from fastmcp import Context
from fastmcp.dependencies import Depends
from fastmcp.tools import tool
from thresher.core import Caller, acting_caller

LOOP = threading.get_ident()

@tool
def who(caller: Caller = Depends(acting_caller)) -> str:
    return caller.tenant.name

@tool
async def also(ctx: Context) -> dict[str, str]:
    await ctx.report_progress(1, 2)
    return {"tenant": acting_caller().tenant.name, "server": ctx.fastmcp.name}

@tool
def thread() -> str:
    return threading.current_thread().name

@tool
def values():
    yield from (1, 2)
"""


async def test_a_function_knows_its_caller(services: Services, folder: Path, mode: str) -> None:
    """By a dependency or by asking; blocking functions run in threads of their own, FastMCP's context is there."""
    write_pack(folder, "ship", code=CONTEXT)
    tenant = services.caller.tenant.name
    async with Client(build_gateway(services), mode=mode) as client:
        who = await call(client, "ship_who")
        also = await call(client, "ship_also")
        thread = await call(client, "ship_thread")
        values = await call(client, "ship_values")
        described = await call(client, "describe_tools", names=["ship_who"])

    assert text(who) == tenant
    assert also.structured_content == {"tenant": tenant, "server": "Thresher"}
    assert text(thread) == "pack ship"
    assert "[1" in text(values).replace("\n", "").replace(" ", "")
    assert "caller" not in str(described.structured_content)


FAILING = """
import asyncio, sys, time
from fastmcp.exceptions import ToolError
from fastmcp.tools import tool
from thresher.core import InvalidInput

@tool
def wrong(path: str) -> str:
    raise KeyError(path)

@tool
async def leave() -> str:
    sys.exit(3)

@tool
def leave_blocking() -> str:
    raise SystemExit("bye")

@tool
def said() -> str:
    raise ToolError("No such release.")

@tool
def ours() -> str:
    raise InvalidInput("Not that one.", hint="Take another.")

@tool(timeout=0.2)
def endless() -> str:
    while True:
        pass

@tool(timeout=0.2)
async def sleeping() -> str:
    await asyncio.sleep(3600)
    return ""

@tool
def stops() -> str:
    return next(iter(()))
"""


async def test_what_goes_wrong_is_a_tool_error(
    services: Services, folder: Path, mode: str, caplog: pytest.LogCaptureFixture
) -> None:
    """With its kind and place, a trace id, and no traceback; that is in the log. Nothing ends the daemon."""
    write_pack(folder, "ship", code=FAILING)
    answers: dict[str, str] = {}
    async with Client(build_gateway(services), mode=mode) as client:
        for name in ("leave", "leave_blocking", "said", "ours", "endless", "sleeping", "stops"):
            result = await call(client, f"ship_{name}")
            assert result.is_error, name
            answers[name] = text(result)
        with caplog.at_level(logging.ERROR, logger="thresher.gateway"):
            wrong = await call(client, "ship_wrong", path="/etc/secret")

    assert "'wrong' of the pack 'ship' failed: KeyError: '/etc/secret' (tools.py, line 9) [trace " in text(wrong)
    assert "Traceback" not in text(wrong)
    assert any(record.exc_info for record in caplog.records)
    assert "it called sys.exit" in answers["leave"]
    assert "it called sys.exit" in answers["leave_blocking"]
    assert "No such release." in answers["said"]
    assert "Not that one. Take another." in answers["ours"]
    assert "took longer than 0.2 s" in answers["endless"]
    assert "took longer than 0.2 s" in answers["sleeping"]
    assert "StopIteration" in answers["stops"]


async def test_a_stopped_function_leaves_no_thread(services: Services, folder: Path) -> None:
    """An endless loop ends at its next instruction; the loop's other work goes on meanwhile."""
    write_pack(folder, "ship", code=FAILING)
    async with Client(build_gateway(services)) as client:
        await call(client, "ship_endless")
        await eventually(lambda: _no_threads("pack ship"))


BROKEN = {
    "syntax": "def broken(:\n",
    "leaves": "import sys\nsys.exit()\n",
    "fails": "x = 1\nraise ValueError('no data base')\n",
    "shadows": "import fastmcp.tools\nfrom fastmcp.tools import tool\n@tool\ndef find_tools() -> str:\n    return 'x'\n"
    "@tool(name='find_tools')\ndef second() -> str:\n    return 'y'\n"
    "@tool\ndef many(*things: str) -> str:\n    return 'z'\n",
}


async def test_a_broken_pack_stops_no_other(services: Services, folder: Path) -> None:
    """What is wrong is said where packs are listed; the rules of the pack are used all the same."""
    for name, code in BROKEN.items():
        write_pack(folder, name, code=code)
    write_pack(folder, "ship", code=TOOLS)
    async with Client(build_gateway(services)) as client:
        done = await call(client, "ship_releases", product="Anvil")
        shadowing = await call(client, "call_tool_write", name="shadows_find_tools", arguments={})
        packs = await services.intents.packs(services.caller)

    problems = {problem.path.parent.name: problem.message for problem in packs.problems}
    assert not done.is_error
    assert text(shadowing) == "x"
    assert "SyntaxError" in problems["syntax"]
    assert problems["syntax"].count("(tools.py, line 1)") == 1
    assert "it called sys.exit" in problems["leaves"]
    assert "ValueError: no data base (tools.py, line 2)" in problems["fails"]
    assert "two tools 'find_tools'" in problems["shadows"]
    assert "'many' is not a valid tool" in problems["shadows"]
    assert {pack.name for pack in packs.active} == {*BROKEN, "ship"}


async def test_a_pack_that_never_ends_its_import_holds_nobody_up(
    services: Services, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Requests go on after a while, and say that tools may be missing; its thread ends with the gateway."""
    monkeypatch.setattr("thresher.gateway.packs.tools.PATIENCE", 0.1)
    monkeypatch.setattr("thresher.gateway.packs.tools.LOAD_SECONDS", 3600)
    monkeypatch.setattr("thresher.gateway.packs.tools.QUICK_SECONDS", 0.05)
    write_pack(folder, "loops", code="while True:\n    pass\n")
    write_pack(folder, "ship", code=TOOLS)
    async with Client(build_gateway(services)) as client, asyncio.timeout(20):
        found = await call(client, "find_tools", queries=["git log"])
        early = await call(client, "call_tool", name="loops_anything", arguments={})
        await eventually(lambda: _works(client, "ship_releases", product="Anvil"))
        problems = (await services.intents.packs(services.caller)).problems
    await eventually(lambda: _no_threads("pack loops"))

    assert not found.is_error
    assert "still being read; ask again" in text(early)
    assert not problems


async def test_an_import_that_takes_too_long_is_stopped_and_reported(
    services: Services, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The pack's rules stay in use."""
    monkeypatch.setattr("thresher.gateway.packs.tools.LOAD_SECONDS", 0.2)
    write_pack(folder, "loops", code="while True:\n    pass\n")
    async with Client(build_gateway(services)) as client, asyncio.timeout(20):
        await call(client, "find_tools", queries=["git log"])
        await eventually(lambda: _has_problem(services, "not imported within 0.2 s"))
        await eventually(lambda: _no_threads("pack loops"))
        packs = await services.intents.packs(services.caller)

    assert "loops" in {pack.name for pack in packs.active}


async def test_changed_code_takes_the_place_of_the_former(services: Services, folder: Path) -> None:
    """And is unloaded when the pack goes."""
    write_pack(folder, "ship", code=TOOLS)
    async with Client(build_gateway(services)) as client:
        before = await call(client, "ship_releases", product="Anvil")
        write_pack(folder, "ship", code=TOOLS.replace("def releases", "def versions"))
        await changed(services)
        gone = await call(client, "ship_releases", product="Anvil")
        after = await call(client, "ship_versions", product="Anvil")
        (folder / "ship" / "tools.py").unlink()
        await changed(services)
        none = await call(client, "ship_versions", product="Anvil")
        await eventually(_no_modules)

    assert not before.is_error
    assert "There is no tool 'ship_releases'" in text(gone)
    assert not after.is_error
    assert "There is no tool 'ship_versions'" in text(none)


async def test_code_of_a_project_runs_only_when_trusted(
    database: Database, tenant: Tenant, settings: Settings, encoder: Encoder, folder: Path, tmp_path: Path
) -> None:
    """Not before, not changed, not any more, and not in another project."""
    project = tmp_path / "project"
    marker = tmp_path / "ran"
    code = f"open({str(marker)!r}, 'a').close()\n{TOOLS}"
    write_pack(project / ".agents" / "skills", "ship", code=code)
    quiet = settings.model_copy(update={"rules_first": "off"})
    async with with_packs(database, tenant, quiet, encoder, folder) as opened:
        services = _working_in(opened, project)
        async with Client(build_gateway(services)) as client, Client(build_gateway(opened)) as elsewhere:
            untrusted = await call(client, "ship_releases", product="Anvil")
            ran_untrusted = marker.exists()
            held = (await services.intents.packs(services.caller)).inert[0].pack
            await services.intents.trust(services.caller, "ship", held.digest)
            trusted = await call(client, "ship_releases", product="Anvil")
            other = await call(elsewhere, "ship_releases", product="Anvil")
            write_pack(project / ".agents" / "skills", "ship", code=code + "\n# changed\n")
            await changed(services)
            altered = await call(client, "ship_releases", product="Anvil")

    assert "There is no tool" in text(untrusted)
    assert not ran_untrusted
    assert trusted.structured_content == {"result": ["Anvil 0", "Anvil 1", "Anvil 2"]}
    assert "There is no tool" in text(other)
    assert "There is no tool" in text(altered)


async def test_the_example_of_the_page_works(services: Services, folder: Path) -> None:
    """As it stands in the documentation."""
    page = (ROOT / "docs" / "howto" / "pack-tools.md").read_text(encoding="utf-8")
    write_pack(folder, "relations", code=page.partition("```python\n")[2].partition("```")[0])
    async with Client(build_gateway(services)) as client:
        listed = await call(client, "call_tool", name="relations_list_relations", arguments={"table": "customers"})
        made = await call(
            client, "call_tool_write", name="relations_make_relation", arguments={"primary": "a", "foreign": "b"}
        )

    assert listed.structured_content == {"result": [f"customers_to_orders ({services.caller.tenant.name})"]}
    assert text(made) == "a_to_b"


HOSTILE = """
import asyncio
from fastmcp.tools import tool

class Mute(BaseException):
    def __str__(self):
        raise ValueError

@tool
def mute() -> str:
    raise Mute

@tool
async def gives_up() -> str:
    raise asyncio.CancelledError

@tool
async def group() -> str:
    raise BaseExceptionGroup("both", [SystemExit(), KeyError("x")])

@tool
def surrogate() -> str:
    return "a \\ud800 b"

@tool
def number() -> dict[str, float]:
    return {"value": float("nan")}

@tool
def endless() -> dict[str, object]:
    made = {}
    made["self"] = made
    return made

@tool
def fine() -> str:
    return "fine"
"""


async def test_no_function_ends_a_session(services: Services, folder: Path, mode: str) -> None:
    """Whatever it raises or returns, the client is answered, and can call the next one."""
    write_pack(folder, "ship", code=HOSTILE)
    async with asyncio.timeout(60), served(services) as url, connect(url, mode) as client:
        for name in ("mute", "gives_up", "group", "endless"):
            result = await call(client, f"ship_{name}")
            assert result.is_error, name
        surrogate = await call(client, "ship_surrogate")
        number = await call(client, "ship_number")
        fine = await call(client, "ship_fine")

    assert "a " in text(surrogate)
    assert number.content
    assert text(fine) == "fine"


ASKING = """
import datetime as dt
from fastmcp import Context
from fastmcp.tools import tool
from pydantic import Field
from typing import Annotated

@tool
async def sure(ctx: Context) -> str:
    answer = await ctx.elicit("Really?", bool)
    return answer.action

@tool
def even(number: Annotated[int, Field(multiple_of=2)]) -> int:
    return number

@tool
def data() -> bytes:
    return b"\\xff"

@tool
def on(day: dt.date) -> str:
    return day.isoformat()
"""


async def test_a_function_can_ask_the_client_of_its_call(services: Services, folder: Path) -> None:
    """As a FastMCP tool does, in a session; a client of the stateless era is told why it cannot be asked."""

    async def answer(*_: Any) -> dict[str, bool]:
        return {"value": True}

    write_pack(folder, "ship", code=ASKING)
    async with served(services) as url:
        async with connect(url, "legacy", elicitation_handler=answer) as client:
            asked = await call(client, "ship_sure")
        async with connect(url, "auto", elicitation_handler=answer) as client:
            stateless = await call(client, "ship_sure")

    assert text(asked) == "accept"
    assert stateless.is_error
    assert "Traceback" not in text(stateless)


async def test_arguments_that_do_not_fit_are_said(services: Services, folder: Path, mode: str) -> None:
    """By the schema that the function's types make, and in our words where only its types can tell."""
    write_pack(folder, "ship", code=ASKING)
    async with Client(build_gateway(services), mode=mode) as client:
        odd = await call(client, "ship_even", number=3)
        missing = await call(client, "ship_even")
        date = await call(client, "ship_on", day="some day")
        data = await call(client, "ship_data")

    assert odd.is_error
    assert "multiple of 2" in text(odd)
    assert text(date).startswith("on: day: must be a date, such as 2026-03-01. describe_tools")
    assert missing.is_error
    assert not data.is_error


async def test_another_tenant_has_the_packs_of_the_machine(
    services: Services, folder: Path, database: Database
) -> None:
    """With its own switches, and its own name for the caller."""
    write_pack(folder, "ship", code=CONTEXT)
    other = replace(services, caller=Caller(await database.tenant("other-tenant")))
    async with Client(build_gateway(services)) as client, Client(build_gateway(other)) as theirs:
        await call(client, "ship_who")
        await services.tools.set_tool(services.caller, "ship_who", enabled=False)
        ours = await call(client, "ship_who")
        who = await call(theirs, "ship_who")

    assert ours.is_error
    assert text(who) == "other-tenant"


async def test_the_rules_are_prompts_and_resources(services: Services, folder: Path, mode: str) -> None:
    """One prompt a pack, whose request is optional; its files as they lie there, but for its code."""
    place = write_pack(folder, "ship", code=TOOLS)
    (place / "notes").mkdir()
    (place / "notes" / "a b.md").write_text("More.", encoding="utf-8")
    (place / "logo.png").write_bytes(b"\x89PNG\x00\xff")
    async with Client(build_gateway(services), mode=mode) as client:
        prompts = await client.list_prompts()
        bare = await client.get_prompt("ship")
        filled = await client.get_prompt("ship", {"request": "ship the anvil"})
        resources = await client.list_resources()
        main = await client.read_resource("skill://ship/SKILL.md")
        notes = await client.read_resource("skill://ship/notes/a%20b.md")
        same = await client.read_resource("skill://ship/notes/a b.md")
        logo = await client.read_resource("skill://ship/logo.png")
        for wrong in ("tools.py", "../ship/SKILL.md", "%2e%2e/%2e%2e/etc/passwd", "none.md", "", ".git/config"):
            with pytest.raises(McpError, match="There is no resource"):
                await client.read_resource(f"skill://ship/{wrong}")
        with pytest.raises(McpError, match="has no argument 'other'"):
            await client.get_prompt("ship", {"other": "x"})

    assert [prompt.name for prompt in prompts] == ["ship"]
    assert [argument.required for argument in prompts[0].arguments or ()] == [False]
    assert RULES in bare.messages[0].content.text  # type: ignore[union-attr]
    assert "ship the anvil" in filled.messages[0].content.text  # type: ignore[union-attr]
    assert [str(resource.uri) for resource in resources] == ["skill://ship/SKILL.md"]
    assert main[0].text == (place / "SKILL.md").read_text(encoding="utf-8")  # type: ignore[union-attr]
    assert notes[0].text == same[0].text == "More."  # type: ignore[union-attr]
    assert logo[0].blob == "iVBORwD/"  # type: ignore[union-attr]


async def _finds(client: Client[Any], query: str, name: str) -> bool:
    result = await call(client, "find_tools", queries=[query])
    tools = (result.structured_content or {"tools": []})["tools"]
    return bool(tools) and tools[0]["name"] == name


async def _works(client: Client[Any], name: str, **arguments: Any) -> bool:
    return not (await call(client, name, **arguments)).is_error


async def _no_threads(name: str) -> bool:
    return all(thread.name != name for thread in threading.enumerate())


async def _no_modules() -> bool:
    return not [name for name in sys.modules if name.startswith("thresher_pack_")]


async def _has_problem(services: Services, words: str) -> bool:
    problems = (await services.intents.packs(services.caller)).problems
    return any(words in problem.message for problem in problems)


def _working_in(services: Services, project: Path) -> Services:
    """The same services, for an owner who works in a project."""
    return replace(services, caller=replace(services.caller, project=str(project)))
