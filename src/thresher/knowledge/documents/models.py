"""The records of the documents kind.

Invariant: frozen; offsets count characters of the document's own text, lines count from 1, tokens are o200k. A
document's text was written by others: it is data, never instruction.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Literal, TypeAlias

SourceKind: TypeAlias = Literal["folder", "git", "file", "upload"]
BlockKind: TypeAlias = Literal["heading", "paragraph", "item", "quote", "table", "fence", "code", "matter"]
SearchType: TypeAlias = Literal["hybrid", "text", "semantic"]
Mode: TypeAlias = Literal["extractive", "abstractive"]

CHUNK_BITS: Final = 20
"""A chunk's id in the index is its document's id, shifted by this, plus its ordinal, so that no lookup is needed."""


def chunk_id(document: int, ordinal: int) -> int:
    """The index id of a document's chunk."""
    return document << CHUNK_BITS | ordinal


def key_of(chunk: int) -> tuple[int, int]:
    """Document and ordinal of a chunk, from its index id."""
    return chunk >> CHUNK_BITS, chunk & (1 << CHUNK_BITS) - 1


@dataclass(frozen=True, slots=True)
class Block:
    """A part of a text that its format sets apart; blocks follow one another and never overlap.

    Attributes:
        kind: `heading`, `paragraph`, `item` (of a list, with what is nested in it), `quote`, `table`, `fence` (a code
            block inside a document), `code` (a function, a class head or other part of a source file) or `matter`
            (front matter, link definitions and the like).
        start: First character.
        end: Character after the last.
        level: For a heading 1 to 6; for code, items, quotes and fences the depth of nesting; else 0.
        title: For a heading its text; for code the qualified name that it defines; else empty.
        head: For a table: end of its header rows; else 0.
        rows: For a table: start of each row after the header; else empty.
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
    """A file as its reader parsed it.

    Attributes:
        text: The text that is stored, searched and returned verbatim. For Markdown, reStructuredText, plain text and
            source code the file's own text; for HTML, PDF and DOCX its conversion to Markdown.
        title: Its title; the file's name if it has none.
        media: `markdown`, `rst`, `html`, `text`, `pdf`, `docx`, or the name of a programming language.
        blocks: Blocks in order; only white space lies between them.
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
        last_line: Line of the last character that is not a line break.
        tokens: Tokens of its text alone.
        kind: Kind of its (first) block.
        heading: Index in the document's list of heading paths.
        head_start: For table rows whose header is in another chunk: start of that header.
        head_end: End of that header; equal to `head_start` if there is none.
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
    """A document cut into chunks.

    Attributes:
        chunks: Chunks in order.
        headings: Distinct heading paths, outermost heading first; the first is the empty path.
    """

    chunks: tuple[Chunk, ...]
    headings: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file in a source.

    Attributes:
        path: Path inside the repository, with `/`.
        blob: Its git blob id, hexadecimal; equal ids mean equal bytes.
        size: Size in bytes.
    """

    path: str
    blob: str
    size: int


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file that is not read, and why.

    Attributes:
        path: Path inside the repository.
        reason: `ignored`, `excluded`, `binary`, `generated`, `numbers`, `secret`, `too large`, `link`, `unreadable`,
            `unknown format` or `empty`.
        detail: A sentence for people; never contains the content.
    """

    path: str
    reason: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a repository comes from.

    Attributes:
        kind: `folder` (its working tree), `git` (a tree of commits), `file`, or `upload` (files in the database).
        location: Absolute path, or a git URL without credentials; `uploads` for uploaded files.
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
        name: Unique among the repositories that its owner sees.
        owner: The only user who sees it; None for everyone in the tenant.
        origin: Where it comes from.
        version: Commit, or a digest of the files; empty before the first run.
        guide: A summary of its contents for a model, Markdown.
        guide_by: `structure`, `model` or `person`.
        documents: Number of documents.
        chunks: Number of chunks.
        tokens: Tokens of all documents.
        skipped: Number of files by reason.
        embedded: Chunks that can be found by meaning.
        state: `waiting`, `indexing`, `ready` or `failed`.
        problem: Why it failed, or what is wrong.
        job: The last job that indexed it, or 0.
        indexed_at: When the last run succeeded.
        edition: Raised by every change of its documents.
        description: The first informative line of its guide.
        embedding_model: The model of its vectors; empty if it has none.
        check_seconds: How often its source is checked for changes; None for the setting, with folders watched; 0 never.
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
    check_seconds: int | None = None


