"""Tunes the encoder: messages and their targets are drawn together, away from the neighbours of the target.

Each step takes messages for tools of a few servers, so that many of the other tools in a batch are near neighbours; in
the same way passages of a few documents and intents of a few fields. The loss is a cross-entropy over similarities in
both directions; in that from target to message, messages that need no tool compete as well. A tool is read in one of
the three texts that the product embeds (name, brief, full), drawn again for each step. The product's stored vector is
their weighted sum. One more term keeps what the base knows and messages do not teach: vectors stay near the base's.

Invariant: the result depends on the data, the arguments and the seed; the state after each `SAVE_EVERY` steps is on
disk, and a run that was ended goes on from there.
"""

from __future__ import annotations

import json
import random
import re
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from tokenizers import Tokenizer
from torch import Tensor
from transformers import BertModel

from training.base import CONFIG, base_tokenizer, base_weights
from training.messages import Intent, Message, Passage, Request

SAVE_EVERY = 100
VIEWS = (0.3, 0.35, 0.35)
"""How often a tool is read by its name, its brief and its full text."""
MAX_MESSAGE, MAX_TEXT = 96, 128
"""Tokens that are read of a message and of a target's text."""
_DIGITS = re.compile(r"\d")


@dataclass(frozen=True, slots=True)
class Recipe:
    """The numbers of a run.

    Attributes:
        steps: Steps in all.
        groups: Servers, documents or fields in a batch.
        targets: Tools, passages or intents of each of them in a batch.
        idle: Messages without a tool in a batch.
        rate: The highest learning rate.
        warm: The share of steps in which it rises.
        scale: What similarities are multiplied with.
        keep: The weight of the distance from the base's vectors.
        seed: Of everything that is drawn.
    """

    steps: int = 1200
    groups: int = 8
    targets: int = 8
    idle: int = 8
    rate: float = 5e-5
    warm: float = 0.1
    scale: float = 50.0
    keep: float = 1.0
    seed: int = 1


@dataclass(frozen=True, slots=True)
class Target:
    """What is to be found: a tool, a passage, or an intent.

    Attributes:
        key: Its name among all.
        group: Its server, document or field; the others of it are the wrong answers.
        asked: What is asked for it.
        read: The texts that stand for it; an intent is read in its other lines.
        shares: How often each text is read; empty for equally often.
    """

    key: str
    group: str
    asked: tuple[str, ...]
    read: tuple[str, ...]
    shares: tuple[float, ...] = ()

    def drawn(self, asked: str, dice: random.Random) -> str:
        """One of the texts, but not what was asked."""
        while True:
            text = dice.choices(self.read, self.shares or None)[0]
            if text != asked:
                return text


def targets_of(
    messages: Sequence[Message],
    texts: Mapping[str, Sequence[str]],
    passages: Sequence[Passage],
    intents: Sequence[Intent],
) -> list[Target]:
    """Everything to be found.

    Args:
        messages: Messages for tools.
        texts: Name, brief and full text of each tool, by key.
        passages: Passages with their questions.
        intents: Intents with their lines.
    """
    asked: dict[str, list[str]] = defaultdict(list)
    for message in messages:
        asked[message.tool].append(message.text)
    tools = [Target(key, key.partition("/")[0], tuple(each), tuple(texts[key]), VIEWS) for key, each in asked.items()]
    read = [
        Target(f"{one.document}#{number}", f"document {one.document}", one.questions, (one.text,))
        for number, one in enumerate(passages)
    ]
    wanted = [Target(f"{one.domain}:{one.name}", f"field {one.domain}", one.lines, one.lines) for one in intents]
    return [*tools, *read, *wanted]


@dataclass(frozen=True, slots=True)
class Batch:
    """Messages with the texts of their targets.

    Attributes:
        messages: n + idle texts; the last ones need no tool.
        texts: n texts of targets.
        same: bool (n, n), whether the target of another row also serves a message.
    """

    messages: list[str]
    texts: list[str]
    same: Tensor


