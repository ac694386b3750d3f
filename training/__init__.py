"""Trains the encoder that Thresher ships: which tools, which messages, how, and what came of it."""
