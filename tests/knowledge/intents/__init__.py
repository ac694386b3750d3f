"""The intents kind."""
