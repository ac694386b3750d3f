"""Fixtures of the solutions service: a bookshop's workspace on disk, a fresh tenant, the service."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from tests.support.servoy_workspace import WorkspaceBuilder, bookshop
from thresher.core import Caller, Settings, Tenant
from thresher.knowledge.solutions import SolutionService, Storage
from thresher.servoy import Dialect
from thresher.store import Database


@dataclass
class Told:
    """The announcements of column information by the service."""

    calls: list[tuple[str, dict[str, Path]]] = field(default_factory=list)


@pytest.fixture
def told() -> Told:
    """The announcements of the service under test."""
    return Told()


@pytest.fixture
def service(database: Database, settings: Settings, told: Told, tmp_path: Path) -> SolutionService:
    """The service under test."""

    async def on_schema(caller: Caller, name: str, folders: object) -> None:
        assert isinstance(folders, dict)
        told.calls.append((name, dict(folders)))

    return SolutionService(database, Storage(tmp_path / "data"), settings, on_schema)


@pytest.fixture
def anybody(tenant: Tenant) -> Caller:
    """The fresh tenant's caller, which has no workspace."""
    return Caller(tenant)


@pytest.fixture(params=["classic", "json"])
def dialect(request: pytest.FixtureRequest) -> Dialect:
    """The dialect of the workspace's files."""
    return request.param  # type: ignore[no-any-return]


@pytest.fixture
def shop(tmp_path: Path, dialect: Dialect) -> WorkspaceBuilder:
    """The bookshop, in both dialects."""
    return bookshop(tmp_path / "shop", dialect)


@pytest.fixture
def plain(tmp_path: Path) -> WorkspaceBuilder:
    """The bookshop, in one dialect."""
    return bookshop(tmp_path / "shop")


@pytest.fixture
async def caller(service: SolutionService, anybody: Caller, shop: WorkspaceBuilder) -> Caller:
    """A caller who works in the bookshop's data module."""
    await service.add_workspace(anybody, str(shop.root), "shop")
    await service.set_solution_context(anybody, "shop_data")
    return anybody


@pytest.fixture
async def clerk(service: SolutionService, anybody: Caller, plain: WorkspaceBuilder) -> Caller:
    """The same in one dialect."""
    await service.add_workspace(anybody, str(plain.root), "shop")
    await service.set_solution_context(anybody, "shop_data")
    return anybody


def files(root: Path) -> dict[str, bytes]:
    """Every file of a workspace."""
    return {one.relative_to(root).as_posix(): one.read_bytes() for one in sorted(root.rglob("*")) if one.is_file()}


def elsewhere(caller: Caller, folder: Path | str) -> Caller:
    """The same caller with a client in another folder."""
    return replace(caller, project=str(folder))


def copied(root: Path, to: Path) -> Path:
    """A copy of the workspace."""
    return Path(shutil.copytree(root, to))
