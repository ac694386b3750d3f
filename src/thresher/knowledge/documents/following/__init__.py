"""Following sources: folders are watched, servers are asked, and what has changed is indexed by a job.

Invariant: of several daemons on one database, one follows a source at a time.
"""
