"""The whole demo: real database, encoder, servers, gateway."""

from __future__ import annotations

import asyncio
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from rich.console import Console

from thresher.core import ConfigurationError, Conflict, Settings
from thresher.demo import run
from thresher.demo.catalogue import Catalogue, read_catalogue
from thresher.demo.folder import demo_folder, demo_settings
from thresher.store import EmbeddedServer

pytestmark = pytest.mark.timeout(240)


@pytest.fixture
def only_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A PATH with git and a broken npx: nothing is fetched from anywhere."""
    git = shutil.which("git")
    assert git is not None
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "git").symlink_to(git)
    (tmp_path / "bin" / "npx").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "bin" / "npx").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))


def small() -> Catalogue:
    """Three vendors of the shipped catalogue: enough to choose from, quick to embed."""
    catalogue = read_catalogue()
    kept = tuple(tool for tool in catalogue.tools if tool.server in ("twilio", "traccar", "google_sheets"))
    vendors = tuple(vendor for vendor in catalogue.vendors if vendor.server in {tool.server for tool in kept})
    return Catalogue(catalogue.package, vendors, kept)


@pytest.mark.usefixtures("only_git")
def test_the_demo_shows_and_calls_real_servers_and_embeds_nothing_twice(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    """First run: everything is embedded. Second run, as JSON: nothing is, and the answers are the same."""
    screen = io.StringIO()
    code = run(settings, catalogue=small(), console=Console(file=screen, width=100))
    shown = screen.getvalue()
    again = run(settings, catalogue=small(), json=True)
    document = json.loads(capsys.readouterr().out)

    assert (code, again) == (0, 0)
    assert max(len(line) for line in shown.splitlines() if "stdio" not in line and "/" not in line) <= 100
    assert [line.split()[1:3] for line in shown.splitlines() if "memory" in line] == [["left", "out"]]
    assert {absent["name"] for absent in document["left_out"]} == {"filesystem", "memory"}
    assert "Bring in the harvest" in shown
    assert {server["name"] for server in document["servers"]} == {"time", "git", "fetch"}
    assert document["indexing"]["embedded"] == 0
    assert document["indexing"]["kept"] == document["indexing"]["tools"] > 80
    assert "time_convert_time" in {tool["name"] for tool in document["messages"][0]["tools"]}
    assert [call["failed"] for call in document["calls"]] == [False, False]
    assert (
        "+7.0" in document["calls"][0]["text"]
        or "16:30" in document["calls"][0]["text"]
        or "Tokyo" in document["calls"][0]["text"]
    )
    assert [asked["right"] for asked in document["documents"]] == [True, True, True]
    assert all(asked["tokens"] <= asked["budget"] for asked in document["documents"])
    assert 0.5 < document["summary"]["tokens_saved"] < 1
    assert [path.name for path in demo_folder(settings).root.iterdir() if path.name == "world"] == []


def test_a_folder_that_cannot_be_used_is_an_error_with_a_way_out(tmp_path: Path) -> None:
    """The hint names the variable to set."""
    (tmp_path / "file").touch()

    with pytest.raises(ConfigurationError) as caught:
        run(Settings(data_dir=tmp_path / "file" / "below", allow_root=True), catalogue=small(), json=True)

    assert "THRESHER_DATA_DIR" in caught.value.hint


async def test_a_second_demo_is_refused_and_harms_nothing_of_the_first(settings: Settings) -> None:
    """The demo that holds the database's folder owns the rest too."""
    folder = demo_folder(settings)
    folder.prepare(fresh=True)
    server = await EmbeddedServer.start(demo_settings(settings, folder))
    folder.world.mkdir()

    with pytest.raises(Conflict):
        await asyncio.to_thread(run, settings, catalogue=small(), json=True)

    assert folder.world.exists()
    await server.stop()


@pytest.mark.skipif(os.name == "nt", reason="an interrupt is sent otherwise")
@pytest.mark.usefixtures("only_git")
def test_an_interrupt_leaves_no_process_and_no_folder(settings: Settings) -> None:
    """Ctrl-C while servers and database run: exit code 130, all children gone."""
    script = (
        "import sys; from pathlib import Path; from thresher.core import Settings; from thresher.demo import run;"
        f"sys.exit(run(Settings(data_dir=Path({str(settings.data_dir)!r}), allow_root=True)))"
    )
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    seen = next(line for line in process.stdout if "Servers" in line)
    children = _children_with_servers(process.pid)

    process.send_signal(signal.SIGINT)
    rest, _ = process.communicate(timeout=60)
    _, alive = psutil.wait_procs(children, timeout=20)

    assert process.returncode == 130, seen + rest
    assert alive == []
    assert not demo_folder(settings).world.exists()


def _children_with_servers(pid: int) -> list[psutil.Process]:
    """All descendants, once the first real server is among them."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        children = psutil.Process(pid).children(recursive=True)
        if any("mcp_server" in " ".join(_command(child)) for child in children):
            return children
    raise AssertionError("no server was started")


def _command(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.NoSuchProcess:
        return []
