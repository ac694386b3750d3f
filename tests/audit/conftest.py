"""Fixtures of the audit log's tests: logs over the shared server, and their lines."""

from __future__ import annotations

from pathlib import Path

import pytest
from cryptography.fernet import Fernet

from thresher.audit import Attempt, AuditLog
from thresher.core import Caller, Tenant
from thresher.store import Database, SecretBox

KEY = Fernet.generate_key()


@pytest.fixture
def secrets() -> SecretBox:
    """The installation's key."""
    return SecretBox(KEY)


@pytest.fixture
def log(database: Database, secrets: SecretBox, tmp_path: Path) -> AuditLog:
    """The log of one process."""
    return AuditLog(database, secrets, tmp_path)


@pytest.fixture
def caller(tenant: Tenant) -> Caller:
    """The tenant as a whole."""
    return Caller(tenant)


def attempt(sql: str = "select 1", *, allowed: bool = True, connection: str = "shop") -> Attempt:
    """A decision about a statement."""
    rule = "" if allowed else "writes"
    return Attempt("ada", "test 1.0", "", "thread-1", connection, "postgresql", sql, allowed, rule, "sql_query")
