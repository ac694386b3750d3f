"""Transports to a server: a child's pipes, streamable HTTP, and its predecessor HTTP+SSE.

Invariant: a failure below JSON-RPC is a `TransportError` that shows whether the server can have begun the request.
"""
