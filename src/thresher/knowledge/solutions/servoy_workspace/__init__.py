"""Servoy workspaces on disk: their solutions, relations, value lists, tables and scripts, and what names what."""
