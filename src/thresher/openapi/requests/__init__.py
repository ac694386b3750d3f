"""Calls of operations as requests: servers, arguments checked against the description, parameter styles, bodies."""
