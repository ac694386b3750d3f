"""Opens a git repository of this machine, and finds the commit that is meant.

Invariant: all objects come from below its folder: a `.git` that points elsewhere, borrowed objects and links out are
refused, so that who may index a folder reads nothing else by it. Nothing of its configuration is run.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from dulwich.errors import NotGitRepository
from dulwich.objects import ObjectID
from dulwich.repo import Repo, UnsupportedExtension, UnsupportedVersion

from thresher.core import InvalidInput, NotFound
from thresher.knowledge.documents.models import Origin
from thresher.knowledge.documents.sources.references import is_commit, target, unknown

_LINKABLE: Final = ("", "objects", "objects/pack", "objects/info", "refs", "packed-refs", "HEAD", "config", "commondir")
_MOST: Final = 20_000


def opened(origin: Origin) -> tuple[Repo, str]:
    """A repository, to be closed, and the id of the commit or tag that an origin names; empty where it has none yet.

    Raises:
        NotFound: There is no such repository, branch, tag or commit.
        InvalidInput: Its objects lie elsewhere, or it cannot be read.
    """
    root = Path(origin.location)
    _check(root)
    try:
        repo = Repo(str(root))
    except NotGitRepository:
        raise NotFound(f"There is no git repository at {str(root)!r}.", hint="Check the path.") from None
    except (UnsupportedVersion, UnsupportedExtension, OSError, ValueError) as error:
        raise InvalidInput(f"{str(root)!r} cannot be read: {error}.", hint="Index its folder without --ref.") from None
    try:
        return repo, _named(repo, origin)
    except BaseException:
        repo.close()
        raise


def _named(repo: Repo, origin: Origin) -> str:
    refs = {name.decode("utf-8", "replace"): tip.decode() for name, tip in repo.get_refs().items()}
    found = target(origin.ref, refs)
    if found is None and is_commit(origin.ref):
        ids = {name.decode() for name in repo.object_store.iter_prefix(origin.ref.encode())}
        found = ids.pop() if len(ids) == 1 else None
    if found is not None and ObjectID(found.encode()) not in repo.object_store:
        found = None
    if found is None and (origin.ref or refs):
        raise unknown(origin.ref, refs, origin.location)
    return found or ""


def _check(root: Path) -> None:
    """Refuse a repository that keeps anything outside of its folder."""
    if root.resolve() != root:
        raise InvalidInput(f"A link leads to {str(root)!r}.", hint="Index the folder that it leads to.")
    control = root / ".git" if (root / ".git").exists() else root
    if control.is_file():
        raise InvalidInput(
            f"{str(root)!r} is a worktree or a submodule; its commits are kept elsewhere.",
            hint="Index the repository that keeps them, or this folder without --ref.",
        )
    if (control / "objects" / "info" / "alternates").exists():
        raise InvalidInput(
            f"{str(root)!r} borrows objects from another repository.",
            hint="Run `git repack -a -d` in it and remove objects/info/alternates, or index its folder without --ref.",
        )
    if any(path.is_symlink() and not path.resolve().is_relative_to(root) for path in _linkable(control)):
        raise InvalidInput(f"Links lead out of {str(root)!r}.", hint="Index its folder without --ref.")


def _linkable(control: Path) -> Iterator[Path]:
    yield from (control / name for name in _LINKABLE)
    for folder in ("objects", "objects/pack"):
        try:
            yield from sorted((control / folder).iterdir())[:_MOST]
        except OSError:
            continue
