"""Calls of operations: who may reach which host, credentials, sending, pages, and what the answer says."""