class Encoder(torch.nn.Module):
    """A BERT that gives the state of its first token, at length 1."""

    def __init__(self, weights: Mapping[str, Tensor]) -> None:
        super().__init__()
        self.bert = BertModel(CONFIG, add_pooling_layer=False)
        self.bert.load_state_dict(weights)
        self.bert.embeddings.word_embeddings.requires_grad_(False)
        self.tokenizer = Tokenizer.from_file(str(base_tokenizer()))
        self.tokenizer.no_truncation()
        self.tokenizer.no_padding()

    def forward(self, texts: Sequence[str], limit: int) -> Tensor:
        """Embed texts, shape (n, width); shorter and longer ones run apart, so that little is padded."""
        rows = [self._ids(text, limit) for text in texts]
        order = sorted(range(len(rows)), key=lambda place: len(rows[place]))
        half = len(order) * 2 // 3
        parts = [part for part in (order[:half], order[half:]) if part]
        vectors = torch.cat([self._run([rows[place] for place in part]) for part in parts])
        back = torch.empty(len(order), dtype=torch.long)
        back[torch.tensor([place for part in parts for place in part])] = torch.arange(len(order))
        return vectors[back]

    def _ids(self, text: str, limit: int) -> list[int]:
        ids = self.tokenizer.encode(text).ids
        return ids if len(ids) <= limit else [*ids[: limit - 1], ids[-1]]

    def _run(self, rows: Sequence[list[int]]) -> Tensor:
        width = max(map(len, rows))
        device = self.bert.device
        ids = torch.tensor([row + [0] * (width - len(row)) for row in rows], device=device)
        mask = torch.tensor([[1] * len(row) + [0] * (width - len(row)) for row in rows], device=device)
        states = self.bert(input_ids=ids, attention_mask=mask).last_hidden_state
        return torch.nn.functional.normalize(states[:, 0], dim=-1)


