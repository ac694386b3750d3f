"""Modules are loaded each for itself."""

from __future__ import annotations

from pathlib import Path

import pytest
from fastmcp import Client, FastMCP

from tests.components.modules import BROKEN, FORECAST, PROMPT, REGISTERED, RESOURCES, WITH_AUTH, put
from thresher.components import Auth, FileReport, look
from thresher.components.modules import Loaded, load_proxies, load_served

AUTH = Auth("local", "ada")


async def loaded_from(folder: Path, *, seconds: float = 10.0) -> Loaded:
    """Everything in a folder."""
    found, loaded = look(folder), Loaded()
    for name in found.served:
        await load_served(loaded, found.path, name, AUTH, seconds)
    for name in found.proxies:
        await load_proxies(loaded, found.path, name, AUTH, seconds)
    return loaded


def problem_of(loaded: Loaded, path: str) -> str:
    """What a module's report says."""
    return next(file.problem for file in loaded.files if file.path == path)


async def test_decorated_functions_and_registered_ones_are_served(tmp_path: Path) -> None:
    """`register` may be asynchronous, and may want to know whom it works for."""
    put(tmp_path, tools_a=FORECAST, tools_b=REGISTERED, tools_c=WITH_AUTH, prompts_p=PROMPT, resources_r=RESOURCES)

    loaded = await loaded_from(tmp_path)
    async with Client(loaded.server) as client:
        forecast = await client.call_tool("forecast", {"city": "Rome"})
        total = await client.call_tool("add_numbers", {"a": 1, "b": 2})
        whose = await client.call_tool("whose_components", {})
        prompt = await client.get_prompt("greeting", {"name": "Ada"})
        note = await client.read_resource("notes://one/3")

    assert (forecast.data, total.data, whose.data) == ("Sun in Rome", 3, "tenant local, user 'ada'")
    assert prompt.messages[0].content.text == "Say hello to Ada."  # type: ignore[union-attr]
    assert note[0].text == "note 3"  # type: ignore[union-attr]
    assert loaded.files[-1] == FileReport("resources/r.py", resources=("notes://all", "notes://one/{number}"))


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (BROKEN, "ZeroDivisionError: division by zero (bad.py, line 1)"),
        ("def oops(:\n", "SyntaxError: invalid syntax (bad.py, line 1)"),
        ("import sys\nsys.exit(3)\n", "It called sys.exit."),
        ("import not_installed_here\n", "No module named 'not_installed_here'"),
        ("def register(mcp):\n    raise KeyError('x')\n", "KeyError: 'x' (bad.py, line 2)"),
        ("def register():\n    pass\n", "TypeError: register() takes 0 positional arguments"),
        ("async def register(mcp):\n    raise RuntimeError('no network')\n", "RuntimeError: no network"),
        ("value = 3\n", "It registers nothing."),
        ("from thresher.components import add_server\nadd_server('x', {})\n", "move this one there"),
    ],
    ids=["raises", "syntax", "exits", "import", "register-raises", "no-parameter", "async-raises", "empty", "proxy"],
)
async def test_a_module_that_fails_leaves_the_others_alone(tmp_path: Path, source: str, said: str) -> None:
    """Its report says what happened, and where."""
    put(tmp_path, tools_bad=source, tools_good=FORECAST)

    loaded = await loaded_from(tmp_path)

    assert said in problem_of(loaded, "tools/bad.py")
    assert [tool.name for tool in await loaded.server.list_tools()] == ["forecast"]


async def test_a_module_that_fails_half_way_leaves_nothing_behind(tmp_path: Path) -> None:
    """What it registered before it raised is not served."""
    put(tmp_path, tools_half=REGISTERED + "    raise ValueError('half')\n")

    loaded = await loaded_from(tmp_path)

    assert "ValueError: half" in problem_of(loaded, "tools/half.py")
    assert await loaded.server.list_tools() == []


