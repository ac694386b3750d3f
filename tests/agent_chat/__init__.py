"""Conversations with a model: the graph of a turn over the real gateway, with a deterministic service for the model."""
