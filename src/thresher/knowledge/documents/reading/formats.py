"""The format of a file, and how it is read.

The format follows from the file's name, or from its first bytes if the name does not tell; a file with an unknown name
is plain text.

Invariant: pure, except that PDF and DOCX are converted in a process of their own with limits of time and memory; any
bytes give a record or `UnreadableDocument`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Final

from thresher.knowledge.documents.models import Block, Parsed
from thresher.knowledge.documents.reading.blocks import TextStructure, UnreadableDocument
from thresher.knowledge.documents.reading.code import read_code
from thresher.knowledge.documents.reading.conversion import convert, convert_notebook
from thresher.knowledge.documents.reading.encodings import decode
from thresher.knowledge.documents.reading.languages import LANGUAGES
from thresher.knowledge.documents.reading.markdown import read_markdown
from thresher.knowledge.documents.reading.plain import read_plain
from thresher.knowledge.documents.reading.restructured import read_restructured

_ENDINGS: Final = {
    "markdown": "md markdown mdown mkd mkdn mdx mdc qmd rmd",
    "rst": "rst rest",
    "html": "html htm xhtml",
    "pdf": "pdf",
    "docx": "docx",
    "notebook": "ipynb",
    "python": "py pyi pyw",
    "javascript": "js mjs cjs jsx",
    "typescript": "ts mts cts",
    "tsx": "tsx",
    "java": "java",
    "go": "go",
    "rust": "rs",
    "c": "c h",
    "cpp": "cpp cc cxx c++ hpp hh hxx h++ ipp tpp inl cu cuh",
    "csharp": "cs csx",
    "ruby": "rb rake gemspec",
    "php": "php phtml",
    "kotlin": "kt kts",
    "scala": "scala sc sbt",
    "swift": "swift",
    "bash": "sh bash zsh ksh",
}
_MEDIA: Final = {ending: media for media, endings in _ENDINGS.items() for ending in endings.split()}
_NAMES: Final = {"Rakefile": "ruby", "Gemfile": "ruby", "Vagrantfile": "ruby", "SConstruct": "python"}
_SHEBANG: Final = re.compile(rb"#![^\n]{0,100}?\b(python|bash|zsh|sh|ruby|php|node)[0-9.]*(?:\s|$)")
_PROGRAMS: Final = {"sh": "bash", "zsh": "bash", "node": "javascript"}
_CPLUSPLUS: Final = re.compile(rb"^\s*(?:class|namespace|template|using|public:|private:)\b", re.M)
_HEAD_BYTES: Final = 1 << 14


def media_of(path: str, octets: bytes) -> str:
    """The format of a file: `markdown`, `rst`, `html`, `pdf`, `docx`, `notebook`, a language, or `text`."""
    name = PurePosixPath(path).name
    head = octets[:_HEAD_BYTES]
    if head.lstrip()[:5] == b"%PDF-":
        return "pdf"
    media = _NAMES.get(name) or _MEDIA.get(PurePosixPath(name).suffix.lower()[1:], "")
    if media == "c" and _CPLUSPLUS.search(head):
        return "cpp"
    if media:
        return media
    if "." not in name and (shebang := _SHEBANG.match(head)):
        program = shebang[1].decode()
        return _PROGRAMS.get(program, program)
    return "text"


_READERS: Final[Mapping[str, Callable[[str], TextStructure]]] = {
    "markdown": read_markdown,
    "rst": read_restructured,
}
_CONVERTED: Final = {"html", "pdf", "docx"}
_PROSE: Final = {"markdown", "rst", "html", "pdf", "docx", "notebook"}
_GENERIC_NAMES: Final = {"readme", "index", "main", "overview", "_index"}
_WORDS: Final = re.compile(r"[^\s_-]+")


def read_file(path: str, data: bytes) -> Parsed:
    """See `parse` of the package."""
    media = media_of(path, data)
    text, structure = convert(media, data) if media in _CONVERTED else _read(media, data)
    if not text.strip():
        raise UnreadableDocument("empty", "There is no text in it.")
    return Parsed(
        text, structure.title or _title(path, media, structure.blocks), media, structure.blocks, structure.notes
    )


def _read(media: str, data: bytes) -> tuple[str, TextStructure]:
    """The text of a file, and its blocks."""
    text, note = decode(data)
    if media == "notebook":
        text, structure = convert_notebook(text)
    elif media in LANGUAGES:
        structure = read_code(text, media)
    else:
        structure = _READERS.get(media, read_plain)(text)
    return text, TextStructure(
        structure.blocks, structure.title, tuple(part for part in (note, *structure.notes) if part)
    )


def _title(path: str, media: str, blocks: Sequence[Block]) -> str:
    """A title for a document without one: its name, or its first heading if the name says nothing."""
    name = PurePosixPath(path)
    if media not in _PROSE:
        return name.name
    first = next((block.title for block in blocks if block.kind == "heading" and block.title), "")
    if first and name.stem.lower() in _GENERIC_NAMES:
        return first
    return " ".join(_WORDS.findall(name.stem)) or name.name
