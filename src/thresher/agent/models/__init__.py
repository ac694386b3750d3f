"""Registered chat models, and conversations with them as streams.

Light to import: LangChain is imported when the first model is opened.

Invariant: a key is sealed in the database, is sent only to its own service, and appears nowhere else.
"""

from thresher.agent.models.open_model import OpenModel
from thresher.agent.models.queries import seen_of, seen_statement
from thresher.agent.models.records import AnswerChunk, Model, ModelCheck
from thresher.agent.models.service import Models

__all__ = ["AnswerChunk", "Model", "ModelCheck", "Models", "OpenModel", "seen_of", "seen_statement"]
