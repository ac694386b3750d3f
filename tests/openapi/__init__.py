"""Descriptions of APIs, as text."""
