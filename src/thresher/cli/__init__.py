"""The command line: thin commands that ask the daemon and show what comes back.

Invariant: a command holds no database, and no encoder but for `packs lint`; it imports nothing heavy before it needs
it, so that `thresher --help` is quick. Every command takes `--json`; exit codes are those of `docs/reference/cli.md`.

Uses: core, daemon, demo, embedding, foreign, knowledge, packs, store, verbs.
"""

from thresher.cli.application import run

__all__ = ["run"]
