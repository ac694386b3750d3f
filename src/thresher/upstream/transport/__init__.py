"""The ways in which a server is spoken with: a child's pipes, streamable HTTP, and its forerunner HTTP+SSE.

Invariant: what goes wrong below JSON-RPC is a `Trouble` that says whether the server can have begun the request.
"""
