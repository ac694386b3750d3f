"""Fixtures of the documents service: a folder of documents, the real encoder, a fresh tenant."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.product import opened
from thresher.core import Caller, Settings, Tenant
from thresher.embedding import Encoder, open_encoder
from thresher.knowledge.documents import DocumentService
from thresher.services import Services
from thresher.store import Database


@pytest.fixture(scope="session")
async def encoder() -> AsyncIterator[Encoder]:
    """The packaged encoder, shared by all tests of this process."""
    encoder = open_encoder(Settings())
    yield encoder
    await encoder.close()


@pytest.fixture
async def services(database: Database, tenant: Tenant, settings: Settings, encoder: Encoder) -> AsyncIterator[Services]:
    """Services of a fresh tenant."""
    async with opened(database, tenant, settings, encoder) as services:
        yield services


@pytest.fixture
def documents(services: Services) -> DocumentService:
    """The service under test."""
    return services.documents


@pytest.fixture
def caller(services: Services) -> Caller:
    """The fresh tenant's caller."""
    return services.caller


@pytest.fixture
def handbook(tmp_path: Path) -> Path:
    """A folder with a few documents."""
    folder = tmp_path / "handbook"
    (folder / "guides").mkdir(parents=True)
    (folder / "README.md").write_text(README)
    (folder / "guides" / "vpn.md").write_text(VPN)
    (folder / "guides" / "leave.md").write_text(LEAVE)
    return folder


@pytest.fixture
def manual(tmp_path: Path) -> Path:
    """A folder with one long document."""
    folder = tmp_path / "manual"
    folder.mkdir()
    (folder / "machines.md").write_text(machines())
    return folder


README = """# Staff handbook

What people who work here need to know: how to reach the network, and how to take leave.
"""
VPN = """# Remote access

## Connecting

Install the client, choose the gateway vpn.example.test and sign in with your badge number.
A second factor is asked for once a day.

## Trouble

Error 809 means that the firewall of your hotel blocks the tunnel. Switch the client to port 443.
"""
LEAVE = """# Taking leave

## Holidays

Every employee has thirty days of paid holidays. Ask your manager two weeks before.

## Illness

Call the office before nine o'clock. A doctor's note is needed from the third day on.
"""


def machines(count: int = 40) -> str:
    """A long document: one section per machine, each with a sentence of its own."""
    parts = ["# Machines\n"]
    for number in range(1, count + 1):
        parts.append(f"\n## Machine {number}\n\n")
        parts.append(f"Machine {number} was built in {1900 + number} and weighs {number * 17} kilograms. ")
        parts.append("It is oiled every morning by whoever comes first, and stopped when the bell rings. " * 4)
        parts.append(f"\n\nIts spare part has the number SP-{number:04d}.\n")
    return "".join(parts)
