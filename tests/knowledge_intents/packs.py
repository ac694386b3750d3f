"""Writes packs for tests."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path


def write_pack(
    folder: Path,
    name: str,
    lines: Iterable[str],
    *,
    rules: str = "",
    negatives: Iterable[str] = (),
    metadata: Iterable[str] = (),
) -> Path:
    """Write a pack into a folder of packs; returns its own folder."""
    place = folder / name
    place.mkdir(parents=True, exist_ok=True)
    more = "".join(f"  {line}\n" for line in metadata)
    front = f"---\nname: {name}\ndescription: How we do {name} here.\n{'metadata:' if more else ''}\n{more}---\n"
    (place / "SKILL.md").write_text(f"{front}{rules or f'# Rules of {name}'}\n", encoding="utf-8")
    (place / "examples.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    if given := list(negatives):
        (place / "not_examples.txt").write_text("\n".join(given) + "\n", encoding="utf-8")
    return place
