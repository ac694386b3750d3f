"""The databases kind."""
