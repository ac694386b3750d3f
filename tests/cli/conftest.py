"""Commands run in this process against a real daemon."""

from __future__ import annotations

import json
import secrets
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.daemon.home import Home, opened
from tests.support import Databases
from thresher.cli import run


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """What it printed for programs."""
        return json.loads(self.out)


Command = Callable[..., Ended]


@pytest.fixture(scope="module")
async def home(open_folder: Path, databases: Databases) -> AsyncIterator[Home]:
    """A home that the commands of a module share, on a database that already runs."""
    name = await databases.create()
    urls = {
        "THRESHER_DATABASE_URL": databases.url(name),
        "THRESHER_MIGRATION_URL": databases.url(name, "thresher_owner"),
    }
    with opened(open_folder / secrets.token_hex(4), **urls) as home:
        yield home
    await databases.drop(name)


@pytest.fixture
def command(home: Home, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """Run one command in this process."""
    for name, value in home.environment.items():
        monkeypatch.setenv(name, value)

    def command(*arguments: str) -> Ended:
        capsys.readouterr()
        code = run(arguments)
        printed = capsys.readouterr()
        return Ended(code, printed.out, printed.err)

    return command
