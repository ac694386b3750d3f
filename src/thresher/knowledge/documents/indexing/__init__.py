"""From a source to what is stored and indexed of it.

Invariant: a run that is interrupted is completed by the next one.
"""
