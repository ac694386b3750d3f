"""The console: pages that show a person what a model sees, and why, and let them decide.

A face like the others: a page runs declared verbs and shows their records. Pages are made by the server and work
without script; htmx and a few custom elements make parts of them live.

Invariant: no state but the database's, nothing from another host, no inline script or style. Text of others is escaped
and its invisible characters are shown, whatever a template does. A change that HTTP does not serve is the owner's.

Uses: agent, api, calling, context, core, foreign, gateway, insight, knowledge, llm, scanner, services, store, verbs.
"""

from thresher.console.application import http_door

__all__ = ["http_door"]
