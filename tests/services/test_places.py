"""Where things are kept, and who may look at them."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from vepa.errors import SettingError
from vepa.services.places import Places, cache_root, make_private, places

ROOT = os.geteuid() == 0
needs_root = pytest.mark.skipif(not ROOT, reason="needs root: it acts as other accounts")


@pytest.fixture
def open_folder():
    """A folder that every account can reach."""
    made = Path(tempfile.mkdtemp())
    made.chmod(0o755)
    yield made
    shutil.rmtree(made)


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def can(user: str, command: str, path: Path) -> bool:
    """Whether another account can do something; numbers where there is no name."""
    argv = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", command, str(path)]
    return subprocess.run(argv, capture_output=True, check=False).returncode == 0


class TestRoot:
    def test_the_variable_comes_first(self, tmp_path):
        assert cache_root({"VEPA_CACHE": str(tmp_path), "XDG_CACHE_HOME": "/x"}) == tmp_path

    def test_a_relative_one_is_taken_from_here(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        assert cache_root({"VEPA_CACHE": "cache"}) == tmp_path / "cache"

    def test_root_uses_the_system_s(self, monkeypatch):
        monkeypatch.setattr(os, "geteuid", lambda: 0)
        assert cache_root({"XDG_CACHE_HOME": "/x"}) == Path("/var/cache/vepa")

    def test_a_user_has_one_of_their_own(self, monkeypatch):
        monkeypatch.setattr(os, "geteuid", lambda: 1000)
        assert cache_root({"XDG_CACHE_HOME": "/x"}) == Path("/x/vepa")
        assert cache_root({"XDG_CACHE_HOME": "relative"}) == Path.home() / ".cache" / "vepa"
        assert cache_root({}) == Path.home() / ".cache" / "vepa"


class TestPlaces:
    def test_they_are_made_private(self, open_folder):
        found = places({"VEPA_CACHE": str(open_folder / "a" / "cache")})
        assert found == Places(open_folder / "a" / "cache")
        for folder in (found.root, found.services, found.snapshots, found.offices):
            assert mode(folder) == (0o710 if ROOT else 0o700)
        assert places({"VEPA_CACHE": str(open_folder / "a" / "cache")}) == found

    def test_a_folder_of_the_user_keeps_its_mode(self, open_folder):
        places({"VEPA_CACHE": str(open_folder)})
        assert mode(open_folder) == 0o755
        assert mode(open_folder / "offices") & 0o007 == 0

    def test_another_process_makes_them_meanwhile(self, open_folder, monkeypatch):
        asked = os.access

        def late(path, mode):
            answer = asked(path, mode)
            make_private(Path(path))
            return answer

        monkeypatch.setattr(os, "access", late)
        assert places({"VEPA_CACHE": str(open_folder)}).snapshots.is_dir()

    @needs_root
    def test_nobody_passes_and_other_users_do_not(self, open_folder):
        found = places({"VEPA_CACHE": str(open_folder / "cache")})
        office = make_private(found.office("alpha"))
        (office / "data").mkdir(mode=0o700)
        os.chown(office / "data", 65534, 65534)
        assert can("65534", "ls", office / "data")
        assert not can("65534", "ls", office)  # it passes, it does not look around
        for path in (office / "data", office, found.offices, found.root):
            assert not can("12345", "ls", path)

    @needs_root
    def test_a_parent_that_nobody_cannot_enter(self, open_folder):
        (open_folder / "closed").mkdir(mode=0o700)
        with pytest.raises(SettingError, match=r"`nobody` cannot enter .*/closed\n") as caught:
            places({"VEPA_CACHE": str(open_folder / "closed" / "cache")})
        assert "VEPA_CACHE" in caught.value.remedy

    @pytest.mark.skipif(ROOT, reason="root may write everywhere")
    def test_one_that_cannot_be_written_to(self, open_folder):
        places({"VEPA_CACHE": str(open_folder)})
        open_folder.chmod(0o500)
        with pytest.raises(SettingError, match="cannot be written to"):
            places({"VEPA_CACHE": str(open_folder)})
        with pytest.raises(SettingError, match="cannot be made: Permission denied"):
            places({"VEPA_CACHE": str(open_folder / "deeper")})
        open_folder.chmod(0o700)

    def test_a_file_in_the_way(self, tmp_path):
        (tmp_path / "file").touch()
        with pytest.raises(SettingError, match="cannot be made"):
            places({"VEPA_CACHE": str(tmp_path / "file")})
        with pytest.raises(SettingError, match="cannot be made"):
            places({"VEPA_CACHE": str(tmp_path / "file" / "below")})


class TestOffice:
    def test_a_plain_id(self):
        assert Places(Path("/c")).office("a-1_b.c") == Path("/c/offices/a-1_b.c")

    @pytest.mark.parametrize("bad", ["", ".", "..", "a/b", "../x", ".hidden", "a b", "x" * 65, "-"])
    def test_no_other(self, bad):
        with pytest.raises(SettingError, match="cannot be the id of an office"):
            Places(Path("/c")).office(bad)


def test_a_folder_that_was_made_elsewhere_gets_the_right_mode(tmp_path):
    (tmp_path / "made").mkdir(mode=0o777)
    make_private(tmp_path / "made")
    assert mode(tmp_path / "made") == (0o710 if ROOT else 0o700)
