"""`thresher demo`: a tour on real MCP servers.

Uses: core.
"""
