"""The documents kind: repositories of documents, and their best passages inside a token budget.

Invariant: returned text is verbatim from a document, at the lines that the answer names.

Uses: core, embedding, jobs, search, store.
"""

from thresher.knowledge.documents.answers.multi_document import DocumentPassages, MultiRetrieval
from thresher.knowledge.documents.answers.retrieval import GUIDE
from thresher.knowledge.documents.answers.search import MOST_PASSAGES, PASSAGES
from thresher.knowledge.documents.entries import KIND
from thresher.knowledge.documents.indexing.job import TASK, IndexTask
from thresher.knowledge.documents.indexing.run import Report
from thresher.knowledge.documents.models import (
    Document,
    DocumentPage,
    DocumentPart,
    Mode,
    Omitted,
    Origin,
    Passage,
    Passages,
    Repository,
    RepositoryCandidate,
    Retrieval,
    SearchType,
    Skipped,
    Upload,
    Webhook,
)
from thresher.knowledge.documents.service import DocumentService
from thresher.knowledge.documents.small_talk import chats, log_odds
from thresher.knowledge.documents.sources import origin_of
from thresher.knowledge.documents.uploads.archives import bytes_of

__all__ = [
    "GUIDE",
    "KIND",
    "MOST_PASSAGES",
    "PASSAGES",
    "TASK",
    "Document",
    "DocumentPage",
    "DocumentPart",
    "DocumentPassages",
    "DocumentService",
    "IndexTask",
    "Mode",
    "MultiRetrieval",
    "Omitted",
    "Origin",
    "Passage",
    "Passages",
    "Report",
    "Repository",
    "RepositoryCandidate",
    "Retrieval",
    "SearchType",
    "Skipped",
    "Upload",
    "Webhook",
    "bytes_of",
    "chats",
    "log_odds",
    "origin_of",
]
