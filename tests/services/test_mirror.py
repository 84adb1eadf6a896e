"""Mirroring: equal afterwards, in place, nothing touched that is equal or elsewhere."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from vepa.services.runtimes import mirror as module
from vepa.services.runtimes.mirror import copy, mirror

ROOT = os.geteuid() == 0
needs_root = pytest.mark.skipif(not ROOT, reason="needs root: only root changes owners")


def facts(folder: Path) -> dict[str, tuple]:
    """All that mirroring keeps, for every entry."""
    found = {}
    for path in [folder, *sorted(folder.rglob("*"))]:
        about = path.lstat()
        what: object = None
        if path.is_symlink():
            what = path.readlink()
        elif path.is_file():
            what = path.read_bytes()
        time_of = None if path.is_symlink() else about.st_mtime_ns
        owner = (about.st_uid, about.st_gid) if ROOT else None
        found[str(path.relative_to(folder))] = (about.st_mode, time_of, owner, what)
    return found


@pytest.fixture
def source(tmp_path):
    """A folder with a bit of everything."""
    made = tmp_path / "source"
    (made / "mail" / "cur").mkdir(parents=True)
    (made / "empty").mkdir(mode=0o750)
    for number in range(20):
        (made / "mail" / "cur" / f"m{number}").write_text(f"message {number}\n" * 50)
    (made / "run.sh").write_text("#!/bin/sh\n")
    (made / "run.sh").chmod(0o755)
    (made / "none").touch()
    (made / "link").symlink_to("run.sh")
    (made / "folder-link").symlink_to("mail")
    (made / "broken").symlink_to("/nowhere")
    if ROOT:
        os.chown(made / "mail" / "cur" / "m1", 65534, 65534)
        os.chown(made / "broken", 65534, 65534, follow_symlinks=False)
    return made


@pytest.fixture
def target(tmp_path, source):
    made = tmp_path / "target"
    copy(source, made)
    return made


class TestMirror:
    def test_into_nothing_and_then_no_change(self, source, tmp_path):
        target = tmp_path / "a" / "b"
        assert mirror(source, target) > 25
        assert facts(target) == facts(source)
        assert mirror(source, target) == 0

    def test_every_kind_of_change_is_undone_in_place(self, source, target):
        inodes = {path: path.lstat().st_ino for path in [target, *target.rglob("*")]}
        (target / "mail" / "cur" / "m0").write_text("changed, and of another size")
        (target / "mail" / "cur" / "m2").unlink()
        (target / "mail" / "cur" / "new").write_text("planted")
        (target / "run.sh").chmod(0o600)
        os.utime(target / "none", ns=(1, 1))
        shutil.rmtree(target / "empty")
        (target / "extra" / "deep").mkdir(parents=True)
        (target / "extra" / "deep" / "file").touch()
        (target / "link").unlink()
        (target / "link").symlink_to("elsewhere")
        assert mirror(source, target) > 7
        assert facts(target) == facts(source)
        changed = {"m0", "m2", "empty", "link"}
        same = {path for path in inodes if path.name not in changed}
        assert {path: path.lstat().st_ino for path in same} == {p: inodes[p] for p in same}

    def test_same_size_and_another_time_is_told_by_content(self, source, target):
        (target / "mail" / "cur" / "m3").write_text("massage 3\n" * 50)
        touched = target / "mail" / "cur" / "m4"
        inode = touched.stat().st_ino
        touched.write_text(touched.read_text())
        mirror(source, target)
        assert facts(target) == facts(source)
        assert touched.stat().st_ino == inode  # only its time was set back

    def test_kinds_are_exchanged(self, source, target):
        (target / "run.sh").unlink()
        (target / "run.sh").mkdir()
        (target / "run.sh" / "in").touch()
        shutil.rmtree(target / "mail")
        (target / "mail").symlink_to("/etc")
        (target / "none").unlink()
        (target / "none").symlink_to("run.sh")
        (target / "broken").unlink()
        (target / "broken").write_text("x")
        mirror(source, target)
        assert facts(target) == facts(source)

    def test_what_is_kept_is_left_alone(self, source, target):
        (target / "run.sh").write_text("mine")
        (target / "lock").touch()
        (target / "cache" / "sub").mkdir(parents=True)
        (target / "cache" / "sub" / "kept").touch()
        (target / "cache" / "gone").touch()
        mirror(source, target, keep=["run.sh", "lock", "cache/sub/"])
        assert (target / "run.sh").read_text() == "mine"
        assert (target / "lock").exists()
        assert [path.name for path in (target / "cache").rglob("*")] == ["sub", "kept"]

    def test_sockets_and_pipes_are_removed_and_not_copied(self, source, target):
        os.mkfifo(source / "pipe")
        os.mkfifo(target / "none-pipe")
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(target / "s"))
        mirror(source, target)
        (source / "pipe").unlink()
        assert set(facts(target)) == set(facts(source))

    def test_one_file(self, source, target):
        (target / "run.sh").write_text("changed")
        (target / "none").write_text("changed")
        assert mirror(source / "run.sh", target / "run.sh") == 1
        assert (target / "run.sh").read_text() == "#!/bin/sh\n"
        assert (target / "none").read_text() == "changed"

    def test_a_link_never_leads_out(self, source, target, tmp_path):
        outside = tmp_path / "outside"
        outside.mkdir()
        (outside / "precious").write_text("x")
        before = facts(outside)
        shutil.rmtree(target / "mail")
        (target / "mail").symlink_to(outside)
        (target / "extra").symlink_to(outside)
        (target / "none").unlink()
        (target / "none").symlink_to(outside / "precious")
        (target / ".none.vepa-part").symlink_to(outside / "precious")
        (target / ".m0.vepa-part").symlink_to(outside / "precious")
        mirror(source, target)
        assert facts(outside) == before
        assert facts(target) == facts(source)

    def test_a_closed_folder_of_the_service_is_no_obstacle(self, source, target):
        (target / "closed" / "in").mkdir(parents=True)
        (target / "closed" / "in" / "file").touch()
        (target / "closed" / "in").chmod(0)
        (target / "closed").chmod(0o500)
        (target / "mail" / "cur" / "m0").unlink()
        (target / "mail" / "cur").chmod(0o500)
        mirror(source, target)
        assert facts(target) == facts(source)

    @needs_root
    def test_owners_are_kept(self, source, target):
        os.chown(target / "run.sh", 65534, 65534)
        os.chown(target / "mail", 65534, 65534)
        mirror(source, target)
        assert facts(target) == facts(source)

    def test_a_missing_source_changes_nothing(self, target, tmp_path):
        before = facts(target)
        with pytest.raises(FileNotFoundError):
            mirror(tmp_path / "absent", target)
        assert facts(target) == before

    def test_a_server_that_has_the_old_file_open_keeps_reading_it(self, source, target):
        path = target / "mail" / "cur" / "m0"
        path.write_text("old content")
        with path.open() as reader:
            mirror(source, target)
            assert reader.read() == "old content"
        assert path.read_text().startswith("message 0")

    def test_it_is_fast(self, source, target):
        """A few hundred files, some changed; in seconds of its own, the machine may be busy."""
        for number in range(400):
            (source / f"f{number}").write_bytes(bytes(2000))
        mirror(source, target)
        best = 1.0
        for _ in range(5):
            for number in range(0, 400, 10):
                (target / f"f{number}").write_text("changed")
            before = time.process_time()
            assert mirror(source, target) == 41  # and the folder's own time
            best = min(best, time.process_time() - before)
        assert best < 0.05


NAMES = st.sampled_from(["a", "b", "c"])
TREES = st.recursive(
    st.binary(max_size=3) | st.sampled_from(["../a", "b", "/etc"]),
    lambda inner: st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
)


def build(tree: object, path: Path) -> None:
    if isinstance(tree, dict):
        path.mkdir()
        for name, inner in tree.items():
            build(inner, path / name)
    elif isinstance(tree, str):
        path.symlink_to(tree)
    else:
        path.write_bytes(tree)


@pytest.mark.property
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(NAMES, TREES), st.dictionaries(NAMES, TREES))
def test_any_tree_becomes_any_other(tmp_path, one, other):
    for tree, name in ((one, "one"), (other, "other")):
        shutil.rmtree(tmp_path / name, ignore_errors=True)
        build(tree, tmp_path / name)
    mirror(tmp_path / "one", tmp_path / "other")
    assert facts(tmp_path / "other") == facts(tmp_path / "one")
    assert mirror(tmp_path / "one", tmp_path / "other") == 0


class TestCopy:
    def test_it_refuses_a_target_that_is_there(self, source, tmp_path):
        (tmp_path / "there").mkdir()
        with pytest.raises(FileExistsError):
            copy(source, tmp_path / "there")

    def test_holes_stay_holes(self, tmp_path):
        (tmp_path / "source").mkdir()
        with (tmp_path / "source" / "sparse").open("wb") as stream:
            stream.write(b"begin")
            stream.seek(50_000_000)
            stream.write(b"middle")
            stream.truncate(100_000_000)
        copy(tmp_path / "source", tmp_path / "target")
        made = tmp_path / "target" / "sparse"
        assert made.stat().st_blocks * 512 < 1_000_000
        assert made.stat().st_size == 100_000_000
        with made.open("rb") as stream:
            assert stream.read(6) == b"begin\0"
            stream.seek(50_000_000)
            assert stream.read(7) == b"middle\0"

    def test_without_help_of_the_kernel(self, source, tmp_path, monkeypatch):
        def refuse(*_args):
            raise OSError(95, "Operation not supported")

        monkeypatch.setattr(module.os, "copy_file_range", refuse)
        copy(source, tmp_path / "target")
        assert facts(tmp_path / "target") == facts(source)


class TestScript:
    def run(self, *arguments) -> subprocess.CompletedProcess:
        command = [sys.executable, "-I", "-S", module.__file__, *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    def test_it_mirrors(self, source, target):
        (target / "kept").touch()
        (target / "extra").touch()
        assert self.run(source, target, "--keep", "kept").returncode == 0
        assert (target / "kept").exists()
        assert not (target / "extra").exists()

    def test_wrong_arguments(self, source):
        done = self.run(source)
        assert done.returncode == 2
        assert "usage" in done.stderr


def test_a_file_that_its_owner_drops_meanwhile_is_no_error(tmp_path, monkeypatch):
    """SQLite drops `-shm` and `-wal` files when its last connection closes."""
    source, target = tmp_path / "source", tmp_path / "target"
    source.mkdir()
    target.mkdir()
    (target / "db-shm").write_text("gone in a moment")
    unlink = os.unlink

    def dropped_first(name, *, dir_fd=None):
        unlink(name, dir_fd=dir_fd)
        raise FileNotFoundError(name)

    monkeypatch.setattr(os, "unlink", dropped_first)
    mirror(source, target)
    assert list(target.iterdir()) == []
