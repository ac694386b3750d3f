"""DuckDB: files that a process of its own reads, with a limit of memory.

`engine` and `process` run in the daemon; `session`, `schema` and `types` in the process that `__main__` starts; both
sides read and write what crosses between them by `calls`.

Invariant: DuckDB opens no file in the daemon's process. A file is open only while a question is answered, since DuckDB
keeps others from writing it as long as somebody reads it.
"""
