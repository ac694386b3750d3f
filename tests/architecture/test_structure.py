"""The shape of the source: doors, declared imports, sizes, names."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.architecture.source import PACKAGE, ROOT, imports, modules, package_of, tree

PACKAGES = sorted(path.parent for path in PACKAGE.glob("*/__init__.py"))
SECOND_DOORS = {
    "thresher.store.tables": "tables are declared apart from the engine that runs them",
    "thresher.jobs.worker": "the first door spares the daemon the library that runs jobs",
    "thresher.daemon.server": "the first door is light: a bridge must start in Python's own time",
}
KINDS = {f"thresher.knowledge.{path.parent.name}" for path in PACKAGE.glob("knowledge/*/__init__.py")}
LONGEST_MODULE = 500
VAGUE = re.compile(r"(^|_)(utils?|helpers?|common|manager|misc|stuff)(_|$)", re.I)


def test_import_contracts_are_kept() -> None:
    """Layers, the homes of heavy libraries: import-linter holds them."""
    linter = Path(sys.executable).with_name("lint-imports")

    result = subprocess.run([linter, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False)

    assert result.returncode == 0, result.stdout


def test_others_enter_a_package_by_its_one_door() -> None:
    """Another package imports `thresher.search`, never a module inside it."""
    doors = {f"thresher.{path.name}" for path in PACKAGES} | {f"thresher.{path.stem}" for path in PACKAGE.glob("*.py")}
    doors |= KINDS | set(SECOND_DOORS)

    trespasses = [
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for path in modules()
        for name, line in imports(path)
        if package_of(path) != name.split(".")[1] and name not in doors and name != "thresher.__version__"
    ]

    assert trespasses == []


@pytest.mark.parametrize("folder", PACKAGES, ids=lambda path: path.name)
def test_a_package_says_what_it_uses(folder: Path) -> None:
    """The last paragraph of a package's docstring names exactly the packages that it imports."""
    docstring = ast.get_docstring(tree(folder / "__init__.py")) or ""
    used = {
        name.split(".")[1]
        for path in folder.rglob("*.py")
        for name, _ in imports(path)
        if name.split(".")[1] not in (folder.name, "__version__")
    }

    last = " ".join(docstring.strip().split("\n\n")[-1].split())

    assert last == f"Uses: {', '.join(sorted(used)) or 'nothing'}."


def test_every_module_says_its_purpose() -> None:
    """Each module opens with a docstring."""
    silent = [str(path.relative_to(ROOT)) for path in modules() if not ast.get_docstring(tree(path))]

    assert silent == []


def test_no_module_grows_past_its_limit() -> None:
    """A module is read in one sitting."""
    sizes = {str(path.relative_to(ROOT)): len(path.read_text().splitlines()) for path in modules()}

    assert {name: size for name, size in sizes.items() if size > LONGEST_MODULE} == {}


def test_names_say_what_things_are() -> None:
    """No module, class or function is called utils, helper, common or manager."""
    vague_modules = [str(path.relative_to(ROOT)) for path in modules() if VAGUE.search(path.stem)]
    vague_definitions = [
        f"{path.relative_to(ROOT)}:{node.lineno} {node.name}"
        for path in modules()
        for node in ast.walk(tree(path))
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and VAGUE.search(node.name)
    ]

    assert vague_modules + vague_definitions == []


def test_the_command_line_prints_through_one_module() -> None:
    """What others wrote reaches a terminal by way of `cli/output.py` alone, which takes out what a terminal obeys."""
    printing = re.compile(
        r"\bprint\(|\.(stdout|stderr)\.(write|buffer)|\bConsole\(|typer\.(echo|secho|confirm)\b|click\.|isprintable\("
    )
    printed = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in sorted((PACKAGE / "cli").rglob("*.py"))
        if path.name != "output.py"
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if printing.search(line) and "_version" not in line and "__version__" not in line and "_ready_line" not in line
    ]

    assert printed == []


def test_one_function_makes_the_borders_of_all_answers() -> None:
    """A second copy would be mended by half."""
    makers = [str(path.relative_to(PACKAGE)) for path in modules() if re.search(r"def _?border_of\(", path.read_text())]

    assert makers == ["foreign.py"]


def test_type_exceptions_carry_their_reason() -> None:
    """A line that silences the type checker or the linter names the rule and says why."""
    bare = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in modules()
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if re.search(r"#\s*(type:\s*ignore|pyright:\s*ignore|noqa)", line)
        and not re.search(r"(ignore\[[\w, ]+\]|noqa: [A-Z0-9, ]+)\s*[-#]+ ?\S+", line)
    ]

    assert bare == []