@dataclass(frozen=True, slots=True)
class Upload:
    """The outcome of an upload.

    Attributes:
        repository: Name of the repository.
        stored: Paths that were stored, new ones and those with other bytes, in order.
        unchanged: Number of files that were there with the same bytes.
        removed: Paths that an earlier archive of this name held and this one does not.
        skipped: Files of an archive that were not stored, and why.
        job: The job that indexes them, or 0 if nothing changed.
    """

    repository: str
    stored: tuple[str, ...]
    unchanged: int = 0
    removed: tuple[str, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    job: int = 0


@dataclass(frozen=True, slots=True)
class Webhook:
    """How another program has a repository indexed again without a key.

    Attributes:
        repository: Name of the repository.
        path: Path and query of the call, a POST.
        secret: Signs the calls; shown once.
    """

    repository: str
    path: str
    secret: str


@dataclass(frozen=True, slots=True)
class Document:
    """One version of a file; a new version is a new document.

    Attributes:
        id: Its key; the text and layout of a key never change.
        repository: Key of its repository.
        path: Path inside the repository.
        title: Its title.
        media: Its format.
        blob: Git blob id of its bytes.
        tokens: Exact tokens of its whole text.
        lines: Number of lines.
        chunks: Number of chunks.
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
class DocumentPart:
    """A part of a document in an answer.

    Attributes:
        path: Path of the document.
        heading_path: Headings above it, outermost first.
        first_line: Its first line.
        last_line: Its last line.
        start: First character.
        end: Character after the last.
        tokens: Tokens of its text alone.
        why: Why it was chosen, in a few words; empty where nothing chose it.
    """

    path: str
    heading_path: tuple[str, ...]
    first_line: int
    last_line: int
    start: int
    end: int
    tokens: int
    why: str = ""


@dataclass(frozen=True, slots=True)
class Omitted:
    """A part that an answer leaves out: one entry of its table of contents.

    Attributes:
        heading_path: Headings above it; empty if the document has none.
        first_line: Its first line.
        last_line: Its last line.
        tokens: Approximate size in tokens.
    """

    heading_path: tuple[str, ...]
    first_line: int
    last_line: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Retrieval:
    """The answer of `retrieve_document`.

    Attributes:
        content: What a model reads: verbatim passages, each under a line with its headings and lines, and a table of
            contents of what was left out.
        sources: The parts that `content` contains, in order.
        token_count: Exact tokens of `content`; never above the budget.
        was_compressed: Whether something of the document is missing.
        original_token_count: Tokens of the whole document.
        tokenizer: `o200k`.
        left_out: What is missing, in document order.
        cursor: Fetches what is missing, best first; empty if nothing is missing, or none of it fits the budget.
        document: Path of the document; empty if nothing was found.
        why: Why this document was chosen, in a few words.
        repository: Its repository.
        found: Whether anything fits the question; if not, `content` is the repository's guide.
        hint: What to try instead, if nothing fits the question or the budget.
        mode: `extractive` or `abstractive`: how `content` was made.
        unsupported: A model's sentences that are in no passage word for word; each is marked.
        search_type: The search type that was used.
        degraded: How the answer is weaker than requested, in words.
        timings: Milliseconds of each step.
        trace_id: Identifies the answer in the logs.
    """

    content: str
    sources: tuple[DocumentPart, ...]
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
    why: str = ""


@dataclass(frozen=True, slots=True)
class Passage:
    """A passage that `search_documents` found.

    Attributes:
        repository: Name of its repository.
        part: Where it is.
        title: Title of the document.
        text: Its text, verbatim.
        score: Score of the ranking, higher is better; comparable within one answer.
        why: The reason, in a few words.
    """

    repository: str
    part: DocumentPart
    title: str
    text: str
    score: float
    why: str = ""


@dataclass(frozen=True, slots=True)
class RepositoryCandidate:
    """A repository that a search chose, or left out.

    Attributes:
        name: Its name.
        why: The reason, in a few words.
        score: How well it fits the question, on the scale of passage scores; None if nothing of it is indexed.
    """

    name: str
    why: str
    score: float | None = None


@dataclass(frozen=True, slots=True)
class Passages:
    """The answer of `search_documents`.

    Attributes:
        passages: Passages, best first.
        token_count: Tokens of all their texts.
        searched: Number of chunks that were scored.
        repositories: The searched repositories: the requested one, or those that the question is about, best first.
        left_out: The nearest of the other repositories, best first.
        left_out_count: Number of the other repositories.
        relevance: Probability, 0 to 1, that the passages answer the question.
        cursor: Fetches the next passages; empty at the end.
        hint: What to try instead, if nothing fits.
        search_type: The search type that was used.
        degraded: How the answer is weaker than requested, in words.
        timings: Milliseconds of each step.
        trace_id: Identifies the answer in the logs.
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
    repositories: tuple[RepositoryCandidate, ...] = ()
    left_out: tuple[RepositoryCandidate, ...] = ()
    left_out_count: int = 0
    relevance: float = 0.0


@dataclass(frozen=True, slots=True)
class DocumentPage:
    """The answer of `read_document`: whole lines of a document.

    Attributes:
        content: The lines, verbatim.
        part: Where they are.
        token_count: Exact tokens.
        total_lines: Lines of the document.
        cursor: Fetches the next page; empty at the end.
    """

    content: str
    part: DocumentPart
    token_count: int
    total_lines: int
    cursor: str = ""
