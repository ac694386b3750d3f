"""`python -m scripts.near [BASE]`: run the tests of what changed since a commit, and of what imports it.

A changed module counts with its package and with the modules that import it directly. A file of tests runs if it
changed, or if it, or the support that it imports, imports one of those. The tests in a browser run for scripts,
templates and styles of the console.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import grimp

ROOT = Path(__file__).resolve().parent.parent
_SOURCE, _TESTS = ROOT / "src", ROOT / "tests"
_PAGES = (ROOT / "frontend", _SOURCE / "thresher" / "console")


def main(arguments: list[str]) -> int:
    """Run the tests; returns pytest's exit code."""
    paths = list(changed(arguments[0] if arguments else "HEAD"))
    tests = sorted(near(paths))
    if not tests:
        print("Nothing changed that a test imports.")
        return 0
    print(f"{len(tests)} files of tests for {len(paths)} changed files.")
    pytest = [sys.executable, "-m", "pytest", "-n", "2", "--dist", "loadfile"]
    return subprocess.run([*pytest, *(str(path.relative_to(ROOT)) for path in tests)], cwd=ROOT, check=False).returncode


def changed(base: str) -> Iterator[Path]:
    """Files that differ from a commit, new ones too."""
    for command in (["git", "diff", "--name-only", base], ["git", "ls-files", "--others", "--exclude-standard"]):
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
        yield from (ROOT / name for name in listed.splitlines())


def near(paths: Iterable[Path]) -> set[Path]:
    """The files of tests that have to do with some files."""
    paths = list(paths)
    modules = {_module(path, _SOURCE) for path in paths if path.suffix == ".py" and path.is_relative_to(_SOURCE)}
    support = {_module(path, ROOT) for path in paths if path.suffix == ".py" and path.is_relative_to(_TESTS)}
    wanted = _with_importers(modules) | support
    tests = {path for path in paths if path.is_relative_to(_TESTS) and path.name.startswith("test_") and path.exists()}
    pages = any(path.suffix != ".py" and path.is_relative_to(folder) for path in paths for folder in _PAGES)
    tests |= set((_TESTS / "browser").glob("test_*.py")) if pages else set()
    return tests | {path for path in _TESTS.rglob("test_*.py") if wanted & _imported(path)}


def _with_importers(modules: set[str]) -> set[str]:
    """Changed modules, all of their packages, and what imports them directly."""
    graph = grimp.build_graph("thresher")
    importers = {one for module in modules & graph.modules for one in graph.find_modules_that_directly_import(module)}
    packages = {_package(module) for module in modules}
    return modules | importers | {module for module in graph.modules if _package(module) in packages}


def _package(module: str) -> str:
    """`thresher.search`, or the kind: `thresher.knowledge.tools`."""
    parts = module.split(".")
    return ".".join(parts[: 3 if parts[1:2] == ["knowledge"] else 2])


def _imported(path: Path, seen: frozenset[Path] = frozenset()) -> set[str]:
    """What a file of tests imports, with what its own support modules import."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{name.name}" for name in node.names)}
        elif isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
    beside = {path.with_name("conftest.py")} | {ROOT / f"{name.replace('.', '/')}.py" for name in found}
    for other in beside - seen - {path}:
        if other.is_file() and other.is_relative_to(_TESTS):
            found |= _imported(other, seen | {path, *beside})
    return found


def _module(path: Path, root: Path) -> str:
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
