"""An Otter Wiki with spaces, served by cheroot.

The wiki knows one right for all pages. Here the first part of a page's path is a space with its own
readers and writers (spaces.yaml), and the storage below the wiki keeps to it, so that the index,
the search and the list of changes show nobody what he may not read.
"""

from __future__ import annotations

import argparse
import json
import os
import posixpath
import signal
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
SHORT = {"format": ""}


class Spaces:
    """Who may read and write which page.

    Parameters
    ----------
    file
        The spaces.
    people
        The people of the world: mail address and team.
    """

    def __init__(self, file: Path, people: list[dict[str, Any]]):
        import yaml

        listed = yaml.safe_load(file.read_text("utf-8"))
        self._spaces = {entry["space"]: entry for entry in listed}
        self._teams = {person["mail"]: person["team"] for person in people}

    def may(self, action: str, filename: str) -> bool:
        """Whether the caller of this request may `read` or `write` a file of the repository."""
        from flask import has_request_context
        from flask_login import current_user

        if not has_request_context():
            return True  # the server itself, while it starts
        known = current_user.is_authenticated
        if known and current_user.is_admin:
            return True
        first = posixpath.normpath(filename).lstrip("/").split("/")[0].removesuffix(".md")
        allowed = self._spaces.get(first, self._spaces["Company"])[action]
        if "anybody" in allowed or (known and "staff" in allowed):
            return True
        return known and self._teams.get(current_user.email) in allowed


class Kept:
    """Keeps a storage of the wiki to the spaces; stands before GitStorage among the bases."""

    spaces: Spaces
    _last: tuple[str, dict[str, Any]] = ("", {})

    def _get_commit(self, filename, revision):
        """Ask git once for the last commit of a file, until there is a newer commit of any."""
        if revision is not None:
            return super()._get_commit(filename, revision)
        head = self.repo.head.commit.hexsha
        if self._last[0] != head:
            self._last = (head, {})
        known = self._last[1]
        if filename not in known:
            known[filename] = super()._get_commit(filename, None)
        return known[filename]

    def _needs(self, action: str, *names: str) -> None:
        from flask import abort
        from otterwiki.gitstorage import StorageNotFound

        if action == "write":
            # A reset puts the repository back below this process. What the library remembers of
            # the objects that were there would make the next commit leave them out.
            self.repo.odb._hexsha_to_file.clear()
        for name in names:
            if not self.spaces.may(action, name):
                if action == "write":
                    abort(403, f"you may not write {name.removesuffix('.md')}")
                raise StorageNotFound(f"{name} not found.")

    def _touched(self, *revisions):
        """The files that a commit, or two that are compared, have changed."""
        from git.exc import GitError
        from otterwiki.gitstorage import StorageNotFound

        for revision in revisions:
            self._validate_revision(revision)
        command = self.repo.git.diff if len(revisions) == 2 else self.repo.git.show
        try:
            said = command(*revisions, name_only=True, **({} if len(revisions) == 2 else SHORT))
        except GitError as error:
            raise StorageNotFound(str(error)) from None
        return said.split("\n")

    # Reading
    def exists(self, filename):
        return self.spaces.may("read", filename) and super().exists(filename)

    def load(self, filename, *args, **more):
        self._needs("read", filename)
        return super().load(filename, *args, **more)

    def metadata(self, filename, *args, **more):
        self._needs("read", filename)
        return super().metadata(filename, *args, **more)

    def blame(self, filename, *args, **more):
        self._needs("read", filename)
        return super().blame(filename, *args, **more)

    def show_commit(self, revision):
        self._needs("read", *self._touched(revision))
        return super().show_commit(revision)

    def diff(self, rev_a, rev_b):
        self._needs("read", *self._touched(rev_a, rev_b))
        return super().diff(rev_a, rev_b)

    def log(self, filename=None, *args, **more):
        if filename is not None:
            self._needs("read", filename)
        return [
            entry
            for entry in super().log(filename, *args, **more)
            if all(self.spaces.may("read", name) for name in entry["files"])
        ]

    def list(self, p=None, *args, **more):
        files, folders = super().list(p, *args, **more)

        def shown(names):
            return [n for n in names if self.spaces.may("read", posixpath.join(p or "", n))]

        return shown(files), shown(folders)

    # Writing
    def store(self, filename, *args, **more):
        self._needs("write", filename)
        return super().store(filename, *args, **more)

    def update(self, filename, *args, **more):
        self._needs("write", filename)
        return super().update(filename, *args, **more)

    def commit(self, filenames, *args, **more):
        self._needs("write", *filenames)
        return super().commit(filenames, *args, **more)

    def rename(self, old_filename, new_filename, *args, **more):
        self._needs("write", old_filename, new_filename)
        return super().rename(old_filename, new_filename, *args, **more)

    def delete(self, filename, *args, **more):
        self._needs("write", *([filename] if isinstance(filename, str) else filename))
        return super().delete(filename, *args, **more)

    def revert(self, revision, *args, **more):
        self._needs("write", *self._touched(revision))
        return super().revert(revision, *args, **more)


