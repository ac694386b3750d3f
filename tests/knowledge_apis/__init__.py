"""The APIs kind."""