@pytest.mark.parametrize(
    "source",
    [
        "import threading\nthreading.Event().wait()\n",
        "import threading\n\ndef register(mcp):\n    threading.Event().wait()\n",
        "import asyncio\n\nasync def register(mcp):\n    await asyncio.Event().wait()\n",
    ],
    ids=["import", "register", "async-register"],
)
async def test_a_module_that_hangs_is_left_behind(tmp_path: Path, source: str) -> None:
    """After its time, and the others are loaded."""
    put(tmp_path, tools_a=source, tools_b=FORECAST)
    loaded = Loaded()

    await load_served(loaded, tmp_path, "tools/a.py", AUTH, 0.3)
    await load_served(loaded, tmp_path, "tools/b.py", AUTH)

    assert problem_of(loaded, "tools/a.py") == "It was not loaded within 0.3 s."
    assert [tool.name for tool in await loaded.server.list_tools()] == ["forecast"]


async def test_a_name_that_is_taken_leaves_the_later_module_out(tmp_path: Path) -> None:
    """Which of two is called must not depend on chance."""
    put(tmp_path, tools_a=FORECAST, tools_b=FORECAST.replace("Sun", "Rain"))

    loaded = await loaded_from(tmp_path)
    async with Client(loaded.server) as client:
        answer = await client.call_tool("forecast", {"city": "Rome"})

    assert "'forecast' is in tools/a.py already" in problem_of(loaded, "tools/b.py")
    assert answer.data == "Sun in Rome"


async def test_modules_import_what_lies_beside_them(tmp_path: Path) -> None:
    """From files that begin with `_`, which are no components themselves."""
    put(tmp_path, tools__words="GREETING = 'Good day'\n")
    put(tmp_path, tools_polite="from _words import GREETING\n" + FORECAST.replace('f"Sun in {city}"', "GREETING"))

    loaded = await loaded_from(tmp_path)
    async with Client(loaded.server) as client:
        answer = await client.call_tool("forecast", {"city": "Rome"})

    assert answer.data == "Good day"


async def test_a_module_named_as_one_of_pythons_own_does_not_take_its_place(tmp_path: Path) -> None:
    """Other libraries import that name later."""
    put(tmp_path, tools_calendar=FORECAST)

    await loaded_from(tmp_path)
    import calendar

    assert callable(calendar.monthrange)


async def test_proxies_name_servers(tmp_path: Path) -> None:
    """By calls at the top of the module, or in `register`."""
    put(tmp_path, proxies_a="from thresher.components import add_server\nadd_server('one', {'command': 'uvx'})\n")
    put(
        tmp_path,
        proxies_b="from thresher.components import add_server\n\n"
        "def register(mcp):\n    add_server('two', {'url': 'https://mcp.example.com/mcp'})\n",
    )

    loaded = await loaded_from(tmp_path)

    assert loaded.servers == {"one": {"command": "uvx"}, "two": {"url": "https://mcp.example.com/mcp"}}
    assert [file.servers for file in loaded.files] == [("one",), ("two",)]


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("add_server('one', {'command': 'x'})\nadd_server('one', {'command': 'y'})\n", "there are two servers 'one'"),
        ("add_server('one', {'command': object()})\n", "cannot be written as JSON"),
        ("add_server('one', {'command': 'x'})\nraise ValueError('late')\n", "ValueError: late"),
        ("", "does not call add_server"),
    ],
    ids=["twice", "not-json", "late", "none"],
)
async def test_a_proxy_module_that_fails_names_nothing(tmp_path: Path, source: str, said: str) -> None:
    """All of its servers or none."""
    put(tmp_path, proxies_bad="from thresher.components import add_server\n" + source)

    loaded = await loaded_from(tmp_path)

    assert said in problem_of(loaded, "proxies/bad.py")
    assert loaded.servers == {}


async def test_secrets_in_an_error_are_masked(tmp_path: Path) -> None:
    """A report is shown in lists and logs."""
    put(tmp_path, tools_bad="raise ValueError('login failed: password=hunter2hunter2')\n")

    loaded = await loaded_from(tmp_path)

    assert "hunter2hunter2" not in problem_of(loaded, "tools/bad.py")


async def test_nothing_is_served_where_nothing_is(tmp_path: Path) -> None:
    """An empty folder makes a server without tools."""
    loaded = await loaded_from(tmp_path)

    assert isinstance(loaded.server, FastMCP)
    assert loaded.files == []
