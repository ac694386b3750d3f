"""The databases kind: named connections, what relates to what in them, and statements that only read.

Invariant: nothing reaches a database that the guard has not read and the audit log has not noted.

Uses: core.
"""