def tune(
    folder: Path,
    recipe: Recipe,
    targets: Sequence[Target],
    requests: Sequence[Request],
    no_tool: Sequence[str],
    report: Path | None = None,
    device: str = "cpu",
) -> Encoder:
    """Run the recipe, and return the encoder with the weights of its last step.

    Args:
        folder: Where states are written; a run goes on from the last of them.
        recipe: The numbers.
        targets: What is to be found, with what is asked for it.
        requests: Requests for several tools that are targets.
        no_tool: Messages that need no tool.
        report: A file that gets a JSON line every ten steps.
        device: Where it runs: `cpu` or `cuda`.
    """
    torch.manual_seed(recipe.seed)
    weights = base_weights()
    encoder, former = Encoder(weights).to(device), Encoder(weights).to(device)
    encoder.eval()  # dropout costs six times the rest on a CPU
    lesson = Lesson(encoder, former.eval().requires_grad_(False), recipe)
    optimizer = torch.optim.AdamW(
        [one for one in encoder.parameters() if one.requires_grad], lr=recipe.rate, weight_decay=0.01
    )
    begun = _resume(folder, recipe, encoder, optimizer)
    drawn = batches(recipe, targets, requests, no_tool)
    since, losses = time.monotonic(), list[float]()
    for step, batch in zip(range(recipe.steps), drawn, strict=False):
        if step < begun:
            continue
        for group in optimizer.param_groups:
            group["lr"] = recipe.rate * _schedule(step, recipe)
        loss = lesson.loss(batch)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(encoder.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
        if (step + 1) % 10 == 0 and report is not None:
            line = {"step": step + 1, "loss": sum(losses) / len(losses), "seconds": time.monotonic() - since}
            with report.open("a") as file:
                file.write(json.dumps(line) + "\n")
            losses.clear()
        if (step + 1) % SAVE_EVERY == 0 or step + 1 == recipe.steps:
            _save(folder, recipe, encoder, optimizer, step + 1)
    return encoder


@dataclass(frozen=True, slots=True)
class Lesson:
    """What a batch teaches.

    Attributes:
        encoder: The encoder that learns.
        former: The base.
        recipe: The numbers.
    """

    encoder: Encoder
    former: Encoder
    recipe: Recipe

    def loss(self, batch: Batch) -> Tensor:
        """The two cross-entropies' mean, and the distance from what the base gives."""
        device = self.encoder.bert.device
        with torch.autocast(device.type, torch.bfloat16):
            asked = self.encoder(batch.messages, MAX_MESSAGE)
            read = self.encoder(batch.texts, MAX_TEXT)
            with torch.no_grad():
                asked_before = self.former(batch.messages, MAX_MESSAGE)
                read_before = self.former(batch.texts, MAX_TEXT)
        loss = _crossed(self.recipe.scale * asked @ read.T, batch.same.to(device))
        return loss + self.recipe.keep * (_apart(asked, asked_before) + _apart(read, read_before))


def _crossed(scores: Tensor, same: Tensor) -> Tensor:
    """Cross-entropy both ways of scores, (messages, texts); the messages beyond the texts have no target."""
    count = scores.shape[1]
    alike = torch.zeros(scores.shape, dtype=torch.bool, device=scores.device)
    alike[:count] = same
    scores = scores.masked_fill(alike, -1e4)
    right = torch.arange(count, device=scores.device)
    cross = torch.nn.functional.cross_entropy
    return (cross(scores[:count], right) + cross(scores.T, right)) / 2


def _apart(first: Tensor, second: Tensor) -> Tensor:
    return (1 - (first * second).sum(1)).mean()


def batches(
    recipe: Recipe, targets: Sequence[Target], requests: Sequence[Request], no_tool: Sequence[str]
) -> Iterator[Batch]:
    """Batches without end: the same for the same seed."""
    dice = random.Random(recipe.seed)
    groups: dict[str, list[Target]] = defaultdict(list)
    for target in targets:
        groups[target.group].append(target)
    asked = {target.key: list(target.asked) for target in targets}
    serves: dict[str, set[str]] = defaultdict(set)
    for request in requests:
        for tool, part in zip(request.tools, request.parts, strict=True):
            if tool in asked:  # one without messages of its own is no target
                asked[tool] += [request.text, part]
            serves[request.text] |= set(request.tools)
    unread: dict[str, list[str]] = defaultdict(list)
    turns = list[str]()
    most = recipe.groups * recipe.targets
    while True:
        rows: list[tuple[str, Target]] = []
        while len(rows) < most:
            if not turns:
                turns = [
                    name
                    for name, members in sorted(groups.items())
                    for _ in range(max(1, round(len(members) / recipe.targets)))
                ]
                dice.shuffle(turns)
            members = groups[turns.pop()]
            for target in dice.sample(members, min(recipe.targets, len(members))):
                if not unread[target.key]:
                    unread[target.key] = dice.sample(asked[target.key], len(asked[target.key]))
                rows.append((unread[target.key].pop(), target))
        rows = rows[:most]
        same = [
            [i != j and (b.key == a.key or b.key in serves.get(text, ())) for j, (_, b) in enumerate(rows)]
            for i, (text, a) in enumerate(rows)
        ]
        idle = dice.sample(no_tool, min(recipe.idle, len(no_tool)))
        yield Batch(
            [varied(text, dice) for text, _ in rows] + [varied(text, dice) for text in idle],
            [target.drawn(text, dice) for text, target in rows],
            torch.tensor(same),
        )


def varied(text: str, dice: random.Random) -> str:
    """The message with other digits in it, and now and then in lower case or without its last mark."""
    text = _DIGITS.sub(lambda digit: dice.choice("123456789") if dice.random() < 0.7 else digit[0], text)
    if dice.random() < 0.1:
        text = text.lower()
    return text.rstrip(".?!") if dice.random() < 0.1 else text


def averaged(first: Mapping[str, Tensor], second: Mapping[str, Tensor], share: float) -> dict[str, Tensor]:
    """Weights between two models: `share` of the second."""
    return {
        name: torch.lerp(value, second[name], share) if value.is_floating_point() else value
        for name, value in first.items()
    }


def load_encoder(weights: Path | None, share: float = 1.0) -> Encoder:
    """The base model, or one with tuned weights, averaged with it.

    Args:
        weights: A file that `train` wrote; None for the base.
        share: The share of the tuned weights.
    """
    encoder = Encoder(base_weights())
    if weights is not None:
        encoder.load_state_dict(averaged(encoder.state_dict(), torch.load(weights, weights_only=True), share))
    return encoder.eval()


def _schedule(step: int, recipe: Recipe) -> float:
    warm = max(1, round(recipe.steps * recipe.warm))
    return (step + 1) / warm if step < warm else max(0.02, (recipe.steps - step) / (recipe.steps - warm))


def _save(folder: Path, recipe: Recipe, encoder: Encoder, optimizer: torch.optim.Optimizer, step: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    torch.save(encoder.state_dict(), folder / f"weights-{step}.pt")
    state = {"recipe": asdict(recipe), "step": step, "model": encoder.state_dict(), "optimizer": optimizer.state_dict()}
    torch.save(state, folder / "state.new")
    (folder / "state.new").replace(folder / "state.pt")


def _resume(folder: Path, recipe: Recipe, encoder: Encoder, optimizer: torch.optim.Optimizer) -> int:
    path = folder / "state.pt"
    if not path.is_file():
        return 0
    state = torch.load(path, weights_only=True)
    if state["recipe"] != asdict(recipe):
        return 0
    encoder.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    return int(state["step"])
