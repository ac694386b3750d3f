"""Which files are not worth indexing, by their names and by their bytes.

Invariant: pure, and linear in the size of a file; a reason never quotes the file.
"""

from __future__ import annotations

import re
from typing import Final

from thresher.knowledge.documents.models import Skipped
from thresher.knowledge.documents.sources.credentials import secret_in

TOOL_FOLDERS: Final = frozenset(
    {
        ".git", ".hg", ".svn", ".bzr", ".jj", "node_modules", "bower_components", "__pycache__", ".venv", ".tox",
        ".nox", ".eggs", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".hypothesis", ".gradle", ".terraform", ".next",
        ".nuxt", ".cache", ".parcel-cache", ".idea", ".vs", ".ipynb_checkpoints",
    }
)  # fmt: skip
"""Folders that tools fill."""
_ESCAPED: Final = 0xDC00
"""Python maps a byte that is not UTF-8 to this code point plus the byte."""
_LONGEST: Final = 1_000
_DEEPEST: Final = 64
_BINARY: Final = frozenset(
    re.findall(
        r"\w+",
        """7z a aac aab ai apk appimage ar arrow avi avif avro bin blend bmp bz2 cab class coff com cur dbf deb dll dmg
        doc dot dylib ear eot eps exe fbx fla flac flv gif glb gz h5 hdf hdf5 heic icns ico idx img iso jar jpeg jpg jp2
        ko lib lz lz4 lzma m4a m4v mat mdb mid mkv mo mov mp3 mp4 mpeg mpg msi nc node npy npz o obj ogg ogv onnx opus
        otf pack parquet pickle pkl png ppt pptx psd pt pth pyc pyd pyo rar rds rlib rpm safetensors so sqlite sqlite3
        stl swf tar tflite tgz tif tiff ttc ttf vsd war wasm wav webm webp whl wmv woff woff2 xcf xls xlsb xlsx xz z zip
        zst""",
    )
)
_GENERATED: Final = re.compile(
    r"(?:package-lock|npm-shrinkwrap|composer-lock|packages\.lock)\.json|pnpm-lock\.ya?ml|go\.sum|.+\.lock|.+\.lockb?"
    r"|.+[.-]min\.(?:js|mjs|css|html)|.+[.-]bundle\.(?:js|css)|.+\.(?:js|css|mjs)\.map|.+_pb2(?:_grpc)?\.pyi?|.+\.pb\.(?:go|cc|h)"
    r"|.+\.g\.(?:dart|cs)|.+\.designer\.cs|.+\.snap|\.coverage|\.DS_Store|tags|.+\.(?:svg|drawio)",
    re.I,
)
_SECRET: Final = re.compile(
    r"\.env|\.env\.(?!example$|sample$|template$|dist$|defaults?$|schema$).+|.+\.env"
    r"|id_(?:rsa|dsa|ecdsa|ed25519)(?:_sk)?|.+\.(?:key|ppk|p12|pfx|jks|keystore|kdbx?|ovpn|gpg|tfstate|tfvars)"
    r"|[._]netrc|\.pgpass|\.my\.cnf|\.git-credentials|\.htpasswd|\.pypirc|\.dockercfg|kubeconfig|master\.key"
    r"|(?:secrets?|credentials?)\.(?:ya?ml|json|toml|ini|properties|env|txt)|(?:shadow|passwd)|credentials"
    r"|(?:service[-_]account|client[-_]secret).*\.json|wallet\.dat",
    re.I,
)


def decoded_path(name: bytes) -> str | None:
    """A path as text; None if it cannot be shown on one line, or is too long."""
    try:
        path = name.decode("utf-8")
    except UnicodeDecodeError:
        return None
    steps = path.split("/")
    sound = all(steps) and not {".", ".."} & set(steps) and path.isprintable()
    return path if sound and len(name) <= _LONGEST and len(steps) <= _DEEPEST else None


def unusable_path(name: bytes) -> Skipped:
    """The record of a file whose path is unusable."""
    shown = "".join(map(_shown, name[:_LONGEST].decode("utf-8", "surrogateescape")))
    if decoded_path(name[:_LONGEST]) is not None or name.count(b"/") >= _DEEPEST:
        return Skipped(shown, "unreadable", f"Its path has more than {_LONGEST} bytes or {_DEEPEST} folders.")
    return Skipped(shown, "unreadable", "Its name is not UTF-8, or cannot be shown on one line.")


def _shown(character: str) -> str:
    if character.isprintable():
        return character
    byte = ord(character) - _ESCAPED
    return f"\\x{byte:02x}" if 0 <= byte <= 0xFF else character.encode("unicode_escape").decode("ascii")


def name_exclusion(path: str) -> Skipped | None:
    """Why the name of a file excludes it; None if it does not."""
    name = path.rpartition("/")[2]
    if _SECRET.fullmatch(name):
        return Skipped(path, "secret", "Files of this name contain passwords or keys.")
    if _GENERATED.fullmatch(name):
        return Skipped(path, "generated", "Files of this name are written by programs.")
    if name.lower().rpartition(".")[2] in _BINARY and "." in name[1:]:
        return Skipped(path, "binary", "Files of this name contain no text.")
    return None


