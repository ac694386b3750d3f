"""Writes packs for tests."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from thresher.knowledge.intents import Pack, read_pack

WHOLE = """
# Links

## Goal
Link records.

## Current project
{{PROJECT_NAME}}

## Available tools
- `crm_link`, `crm_unlink`

## Tool details
`crm_link` - required: `left`, `right`; optional: `kind` (plain); when: two records belong together.

## Decision tree
1. Link or unlink?

## Disambiguation
"Join" means link.

## Examples
- "link a and b" -> `crm_link`

## Important rules
1. Never unlink unasked.

## Out of context
Call `process_prompt` again.

## 10. Final *notes*:
Name both records.
"""
LINES = (
    "link the order with its customer",
    "unlink these two",
    "could you please tie invoice 12 to contract 7",
    "relation between a and b, make one",
    "remove the conection from the supplier",
    "which records hang together",
    "attach the note to the meeting",
    "join both entries",
    "connect them",
    "the parts belong to machine 4, record that",
)
DESCRIPTION = "Link and unlink records of the CRM. Use when records belong together or no longer do."
METADATA = {"servers": "crm", "variables": "true", "off_topic": "I only link records."}


def pack_at(
    folder: Path,
    *,
    rules: str = WHOLE,
    lines: Sequence[str] | None = LINES,
    misses: Sequence[str] = (),
    asked: Sequence[str] = (),
    description: str = DESCRIPTION,
    metadata: dict[str, str] | None = None,
    head: str = "",
    code: str = "",
) -> Pack:
    """A pack in a folder of its name, without what is not given."""
    folder.mkdir(parents=True, exist_ok=True)
    told = "".join(
        f"  {key}: {json.dumps(value)}\n" for key, value in (METADATA if metadata is None else metadata).items()
    )
    matter = f"name: {folder.name}\ndescription: {json.dumps(description)}\n{head}" + (
        f"metadata:\n{told}" if told else ""
    )
    (folder / "SKILL.md").write_text(f"---\n{matter}---\n{rules}", encoding="utf-8")
    if lines is not None:
        (folder / "examples.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    if misses:
        (folder / "not_examples.txt").write_text("\n".join(misses) + "\n", encoding="utf-8")
    if asked:
        (folder / "evals").mkdir(exist_ok=True)
        evals = [{"query": query, "should_trigger": True} for query in asked]
        (folder / "evals" / "eval_queries.json").write_text(json.dumps(evals), encoding="utf-8")
    if code:
        (folder / "tools.py").write_text(code, encoding="utf-8")
    return read_pack(folder, "configured")[0]
