"""The tools of packs: functions of a trusted `tools.py`, run inside this process.

Invariant: code only runs after a person has trusted it, and no code of a pack stops another pack or the gateway.
"""

from thresher.gateway.packs.tools import PackTools

__all__ = ["PackTools"]
