"""Helpers that several test packages share."""

from tests.support.databases import Databases
from tests.support.isolation import assert_sealed_off, without_tenant_conditions
from tests.support.rows import fill
from tests.support.waiting import eventually

__all__ = ["Databases", "assert_sealed_off", "eventually", "fill", "without_tenant_conditions"]
