"""From a question to the text that a model reads: scoring, choice of passages, rendering, pages.

Invariant: an answer is verbatim text of current documents, and never exceeds its budget.
"""
