"""The bodies of requests and answers of documents.

Invariant: as for every body: what `/v1/openapi.json` says is what is taken and sent.
"""

from __future__ import annotations

import datetime as dt
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from thresher.knowledge.documents import MOST_PASSAGES, PASSAGES, Mode, SearchType
from thresher.verbs import RequestBody

Budget = Annotated[int, Field(strict=True, description="Tokens (o200k) of the answer at most.")]


class _Record(BaseModel):
    model_config = ConfigDict(from_attributes=True)


class IndexRequest(RequestBody):
    """What shall be indexed."""

    name: str = Field(description="What the repository is called: letters, digits, hyphens, dots, underscores.")
    source: str = Field(description="A path of the machine that Thresher runs on, or the address of a git repository.")
    ref: str = Field("", description="Branch, tag or commit; a folder is else taken as it lies.")
    include: list[str] = Field([], description="Patterns of the files to take; all unless given.")
    exclude: list[str] = Field([], description="Patterns of files to leave out.")


class GuideRequest(RequestBody):
    """A repository's guide."""

    text: str | None = Field(description="Markdown; null: the one that is made from the documents.")


class RetrieveRequest(RequestBody):
    """What `retrieve_document` takes."""

    query: str = Field(description="The question, in any words.")
    repository: str = Field(description="Name of the repository.")
    search_type: SearchType = "hybrid"
    budget: Budget = 8000
    context: str | None = Field(None, description="What the conversation is about.")
    cursor: str | None = Field(None, description="Of the last answer to the same question: what it left out.")
    rerank: bool = Field(False, description="Read the best candidates closely; slower.")
    document: str | None = Field(None, description="A path: only this document is asked.")
    mode: Mode = "extractive"


class SearchRequest(RequestBody):
    """What `search_documents` takes."""

    query: str = Field(description="Any words.")
    repository: str | None = Field(None, description="Only this repository; else those that the query means.")
    search_type: SearchType = "hybrid"
    limit: int = Field(PASSAGES, ge=1, le=MOST_PASSAGES, description="Passages at most, of all repositories together.")
    cursor: str | None = Field(None, description="Of the last answer to the same words: the next ones.")


class ReadRequest(RequestBody):
    """What `read_document` takes: at most one of `lines`, `section` and `cursor`."""

    repository: str = Field(description="Name of the repository.")
    path: str = Field(description="Of the document.")
    lines: str | None = Field(None, description="`210-233`, `210-` or `210`.")
    section: str | None = Field(None, description="A heading.")
    cursor: str | None = Field(None, description="Of the page before.")
    budget: Budget = 8000


class OriginResponse(_Record):
    """Where a repository comes from."""

    kind: str = Field(description="`folder`, `git` or `file`.")
    location: str
    ref: str
    include: list[str]
    exclude: list[str]


class RepositoryResponse(_Record):
    """A repository of documents."""

    name: str
    description: str = Field(description="What it is about, in a line: where its guide begins.")
    owner: str | None = Field(description="The user whose it is; null: everybody's in the tenant.")
    origin: OriginResponse
    version: str = Field(description="Commit, or a digest of the files; empty before the first run.")
    guide: str = Field(description="What is in it, for a model that has to find its way.")
    guide_by: str = Field(description="`structure`, `model` or `person`.")
    documents: int
    chunks: int
    tokens: int = Field(description="Of all documents.")
    skipped: dict[str, int] = Field(description="Files that were not read, by reason.")
    embedded: int = Field(description="Chunks that are found by meaning too.")
    embedding_model: str = Field(description="Whose vectors find them; empty where there are none.")
    state: str = Field(description="`waiting`, `indexing`, `ready` or `failed`.")
    problem: str = Field(description="Why it failed, or what is not as it should be.")
    job: int = Field(description="The last job that indexed it: `/v1/jobs/{job}`; 0 without one.")
    indexed_at: dt.datetime | None = Field(description="When the last run ended well.")


class RepositoriesResponse(BaseModel):
    """The repositories that you see, by name."""

    repositories: list[RepositoryResponse]


class SkippedFile(_Record):
    """A file that was not read."""

    path: str
    reason: str
    detail: str


class SkippedResponse(BaseModel):
    """Files that the last run did not read; of very many the first."""

    files: list[SkippedFile]


class Stretch(_Record):
    """A stretch of a document."""

    path: str
    heading_path: list[str]
    first_line: int
    last_line: int
    start: int = Field(description="First character.")
    end: int = Field(description="Character after the last.")
    tokens: int = Field(description="Of its text alone.")


class Missing(_Record):
    """A stretch that is not in an answer."""

    heading_path: list[str]
    first_line: int
    last_line: int
    tokens: int = Field(description="What it would cost about.")


class RetrieveResponse(_Record):
    """The answer of `retrieve_document`."""

    content: str = Field(description="What to put before a model: passages, verbatim, and a map of what is left out.")
    sources: list[Stretch] = Field(description="What `content` holds, in order.")
    token_count: int = Field(description="Of `content`, exactly; never above the budget.")
    was_compressed: bool = Field(description="Whether something of the document is missing.")
    original_token_count: int = Field(description="Of the whole document.")
    tokenizer: str
    left_out: list[Missing]
    cursor: str = Field(description="Fetches what is missing; empty where nothing is.")
    document: str = Field(description="Path of the document; empty where nothing was found.")
    repository: str
    found: bool = Field(description="Whether anything fits; else `content` is the repository's guide.")
    hint: str = Field(description="What to try instead, where nothing fits.")
    mode: Mode
    search_type: SearchType
    degraded: str = Field(description="What is weaker than asked for; empty when nothing is.")
    unsupported: int = Field(0, description="Abstractive: sentences that do not occur in the source, marked in it.")
    timings: dict[str, float] = Field(description="Milliseconds of each part.")
    trace_id: str = Field(description="What the log calls this request.")


class FoundPassage(_Record):
    """A passage."""

    repository: str
    part: Stretch
    title: str = Field(description="Of the document.")
    text: str = Field(description="Verbatim.")
    score: float = Field(description="Higher is better; comparable within one answer.")
    why: str


class CandidateRepository(_Record):
    """A repository that was searched, or left out."""

    name: str
    why: str
    score: float | None = Field(description="How well it fits, as the passages' scores; null: nothing is indexed.")


class SearchResponse(_Record):
    """The answer of `search_documents`, best passage first."""

    passages: list[FoundPassage]
    token_count: int = Field(description="Of all texts.")
    searched: int = Field(description="Chunks that were looked at.")
    repositories: list[CandidateRepository] = Field(description="Where the passages are from, best first.")
    left_out: list[CandidateRepository] = Field(description="Of the other repositories the nearest, best first.")
    left_out_count: int = Field(description="How many others there are.")
    relevance: float = Field(description="Probability, 0 to 1, that the passages hold what is asked for.")
    cursor: str = Field(description="Fetches the next ones; empty at the end.")
    hint: str = Field(description="What to try instead, where nothing fits.")
    search_type: SearchType
    degraded: str = Field(description="What is weaker than asked for; empty when nothing is.")
    timings: dict[str, float] = Field(description="Milliseconds of each part.")
    trace_id: str = Field(description="What the log calls this request.")


class ReadResponse(_Record):
    """The answer of `read_document`: whole lines."""

    content: str = Field(description="Verbatim.")
    part: Stretch
    token_count: int
    total_lines: int = Field(description="Of the document.")
    cursor: str = Field(description="Fetches the next page; empty at the end.")
