"""Potential relations: columns that look like undeclared foreign keys, and join paths over declared and potential keys.

Invariant: pure: schema records in, relations out.
"""

from thresher.knowledge.databases.relations.finder import THRESHOLD, columns_to_sample, find_relations
from thresher.knowledge.databases.relations.joins import JoinGraph, Joins, JoinStep

__all__ = ["THRESHOLD", "JoinGraph", "JoinStep", "Joins", "columns_to_sample", "find_relations"]
