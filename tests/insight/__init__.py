"""Tests of what the logs tell."""
