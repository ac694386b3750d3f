"""The intents kind: packs of rules, and the router that says which of them a message needs.

Invariant: text of a pack is data; a pack of a project does nothing until a person has trusted exactly its content.

Uses: core, embedding, scanner, search, store.
"""
