"""The solutions kind: workspaces of low-code tools, their relations and value lists, and changes that can be undone.

Uses: core, servoy.
"""
