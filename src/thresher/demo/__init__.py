"""`thresher demo`: a tour of the main job on real MCP servers and a catalogue of vendors' tools.

Invariant: it works in a folder of its own and leaves the user's catalogue alone.

Uses: app, calling, context, core, embedding, gateway, knowledge, packs, upstream.
"""

from thresher.demo.run import run

__all__ = ["run"]
