"""Potential relations: columns that look like foreign keys which nobody declared, and paths over keys of both sorts.

Invariant: pure; schema records in, relations out, whatever they were read from.
"""

from thresher.knowledge.databases.relations.finder import THRESHOLD, find_relations

__all__ = ["THRESHOLD", "find_relations"]
