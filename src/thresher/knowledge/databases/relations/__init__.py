"""Potential relations: columns that look like foreign keys which nobody declared, and paths over keys of both sorts.

Invariant: pure; schema records in, relations out, whatever they were read from.
"""

from thresher.knowledge.databases.relations.finder import THRESHOLD, find_relations
from thresher.knowledge.databases.relations.joins import JoinGraph, Joins, JoinStep
from thresher.knowledge.databases.relations.wanted import columns_wanted

__all__ = ["THRESHOLD", "JoinGraph", "JoinStep", "Joins", "columns_wanted", "find_relations"]
