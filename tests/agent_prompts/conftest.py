"""Fixtures of prompts: the service, and who asks."""

from __future__ import annotations

import pytest

from thresher.agent import Prompts
from thresher.core import Caller, Tenant
from thresher.store import Database


@pytest.fixture
def prompts(database: Database) -> Prompts:
    """The service under test."""
    return Prompts(database)


@pytest.fixture
def owner(tenant: Tenant) -> Caller:
    """Who may change the prompts of a tenant."""
    return Caller(tenant)


@pytest.fixture
def ada(tenant: Tenant) -> Caller:
    """A user of the same tenant."""
    return Caller(tenant, "ada", keyed=True)
