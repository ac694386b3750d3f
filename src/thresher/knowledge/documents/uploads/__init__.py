"""Uploads: files and archives that people send, checked, kept in the database and read from it.

Invariant: nothing of an upload touches the disk; a path never leads outside its repository.
"""
