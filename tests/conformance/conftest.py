"""Skips loudly where Node packages cannot be had."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest

from tests.conformance import npm
from tests.conformance.serving import everything, gateway


@dataclass(frozen=True, slots=True)
class Ends:
    """Where the reference server listens, and the gateway in front of it."""

    direct: str
    through: str


@pytest.fixture(scope="session")
async def packages() -> None:
    """Installs what the tests run, once a machine."""
    try:
        await asyncio.to_thread(npm.installed)
    except npm.Unavailable as error:
        reason = f"THE CONFORMANCE SUITE AND THE INSPECTOR DID NOT RUN: {error}"
        warnings.warn(reason, stacklevel=1)
        pytest.skip(reason)


@pytest.fixture(scope="module")
async def ends(packages: None) -> AsyncIterator[Ends]:
    """The reference server and a daemon in front of it, for all tests of a module."""
    async with everything() as direct, gateway(direct) as through:
        yield Ends(direct, through)
