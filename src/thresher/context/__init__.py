"""What a message needs of everything that is known: the right rules and the right tools, inside a token budget.

Invariant: here the kinds meet, and nowhere below; what is cut, missing or degraded is said, with the way to the rest.

Uses: core, embedding, knowledge.
"""
