"""The guide of a repository: built from its structure, and rewritten by a model.

Invariant: a guide names only what its repository contains.
"""
