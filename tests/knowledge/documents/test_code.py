"""Source code is parsed by its grammar."""

from __future__ import annotations

import time

import pytest

from thresher.knowledge.documents.chunking import chunk
from thresher.knowledge.documents.reading import parse
from thresher.knowledge.documents.reading.code import read_code

SOURCES = {
    "a.py": (
        "@wraps\nclass Shop:\n    x = 1\n\n    # Sells.\n    def sell(self):\n        pass\n",
        "Shop",
        "Shop.sell",
    ),
    "a.js": ("class Shop {\n  sell() { return 1; }\n}\nfunction top() {}\n", "Shop", "Shop.sell", "top"),
    "a.ts": ("export class Shop<T> {\n  /** Sells. */\n  sell(): void {}\n}\n", "Shop", "Shop.sell"),
    "a.tsx": ("export function App() {\n  return <p>hi</p>;\n}\n", "App"),
    "A.java": (
        "@Entity\npublic class Shop {\n  /** Sells. */\n  public int sell() { return 1; }\n}\n",
        "Shop",
        "Shop.sell",
    ),
    "a.go": ("package a\n\n// Sell sells.\nfunc (s *Shop) Sell() error {\n\treturn nil\n}\n", "Shop.Sell"),
    "a.rs": ("impl Shop {\n    /// Sells.\n    fn sell(&self) {}\n}\n", "Shop", "Shop.sell"),
    "a.c": ("#ifndef A\nstatic int *sell(int a) {\n  return 0;\n}\n#endif\n", "sell"),
    "a.cpp": ("namespace ns {\nclass Shop {\n  int sell() { return 1; }\n};\n}\n", "ns", "ns.Shop", "ns.Shop.sell"),
    "a.h": ("class Shop {\n public:\n  Shop();\n};\nint Shop::sell() {\n  return 1;\n}\n", "Shop", "Shop.sell"),
    "a.cs": ("namespace A {\n  class Shop {\n    int Sell() { return 1; }\n  }\n}\n", "A", "A.Shop", "A.Shop.Sell"),
    "a.rb": ("module A\n  class Shop\n    def sell\n    end\n  end\nend\n", "A", "A.Shop", "A.Shop.sell"),
    "a.php": ("<?php\nclass Shop {\n  function sell() { return 1; }\n}\n", "Shop", "Shop.sell"),
    "a.kt": ("class Shop {\n    fun sell(): Int { return 1 }\n}\n", "Shop", "Shop.sell"),
    "a.scala": ("class Shop {\n  def sell(): Int = 1\n}\n", "Shop", "Shop.sell"),
    "a.swift": ("struct Shop {\n    func sell() -> Int { 1 }\n}\n", "Shop", "Shop.sell"),
    "a.sh": ("set -e\n\nsell() {\n  echo a\n}\n", "sell"),
    "tool": ("#!/usr/bin/env python3\n\ndef sell():\n    pass\n", "sell"),
}


@pytest.mark.parametrize("path", SOURCES)
def test_definitions_are_found_by_name(path: str) -> None:
    """Each language names its classes and functions, with those around them."""
    source, *names = SOURCES[path]

    parsed = parse(path, source.encode())

    assert list(dict.fromkeys(block.title for block in parsed.blocks if block.title)) == names
    assert {block.kind for block in parsed.blocks} == {"code"}


def test_a_comment_belongs_to_what_it_describes() -> None:
    """A function begins with the comment and the decorators right above it."""
    parsed = parse("a.py", b"import os\n\n\n# Sells.\n@wraps\ndef sell():\n    pass\n\n\n# Alone.\n\nx = 1\n")

    texts = [parsed.text[block.start : block.end] for block in parsed.blocks]
    assert texts == ["import os", "# Sells.\n@wraps\ndef sell():\n    pass", "# Alone.", "x = 1"]


def test_a_function_of_usual_length_is_one_chunk() -> None:
    """Half a function answers nothing."""
    body = "".join(f"    total_{line} = compute(total, {line})\n" for line in range(16))
    source = "".join(f"def work_{number}(total):\n{body}\n\n" for number in range(4))

    parsed = parse("work.py", source.encode())
    chunked = chunk(parsed)

    assert [chunked.headings[one.heading] for one in chunked.chunks] == [(f"work_{number}",) for number in range(4)]
    assert all(parsed.text[one.start :].startswith("def ") for one in chunked.chunks)


def test_a_long_function_is_cut_between_its_statements() -> None:
    """Its parts keep its name; a block inside it stays whole if it fits."""
    loop = "".join(
        f"    for item_{line} in items:\n        handle(item_{line})\n        log(item_{line})\n" for line in range(40)
    )

    parsed = parse("work.py", f"def work(items):\n{loop}".encode())
    chunked = chunk(parsed)

    assert len(chunked.chunks) > 4
    assert {chunked.headings[one.heading] for one in chunked.chunks} == {("work",)}
    assert all(parsed.text[one.start :].startswith("    for ") for one in chunked.chunks[1:])


def test_small_methods_share_a_chunk_under_their_class() -> None:
    """What is too small to be found alone is found with its neighbours."""
    methods = "".join(f"    def get_{number}(self):\n        return {number}\n\n" for number in range(3))

    chunked = chunk(parse("a.py", f"class Shop:\n{methods}".encode()))

    assert [chunked.headings[one.heading] for one in chunked.chunks] == [("Shop",)]


def test_a_file_with_quadratic_parse_time_is_given_up_in_time():
    """A scanner that examines all open brackets at each one does not block the worker; the text stays."""
    started = time.thread_time()
    text = "%w(" * 60_000

    reading = read_code(text, "ruby", seconds=0.2)

    assert time.thread_time() - started < 3
    assert [(block.start, block.end) for block in reading.blocks] == [(0, len(text))]
    assert "parsing it takes more than 0.2 seconds" in reading.notes[0]


def test_a_file_that_is_parsed_in_pieces_keeps_its_definitions():
    """A character across two pieces, and definitions beyond the first piece, are read correctly."""
    text = "".join(f"def sell_{number}():\n    return '\u20ac\u20ac'\n\n\n" for number in range(4_000))

    reading = read_code(text, "python")

    assert [block.title for block in reading.blocks] == [f"sell_{number}" for number in range(4_000)]
    assert not reading.notes