def keep_to(spaces: Spaces) -> None:
    """Put the rule below the wiki; before the wiki is imported."""
    from otterwiki import gitstorage

    kept = type("KeptStorage", (Kept, gitstorage.GitStorage), {"spaces": spaces})
    gitstorage.GitStorage = kept


def guard(app: Any, spaces: Spaces) -> None:
    """Plain refusals: a page that the caller may not touch, one that is there already."""
    from flask import abort, request
    from otterwiki.helper import get_filename
    from otterwiki.server import storage

    @app.before_request
    def refuse() -> None:
        given = request.view_args or {}
        path = given.get("path") or given.get("pagepath")
        if path is None:
            return
        name = get_filename(path)
        if not spaces.may("read", name):
            abort(403, f"you may not read {path}")
        if request.method != "POST":
            return
        target = request.form.get("new_pagename")
        for each in filter(None, (path, target)):
            if not spaces.may("write", get_filename(each)):
                abort(403, f"you may not write {each}")
        there = storage.exists(get_filename(target or path))
        if there and (target or request.headers.get("If-None-Match") == "*"):
            abort(412, f"{target or path} is there already")

    @app.after_request
    def plain(response: Any) -> Any:
        if response.status_code >= 400 and response.mimetype == "text/html":
            text = response.get_data(as_text=True)
            said = text.split("<p>")[-1].split("</p>")[0] if response.status_code != 404 else ""
            response.set_data(f"{response.status}: {said or request.path}")
            response.mimetype = "text/plain"
        return response


def prepare(data: Path, accounts: dict[str, Any]) -> None:
    """A new repository, and accounts for everybody."""
    repository = data / "repo"
    subprocess.run(["git", "init", "-q", "-b", "main", str(repository)], check=True)
    from otterwiki.server import app, db  # first: the wiki's modules import each other

    from otterwiki.auth import SimpleAuth  # isort: skip
    from werkzeug.security import generate_password_hash

    begin = datetime.fromisoformat(accounts["clock"])
    with app.app_context():
        db.create_all()
        admin = {**accounts["admin"], "name": "Administrator"}
        people = [{**each, "user": each["mail"]} for each in accounts["people"]]
        for each in [admin, *people]:
            user = SimpleAuth.User()
            user.name, user.email = each["name"], each["user"]
            # Few rounds: these passwords are no secrets, and every episode logs in anew.
            user.password_hash = generate_password_hash(each["password"], "pbkdf2:sha256:1000")
            user.is_approved = user.email_confirmed = True
            user.is_admin = each is admin
            user.first_seen = user.last_seen = begin.astimezone(UTC)
            db.session.add(user)
        db.session.commit()


def serve(host: str, port: int, spaces: Spaces) -> None:
    """Serve until a signal comes; one request at a time, as git wants it."""
    from cheroot.wsgi import Server
    from otterwiki.server import app

    guard(app, spaces)
    server = Server((host, port), app, numthreads=1, request_queue_size=64)

    def end(*_: object) -> None:
        raise SystemExit(0)

    signal.signal(signal.SIGTERM, end)
    try:
        server.start()
    finally:
        server.stop()


def main() -> None:
    """Read the arguments."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--accounts", type=Path, required=True)
    parser.add_argument("--prepare", action="store_true")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0)
    given = parser.parse_args()
    accounts = json.loads(given.accounts.read_text("utf-8"))
    os.environ["REPOSITORY"] = str(given.data / "repo")
    os.environ["SQLALCHEMY_DATABASE_URI"] = f"sqlite:///{given.data / 'db.sqlite'}"
    if given.prepare:
        prepare(given.data, accounts)
        return
    spaces = Spaces(HERE / "spaces.yaml", accounts["people"])
    keep_to(spaces)
    serve(given.host, given.port, spaces)


if __name__ == "__main__":
    main()
