"""However a command ends, it ends well: interrupted, its reader gone, or with an error of any kind."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Command
from tests.daemon.home import THRESHER, Home, fake_server
from tests.support import eventually
from thresher.cli.output import complain
from thresher.core import StoreUnavailable


@pytest.fixture(scope="module")
def home(own_home: Home) -> Home:
    """A home of this module's own: it counts the commands that run."""
    return own_home


def files(folder: Path, tools: int = 4000, questions: int = 400) -> tuple[str, str]:
    """A pool and queries for an evaluation that takes a while."""
    pool = [{"server": f"s{n % 40}", "name": f"tool_{n}", "description": f"Does thing {n}."} for n in range(tools)]
    (folder / "pool.json").write_text(json.dumps(pool))
    lines = [json.dumps({"query": f"do thing {n}", "relevant": [f"s{n % 40}/tool_{n}"]}) for n in range(questions)]
    (folder / "queries.jsonl").write_text("\n".join(lines))
    return str(folder / "pool.json"), str(folder / "queries.jsonl")


async def test_ctrl_c_in_an_evaluation_leaves_nothing_behind(home: Home, tmp_path: Path) -> None:
    """The exit code is 130; the daemon drops the work and the tenant, and keeps running."""
    pool, queries = files(tmp_path)
    process = home.start("eval", "tools", "--pool", pool, "--queries", queries)
    await eventually(lambda: home.pid and home.json("status")["clients"]["control"] == 2, seconds=40)
    process.send_signal(signal.SIGINT)
    out, err = await asyncio.to_thread(process.communicate, None, 30)

    assert process.returncode == 130
    assert out == b""
    assert [line for line in err.splitlines() if line and not line.endswith(b" ...")] == []
    await eventually(lambda: home.json("status")["clients"]["control"] == 1, seconds=40)
    assert "command failed" not in home.log_tail()


async def test_ctrl_c_while_documents_are_indexed_says_which_job_goes_on(home: Home, tmp_path: Path) -> None:
    """The message says how to follow and to cancel the job."""
    folder = tmp_path / "docs"
    folder.mkdir()
    for number in range(400):
        (folder / f"{number}.md").write_text(f"# Rule {number}\n\n" + "Trains may be booked.\n\n" * 50)
    home.json("status")
    process = home.start("index", "docs", "many", str(folder))
    await eventually(lambda: home.json("jobs", "list"), seconds=60)
    process.send_signal(signal.SIGINT)
    out, err = await asyncio.to_thread(process.communicate, None, 30)
    (job,) = home.json("jobs", "list")
    home.json("jobs", "cancel", str(job["id"]))

    assert (process.returncode, out) == (130, b"")
    assert f"job {job['id']} continues" in err.decode()
    assert f"thresher jobs cancel {job['id']}" in err.decode()


def test_a_reader_that_goes_away_is_no_error(home: Home, tmp_path: Path) -> None:
    """`thresher tools list | head -1` prints nothing on standard error."""
    config = tmp_path / "mcp.json"
    config.write_text(json.dumps({"mcpServers": fake_server(tmp_path)}))
    home.json("servers", "add", "--config", str(config))
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [*THRESHER, "tools", "list", "--json"],
        stdout=writing,
        stderr=subprocess.PIPE,
        env=home.environment,
        timeout=60,
        check=False,
    )
    os.close(writing)

    assert done.returncode == 141
    assert done.stderr == b""


def test_errors_are_one_line_and_a_hint(capsys: pytest.CaptureFixture[str]) -> None:
    """Ours with their hint, unexpected ones by their type; programs get JSON."""
    assert complain(StoreUnavailable("It is away.", hint="Start it."), as_json=False) == 6
    assert complain(RuntimeError("boom"), as_json=False) == 1
    assert capsys.readouterr().err.splitlines() == [
        "thresher: It is away.",
        "  Start it.",
        "thresher: Something unexpected went wrong: RuntimeError: boom",
        "  Please report it, with the command that you ran.",
    ]
    assert complain(StoreUnavailable("It is away."), as_json=True) == 6
    assert json.loads(capsys.readouterr().out)["error"]["code"] == "store_unavailable"


def test_help_imports_nothing_heavy() -> None:
    """`thresher --help` is quick because of what it does not import."""
    code = "import sys; from thresher.cli import run; run(['--help']); print(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    heavy = {"pydantic", "sqlalchemy", "fastmcp", "mcp", "onnxruntime", "numpy", "thresher.core", "asyncio"}
    assert not heavy & set(done.stderr.split())


def test_stdio_through_the_command_line_is_the_bridge(
    command: Command, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`thresher stdio --json` goes the long way round and behaves the same."""
    done = subprocess.run(
        [*THRESHER, "stdio", "--json"], input=b"", env=home.environment, capture_output=True, timeout=60, check=False
    )

    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
