"""Helpers that several test packages share."""

from tests.support.databases import Databases
from tests.support.waiting import eventually

__all__ = ["Databases", "eventually"]
