"""What the name of a file says of whether it is worth reading.

Invariant: pure; nothing is opened.
"""

from __future__ import annotations

import re
from typing import Final

from thresher.knowledge.documents.models import Skipped

PASSED_OVER: Final = frozenset(
    {
        ".git", ".hg", ".svn", ".bzr", ".jj", "node_modules", "bower_components", "__pycache__", ".venv", ".tox",
        ".nox", ".eggs", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".hypothesis", ".gradle", ".terraform", ".next",
        ".nuxt", ".cache", ".parcel-cache", ".idea", ".vs", ".ipynb_checkpoints",
    }
)  # fmt: skip
"""Folders that tools fill."""
_ESCAPED: Final = 0xDC00
"""Where Python keeps a byte that is no UTF-8."""
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


def path_of(name: bytes) -> str | None:
    """A path as text; None where it cannot be shown on one line, or is too long to be kept."""
    try:
        path = name.decode("utf-8")
    except UnicodeDecodeError:
        return None
    steps = path.split("/")
    sound = all(steps) and not {".", ".."} & set(steps) and path.isprintable()
    return path if sound and len(name) <= _LONGEST and len(steps) <= _DEEPEST else None


def odd(name: bytes) -> Skipped:
    """The record of a file whose path is not taken."""
    shown = "".join(map(_shown, name[:_LONGEST].decode("utf-8", "surrogateescape")))
    if path_of(name[:_LONGEST]) is not None or name.count(b"/") >= _DEEPEST:
        return Skipped(shown, "unreadable", f"Its path has more than {_LONGEST} bytes or {_DEEPEST} folders.")
    return Skipped(shown, "unreadable", "Its name is not UTF-8, or cannot be shown on one line.")


def _shown(character: str) -> str:
    if character.isprintable():
        return character
    byte = ord(character) - _ESCAPED
    return f"\\x{byte:02x}" if 0 <= byte <= 0xFF else character.encode("unicode_escape").decode("ascii")


def judged_by_name(path: str) -> Skipped | None:
    """Why a file is not even opened; None where its content decides."""
    name = path.rpartition("/")[2]
    if _SECRET.fullmatch(name):
        return Skipped(path, "secret", "Files of this name hold passwords or keys.")
    if _GENERATED.fullmatch(name):
        return Skipped(path, "generated", "Files of this name are written by programs.")
    if name.lower().rpartition(".")[2] in _BINARY and "." in name[1:]:
        return Skipped(path, "binary", "Files of this name hold no text.")
    return None
