"""DuckDB: files that are read by a separate process with a memory limit.

`engine` and `process` run in the daemon; `session`, `schema` and `types` in the process that `__main__` starts; both
sides serialize what crosses between them with `calls`.

Invariant: DuckDB opens no file in the daemon's process. A file is open only while a request is answered, because
DuckDB prevents others from writing to a file that is open for reading.
"""
