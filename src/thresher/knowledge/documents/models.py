"""The records of the documents kind.

Invariant: frozen; offsets count characters of the document's own text, lines count from 1, tokens are o200k. Text of
documents is other people's text: data, never instruction.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Literal, TypeAlias

SourceKind: TypeAlias = Literal["folder", "git", "file"]
BlockKind: TypeAlias = Literal["heading", "paragraph", "item", "quote", "table", "fence", "code", "matter"]
SearchType: TypeAlias = Literal["hybrid", "text", "semantic"]
Mode: TypeAlias = Literal["extractive", "abstractive"]

CHUNK_BITS: Final = 20
"""A chunk's id in the index is its document's id, shifted by this, plus its place: nothing has to be looked up."""


def chunk_id(document: int, ordinal: int) -> int:
    """The id in the index of a document's chunk."""
    return document << CHUNK_BITS | ordinal


def key_of(chunk: int) -> tuple[int, int]:
    """The document and the place in it of a chunk, by its id in the index."""
    return chunk >> CHUNK_BITS, chunk & (1 << CHUNK_BITS) - 1


@dataclass(frozen=True, slots=True)
class Block:
    """A part of a text that its format sets apart; blocks follow one another and never overlap.

    Attributes:
        kind: `heading`, `paragraph`, `item` (of a list, with what is nested in it), `quote`, `table`, `fence` (a code
            block inside a document), `code` (a function, a class head or other stretch of a source file) or `matter`
            (front matter, link definitions and what else no reader asks for).
        start: First character.
        end: Character after the last.
        level: Of a heading 1 to 6; of code, items, quotes and fences how deep they are nested; else 0.
        title: Of a heading its words; of code the qualified name that it defines; else empty.
        head: Of a table: where its header rows end; else 0.
        rows: Of a table: where each row after the header starts; else empty.
    """

    kind: BlockKind
    start: int
    end: int
    level: int = 0
    title: str = ""
    head: int = 0
    rows: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Parsed:
    """What a reader made of a file.

    Attributes:
        text: The text that is stored, searched and returned verbatim. Of Markdown, reStructuredText, plain text and
            source code the file's own; of HTML, PDF and DOCX its conversion to Markdown.
        title: Its title; the file's name where it has none.
        media: `markdown`, `rst`, `html`, `text`, `pdf`, `docx`, or the name of a programming language.
        blocks: In order; what lies between them is white space.
        notes: What was lost or guessed, in sentences.
    """

    text: str
    title: str
    media: str
    blocks: tuple[Block, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a document that is found, chosen and returned as a whole; the chunks of a document partition its text.

    Attributes:
        start: First character.
        end: Character after the last.
        first_line: Line of the first character.
        last_line: Line of the last character that is no line break.
        tokens: Of its text alone.
        kind: Of its (first) block.
        heading: Place in the document's list of heading paths.
        head_start: Of rows of a table whose header stands in another chunk: where that header starts.
        head_end: And where it ends; equal to `head_start` where there is none.
    """

    start: int
    end: int
    first_line: int
    last_line: int
    tokens: int
    kind: BlockKind
    heading: int = 0
    head_start: int = 0
    head_end: int = 0


@dataclass(frozen=True, slots=True)
class Chunked:
    """A document cut up.

    Attributes:
        chunks: In order.
        headings: Distinct heading paths, outermost first; the first is the empty path.
    """

    chunks: tuple[Chunk, ...]
    headings: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file that a source offers.

    Attributes:
        path: Inside the repository, with `/`.
        blob: Its git blob id, hexadecimal; equal ids mean equal bytes.
        size: Bytes.
    """

    path: str
    blob: str
    size: int


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file that is not read, and why.

    Attributes:
        path: Inside the repository.
        reason: `ignored`, `excluded`, `binary`, `generated`, `numbers`, `secret`, `too large`, `link`, `unreadable`,
            `unknown format` or `empty`.
        detail: A sentence for people; never the content.
    """

    path: str
    reason: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a repository comes from.

    Attributes:
        kind: `folder` (its working tree), `git` (a tree of commits) or `file`.
        location: Absolute path, or a git URL without credentials.
        ref: Branch, tag or commit; empty for the default branch, or for the working tree.
        include: Globs of the files to take; empty for all.
        exclude: Globs of files to leave out.
    """

    kind: SourceKind
    location: str
    ref: str = ""
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository of documents.

    Attributes:
        id: Its key.
        name: Unique among what its owner sees.
        owner: The only user who sees it; None for everybody in the tenant.
        origin: Where it comes from.
        version: Commit, or a digest of the files; empty before the first run.
        guide: What is in it, Markdown, for a model that has to find its way.
        guide_by: `structure`, `model` or `person`.
        documents: How many.
        chunks: How many.
        tokens: Of all documents.
        skipped: Reason to number of files.
        embedded: Chunks that can be found by meaning.
        state: `waiting`, `indexing`, `ready` or `failed`.
        problem: Why it failed, or what is not as it should be.
        job: The last job that indexed it, or 0.
        indexed_at: When the last run ended well.
        edition: Raised by every change of its documents.
        description: What it is about: the first line of its guide that says something.
        embedding_model: Whose vectors find its chunks by meaning; empty where none do.
    """

    id: int
    name: str
    owner: str | None
    origin: Origin
    version: str = ""
    guide: str = ""
    guide_by: str = "structure"
    documents: int = 0
    chunks: int = 0
    tokens: int = 0
    skipped: Mapping[str, int] = field(default_factory=dict[str, int])
    embedded: int = 0
    state: str = "waiting"
    problem: str = ""
    job: int = 0
    indexed_at: datetime | None = None
    edition: int = 0
    description: str = ""
    embedding_model: str = ""


@dataclass(frozen=True, slots=True)
class Document:
    """One version of a file; a new version is a new document.

    Attributes:
        id: Its key; its text and layout never change under it.
        repository: Key of its repository.
        path: Inside the repository.
        title: Its title.
        media: Its format.
        blob: Git blob id of the bytes that it was read from.
        tokens: Of its whole text, exactly.
        lines: How many.
        chunks: How many.
    """

    id: int
    repository: int
    path: str
    title: str
    media: str
    blob: str
    tokens: int
    lines: int
    chunks: int


@dataclass(frozen=True, slots=True)
class Part:
    """A stretch of a document in an answer.

    Attributes:
        path: Of the document.
        heading_path: Headings above it, outermost first.
        first_line: Its first line.
        last_line: Its last line.
        start: First character.
        end: Character after the last.
        tokens: Of its text alone.
    """

    path: str
    heading_path: tuple[str, ...]
    first_line: int
    last_line: int
    start: int
    end: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Omitted:
    """A stretch that is not in an answer: one entry of the table of contents of what was left out.

    Attributes:
        heading_path: Headings above it; empty where the document has none.
        first_line: Its first line.
        last_line: Its last line.
        tokens: What it would cost about.
    """

    heading_path: tuple[str, ...]
    first_line: int
    last_line: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Retrieval:
    """The answer of `retrieve_document`.

    Attributes:
        content: What a model reads: passages, verbatim, each under a line that names its headings and lines, and a
            table of contents of what was left out.
        sources: The stretches that `content` holds, in order.
        token_count: Tokens of `content`, exactly; never above the budget.
        was_compressed: Whether something of the document is missing.
        original_token_count: Tokens of the whole document.
        tokenizer: `o200k`.
        left_out: What is missing, in document order.
        cursor: Fetches it, the most fitting first; empty where nothing is missing, or none of it fits into the budget.
        document: Path of the document; empty where nothing was found.
        repository: Its repository.
        found: Whether anything fits; else `content` is the repository's guide.
        hint: What to try instead, where nothing fits the question or the budget.
        mode: `extractive` or `abstractive`: how `content` came about.
        unsupported: Sentences of a model's that stand in no passage word for word; each is marked.
        search_type: As it was carried out.
        degraded: What is weaker than asked for, in words.
        timings: Milliseconds of each part.
        trace_id: Names the answer in the logs.
    """

    content: str
    sources: tuple[Part, ...]
    token_count: int
    was_compressed: bool
    original_token_count: int
    tokenizer: str = "o200k"
    left_out: tuple[Omitted, ...] = ()
    cursor: str = ""
    document: str = ""
    repository: str = ""
    found: bool = True
    hint: str = ""
    mode: Mode = "extractive"
    unsupported: int = 0
    search_type: SearchType = "hybrid"
    degraded: str = ""
    timings: Mapping[str, float] = field(default_factory=dict[str, float])
    trace_id: str = ""


@dataclass(frozen=True, slots=True)
class Passage:
    """A passage that `search_documents` found.

    Attributes:
        repository: Name of its repository.
        part: Where it lies.
        title: Of the document.
        text: Verbatim.
        score: Of the ranking, higher is better; comparable within one answer.
        why: The reason, in a few words.
    """

    repository: str
    part: Part
    title: str
    text: str
    score: float
    why: str = ""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A repository that a search took, or left out.

    Attributes:
        name: Its name.
        why: The reason, in a few words.
        score: How well it fits the question, on the scale of the passages' scores; None where nothing of it is indexed.
    """

    name: str
    why: str
    score: float | None = None


@dataclass(frozen=True, slots=True)
class Passages:
    """The answer of `search_documents`.

    Attributes:
        passages: Best first.
        token_count: Of all their texts.
        searched: Chunks that were looked at.
        repositories: Where the passages are from, or would be: the one that was asked, or those that the question
            means, best first.
        left_out: Of the others the nearest, best first.
        left_out_count: How many others there are.
        relevance: Probability, 0 to 1, that the passages hold what is asked for.
        cursor: Fetches the next ones; empty at the end.
        hint: What to try instead, where nothing fits.
        search_type: As it was carried out.
        degraded: What is weaker than asked for, in words.
        timings: Milliseconds of each part.
        trace_id: Names the answer in the logs.
    """

    passages: tuple[Passage, ...]
    token_count: int
    searched: int
    cursor: str = ""
    hint: str = ""
    search_type: SearchType = "hybrid"
    degraded: str = ""
    timings: Mapping[str, float] = field(default_factory=dict[str, float])
    trace_id: str = ""
    repositories: tuple[Candidate, ...] = ()
    left_out: tuple[Candidate, ...] = ()
    left_out_count: int = 0
    relevance: float = 0.0


@dataclass(frozen=True, slots=True)
class Page:
    """The answer of `read_document`: whole lines of a document.

    Attributes:
        content: Verbatim.
        part: Where it lies.
        token_count: Exactly.
        total_lines: Of the document.
        cursor: Fetches the next page; empty at the end.
    """

    content: str
    part: Part
    token_count: int
    total_lines: int
    cursor: str = ""
