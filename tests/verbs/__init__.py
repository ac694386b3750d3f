"""Declarations of verbs, and what they do beyond the services of one kind."""
