"""Which files a rule applies to."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from thresher.knowledge.intents.globs import applies, fits, globs_of
from thresher.knowledge.intents.models import Pack


def rule(*globs: str, always: bool = False, path: str = "/home/me/shop/.cursor/rules/a.mdc") -> Pack:
    """A Cursor rule of the project `/home/me/shop`."""
    return Pack("a", "a", "a", "cursor", "project", Path(path), globs=globs, always=always)


@pytest.mark.parametrize(
    ("glob", "path", "expected"),
    [
        ("**/*.ts", "a.ts", True),
        ("**/*.ts", "src/deep/a.ts", True),
        ("**/*.ts", "a.tsx", False),
        ("*.ts", "src/deep/a.ts", True),
        ("src/*.ts", "src/a.ts", True),
        ("src/*.ts", "src/deep/a.ts", False),
        ("src/*.ts", "web/src/a.ts", False),
        ("src/**", "src/deep/a.ts", True),
        ("src/", "src/deep/a.ts", True),
        ("/src/**", "src/a.ts", True),
        ("./src/**", "src/a.ts", True),
        ("src/**/test/*.py", "src/test/a.py", True),
        ("src/**/test/*.py", "src/a/b/test/a.py", True),
        ("**", "anything/at/all", True),
        ("*.{ts,tsx}", "a.tsx", True),
        ("{src,lib}/**/*.{js,{ts,tsx}}", "lib/a/b.tsx", True),
        ("file?.txt", "file1.txt", True),
        ("file[0-9].txt", "file7.txt", True),
        ("file[!0-9].txt", "file7.txt", False),
        ("file[.txt", "file[.txt", True),
        ("a.c", "abc", False),
        ("Dockerfile", "docker/Dockerfile", True),
        (".github/**/*.yml", ".github/workflows/ci.yml", True),
        ("{a", "{a", True),
        ("", "a", False),
    ],
)
def test_patterns_fit_as_editors_understand_them(glob: str, path: str, expected: bool) -> None:
    """Stars stop at slashes, two do not, braces are alternatives, a bare name fits in any folder."""
    assert fits(glob, path) is expected


def test_a_rule_applies_always_or_by_file() -> None:
    """Without files, a rule with patterns waits."""
    assert applies(rule(always=True), [])
    assert applies(rule("**/*.ts"), ["README.md", "src/a.ts"])
    assert not applies(rule("**/*.ts"), [])
    assert not applies(rule(), ["src/a.ts"])


def test_paths_are_meant_from_the_project() -> None:
    """Absolute ones too, with either slash."""
    source = rule("src/**")

    assert applies(source, ["/home/me/shop/src/a.ts"])
    assert applies(source, ["src\\a.ts"])
    assert applies(source, ["./src/a.ts"])
    assert not applies(source, ["/home/me/other/src/a.ts"])


def test_a_pattern_may_take_files_away() -> None:
    """What stands after an exclamation mark never fits."""
    source = rule("**/*.ts", "!**/*.test.ts")

    assert applies(source, ["a.ts"])
    assert not applies(source, ["a.test.ts"])
    assert applies(source, ["a.test.ts", "b.ts"])


@pytest.mark.parametrize(
    ("value", "globs"),
    [
        ("**/*.ts,src/**", ("**/*.ts", "src/**")),
        ("*.{ts,tsx}, *.js", ("*.{ts,tsx}", "*.js")),
        (["**/*.py", "a,b"], ("**/*.py", "a", "b")),
        ('"**/*.py"', ("**/*.py",)),
        ("", ()),
        (", ,", ()),
    ],
)
def test_patterns_are_written_in_many_ways(value: str | list[str], globs: tuple[str, ...]) -> None:
    """Commas part them, but not inside braces."""
    assert globs_of(value) == globs


@pytest.mark.parametrize(
    "glob", ["*a" * 200, "**/" * 150 + "x", "{a,b}" * 100, "{" * 400, "{a,{b,{c,{d" * 20, "[" * 400, "[a-" * 100]
)
def test_no_pattern_takes_long(glob: str) -> None:
    """Not even one that was made to."""
    begin = time.process_time()

    fits(glob, "/".join(["a" * 200] * 15))

    assert time.process_time() - begin < 1
