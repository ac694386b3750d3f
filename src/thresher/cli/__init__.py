"""The command line: thin commands that ask the daemon and print its answers.

`application` is the table of commands, and a command's module is imported when the command is run. `knowledge/` has the
commands over tools, servers, documents, databases, APIs, solutions and packs.

Invariant: a command opens no database and, except for `packs lint`, no encoder. Every command takes `--json`; exit
codes are those of `docs/reference/cli.md`.

Uses: core, daemon, demo, embedding, foreign, knowledge, packs, store, verbs.
"""

from thresher.cli.application import run

__all__ = ["run"]
