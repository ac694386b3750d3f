"""Commands run in this process against a real daemon."""

from __future__ import annotations

import json
import secrets
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import typer

from tests.daemon.home import Home, opened
from tests.support import Databases
from thresher.cli import run
from thresher.cli.application import application


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


def every_command() -> dict[str, typer.core.TyperCommand]:
    """The commands by their words."""
    root = typer.main.get_command(application)
    assert isinstance(root, typer.core.TyperGroup)
    return dict(_commands(root))


def _commands(group: typer.core.TyperGroup, *path: str) -> Iterator[tuple[str, typer.core.TyperCommand]]:
    for name, command in sorted(group.commands.items()):
        if isinstance(command, typer.core.TyperGroup):
            yield from _commands(command, *path, name)
        else:
            yield " ".join((*path, name)), command


@asynccontextmanager
async def _on_running_server(folder: Path, databases: Databases) -> AsyncIterator[Home]:
    """A home on a database that already runs, so that its daemon starts quickly."""
    name = await databases.create()
    urls = {
        "THRESHER_DATABASE_URL": databases.url(name),
        "THRESHER_MIGRATION_URL": databases.url(name, "thresher_owner"),
    }
    with opened(folder / secrets.token_hex(4), **urls) as home:
        yield home
    await databases.drop(name)


@pytest.fixture(scope="session")
async def shared_home(open_folder: Path, databases: Databases) -> AsyncIterator[Home]:
    """A home that the modules of a test process share: a daemon's start costs more than most of them."""
    async with _on_running_server(open_folder, databases) as home:
        yield home


@pytest.fixture(scope="module")
async def own_home(open_folder: Path, databases: Databases) -> AsyncIterator[Home]:
    """A home of a module's own, for tests that look at all that is in it."""
    async with _on_running_server(open_folder, databases) as home:
        yield home


@pytest.fixture(scope="module")
def home(shared_home: Home) -> Home:
    """The home of a module's commands; a module that needs its own overrides this by `own_home`."""
    return shared_home


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
