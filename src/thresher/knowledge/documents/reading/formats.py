"""Which format a file has: by its name first, by its first octets where the name does not say.

Invariant: a name that nobody knows is plain text.
"""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import Final

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
_LOOKED_AT: Final = 1 << 14


def media_of(path: str, octets: bytes) -> str:
    """The format of a file: `markdown`, `rst`, `html`, `pdf`, `docx`, `notebook`, a language, or `text`."""
    name = PurePosixPath(path).name
    head = octets[:_LOOKED_AT]
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
