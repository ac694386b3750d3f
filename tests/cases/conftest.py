"""Fixtures of test cases: a product with packs and a small catalogue, those of the context's tests."""

from tests.context.conftest import caller, context, encoder, services, shelf

__all__ = ["caller", "context", "encoder", "services", "shelf"]
