"""Hostile SQL: ideas, their disguises, and live engines on which nothing may change."""
