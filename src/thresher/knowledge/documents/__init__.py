"""The documents kind: repositories of documents, and their best passages inside a token budget.

Invariant: what is returned stands verbatim in a document, under the lines that the answer names.

Uses: core, embedding, llm, search.
"""