_SAMPLE: Final = 16 << 10
_CONTROLS: Final = bytes(set(range(32)) - {8, 9, 10, 12, 13, 27} | {127})
"""Bytes that text does not contain; backspace, form feed and escape occur in printed manuals and terminal output."""
_MOST_CONTROLS: Final = 0.03
_MARKS: Final = (b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff", b"\xef\xbb\xbf")
_PACKED: Final = (".pdf", ".docx")
"""Documents whose readers extract the text from bytes."""
_PROSE: Final = (
    ".md", ".markdown", ".mdx", ".mdown", ".rst", ".html", ".htm", ".xhtml", ".adoc", ".asciidoc", ".org", ".tex",
    ".ipynb",
)  # fmt: skip
_GENERATED_MARK: Final = re.compile(
    rb"""^[ \t]*(?:\#|//|/?\*|--|;|%|<!--|\"\"\"|'''|REM\b)[^\n]{0,200}?
    (?:@generated\b|\bcode\ generated\b[^\n]{0,200}\bdo\ not\ edit\b
    |\bauto-?(?:matically\ )?generated\b[^\n]{0,200}\bdo\ not\ (?:edit|modify)\b
    |\bthis\ (?:file|code)\ (?:is|was|has\ been)\ (?:auto(?:matically)?[-\ ]?)?generated\b)""",
    re.I | re.M | re.X,
)
"""A comment that calls the file generated."""
_OPENING: Final = 2_000
_LONG_LINE: Final = 5_000
_LONG_MEAN: Final = 500
_LINES_MATTER: Final = (".js", ".mjs", ".cjs", ".css", ".json", ".jsonl", ".ndjson", ".xml", ".geojson", ".ts", ".wkt")
_ENCODED: Final = re.compile(rb"[A-Za-z0-9+/=_\-]{200,}")
_NUMBER: Final = re.compile(rb"[+\-]?(?:\d+\.?\d*|\.\d+)(?:[eEdD][+\-]?\d+)?%?|nan|inf|-9999", re.I)
_CELL: Final = re.compile(rb"[^\s,;|]+")
_FEW_CELLS: Final = 200
_MOST_NUMBERS: Final = 0.75


def content_exclusion(path: str, data: bytes) -> Skipped | None:
    """Why the bytes of a file exclude it; None if they do not."""
    if not data.strip(b" \t\r\n\f\0\xef\xbb\xbf"):
        return Skipped(path, "empty", "It is empty.")
    lowered = path.lower()
    if lowered.endswith(_PACKED):
        return None
    if data.startswith(b"version https://git-lfs.github.com/spec/"):
        return Skipped(path, "binary", "It is only a Git LFS pointer to the file.")
    wide = _is_wide(data)
    if not wide and _is_binary(data):
        return Skipped(path, "binary", "Its bytes are not text.")
    text = data.replace(b"\0", b"") if wide else data
    if what := secret_in(text):
        return Skipped(path, "secret", f"It contains {what}.")
    return None if lowered.endswith(_PROSE) else _mechanical(path, lowered, text)


def _mechanical(path: str, lowered: str, data: bytes) -> Skipped | None:
    """Why a file was written by a program for programs; None if it was not."""
    if _GENERATED_MARK.search(data[:_OPENING]):
        return Skipped(path, "generated", "It says so in its first lines.")
    sample = _sample(data)
    lines = sample.count(b"\n") + 1
    longest = max(map(len, sample.splitlines()), default=0)
    if lowered.endswith(_LINES_MATTER) and (longest > _LONG_LINE or (lines > 1 and len(sample) / lines > _LONG_MEAN)):
        return Skipped(path, "generated", "Its lines are too long to be written by a person.")
    if sum(len(part) for part in _ENCODED.findall(sample)) > len(sample) / 2:
        return Skipped(path, "generated", "Most of it is encoded data.")
    cells = _CELL.findall(sample)
    numbers = sum(_NUMBER.fullmatch(cell.strip(b"\"'()[]{}:")) is not None for cell in cells)
    if len(cells) >= _FEW_CELLS and numbers >= _MOST_NUMBERS * len(cells):
        return Skipped(path, "numbers", "Most of it is a grid of numbers.")
    return None


def _sample(data: bytes) -> bytes:
    """The beginning, the middle and the end of the bytes."""
    if len(data) <= 3 * _SAMPLE:
        return data
    middle = len(data) // 2
    return data[:_SAMPLE] + data[middle : middle + _SAMPLE] + data[-_SAMPLE:]


def _is_wide(data: bytes) -> bool:
    """Whether it is UTF-16 or UTF-32: it has a byte order mark, or NULs at every second position."""
    if data.startswith(_MARKS[:3]):
        return True
    head = data[:_SAMPLE]
    even, odd = head[::2].count(0), head[1::2].count(0)
    few, many = sorted((even, odd))
    return many > len(head) / 5 and few * 50 < many


def _is_binary(data: bytes) -> bool:
    sample = _sample(data)
    return len(sample) - len(sample.translate(None, _CONTROLS)) > _MOST_CONTROLS * len(sample)
