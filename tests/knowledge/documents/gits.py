"""Git repositories for tests, and a server of them on the loopback address."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from wsgiref.simple_server import make_server

from dulwich.objects import Blob, Commit, ObjectID, Tag, Tree
from dulwich.refs import Ref
from dulwich.repo import Repo
from dulwich.server import DictBackend
from dulwich.web import WSGIRequestHandlerLogger, WSGIServerLogger, make_wsgi_chain

WHO = b"Ada <ada@example.com>"
FILE, LINK, FOLDER, SUBMODULE = 0o100644, 0o120000, 0o040000, 0o160000

Application = Callable[[dict[str, Any], Callable[..., Any]], Any]


def bare(path: Path) -> Repo:
    """A new bare repository."""
    path.mkdir(parents=True)
    return Repo.init_bare(str(path))


def tree_of(repo: Repo, files: Mapping[str, bytes | tuple[int, bytes]]) -> Tree:
    """The tree of some files; a pair sets a mode, and for a submodule the id of its commit."""
    tree, below = Tree(), dict[str, dict[str, Any]]()
    for path, content in files.items():
        first, _, rest = path.partition("/")
        if rest:
            below.setdefault(first, {})[rest] = content
            continue
        mode, data = content if isinstance(content, tuple) else (FILE, content)
        if mode == SUBMODULE:
            tree.add(first.encode(), mode, ObjectID(data))
            continue
        blob = Blob.from_string(data)
        repo.object_store.add_object(blob)
        tree.add(first.encode(errors="surrogateescape"), mode, blob.id)
    for name, inner in below.items():
        tree.add(name.encode(), FOLDER, tree_of(repo, inner).id)
    repo.object_store.add_object(tree)
    return tree


def commit(
    repo: Repo, files: Mapping[str, bytes | tuple[int, bytes]], branch: str = "main", *parents: str, at: int = 0
) -> str:
    """Commit exactly these files to a branch, replacing what was there, and return the commit's id."""
    made = Commit()
    made.tree = tree_of(repo, files).id
    made.parents = [ObjectID(parent.encode()) for parent in parents]
    made.author = made.committer = WHO
    made.author_time = made.commit_time = 1_700_000_000 + at
    made.author_timezone = made.commit_timezone = 0
    made.message = b"Change"
    repo.object_store.add_object(made)
    repo.refs[Ref(b"refs/heads/" + branch.encode())] = made.id
    repo.refs.set_symbolic_ref(Ref(b"HEAD"), Ref(b"refs/heads/main"))
    return made.id.decode()


def tag(repo: Repo, name: str, target: str) -> None:
    """An annotated tag on a commit."""
    made = Tag()
    made.name, made.message, made.tagger = name.encode(), b"Release", WHO
    made.tag_time, made.tag_timezone = 1_700_000_000, 0
    made.object = (Commit, ObjectID(target.encode()))
    repo.object_store.add_object(made)
    repo.refs[Ref(b"refs/tags/" + name.encode())] = made.id


@contextmanager
def served(application: Application) -> Iterator[str]:
    """The address of an HTTP server that runs an application."""
    server = make_server(
        "127.0.0.1", 0, application, server_class=WSGIServerLogger, handler_class=WSGIRequestHandlerLogger
    )
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def git_application(**repositories: Repo) -> Application:
    """The git server of dulwich, with each repository under `/NAME.git`."""
    return make_wsgi_chain(DictBackend({f"/{name}.git": repo for name, repo in repositories.items()}))
