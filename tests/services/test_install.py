"""Installing the services' software, from a folder of small wheels and with no network."""

from __future__ import annotations

import base64
import hashlib
import os
import signal
import subprocess
import sys
import threading
import time
import zipfile
from pathlib import Path

import pytest
from tiny_service import wait_for

from vepa.errors import InputError, RunError
from vepa.services.install import _make, install, installed, layout
from vepa.services.runtimes.mirror import copy

pytestmark = pytest.mark.integration


def wheel(folder: Path, name: str, version: str, requires: str = "") -> None:
    """A package with one module and one script."""
    info = f"{name}-{version}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    if requires:
        metadata += f"Requires-Dist: {requires}\n"
    files = {
        f"{name}.py": f"def main():\n    print('{name} {version}')\n",
        f"{info}/METADATA": metadata,
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": f"[console_scripts]\n{name}={name}:main\n",
    }
    record = ""
    for path, text in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=")
        record += f"{path},sha256={digest.decode()},{len(text)}\n"
    files[f"{info}/RECORD"] = record + f"{info}/RECORD,,\n"
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as archive:
        for path, text in files.items():
            archive.writestr(path, text)


@pytest.fixture(scope="module")
def wheels(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheels")
    wheel(folder, "vepatest_server", "1.0", "vepatest_base")
    wheel(folder, "vepatest_base", "1.0")
    wheel(folder, "vepatest_base", "2.0")
    wheel(folder, "vepatest_strict", "1.0", "vepatest_base>2")
    return folder


@pytest.fixture
def offline(tmp_path, wheels, monkeypatch):
    """pip's own configuration: no index, one folder."""
    file = tmp_path / "pip.conf"
    file.write_text(f"[global]\nno-index = true\nfind-links = {wheels}\n")
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", str(file))
    return file


@pytest.fixture(scope="module")
def fresh(tmp_path_factory):
    """A fresh environment, to be copied: making one takes pip's own installation, seconds."""
    folder, told = tmp_path_factory.mktemp("fresh"), []
    with open(folder / "lock", "wb") as lock:
        _make(folder / "venv", lock.fileno(), told.append)
    assert told == ["making a Python environment for the services"]
    return folder / "venv"


@pytest.fixture
def quick(fresh, monkeypatch):
    """What `install` itself would make, copied."""
    monkeypatch.setattr("vepa.services.install._make", lambda venv, *_: copy(fresh, venv))


@pytest.fixture
def constraints(tmp_path):
    file = tmp_path / "constraints.txt"
    file.write_text("vepatest_base==1.0\n")
    return file


WANTED = ["vepatest_server==1.0"]


def says(python: Path, name: str) -> str:
    done = subprocess.run(
        [python, "-c", f"import {name}; {name}.main()"], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def test_it_makes_an_environment_of_its_own(tmp_path, quick, offline, constraints):
    services, told = tmp_path / "services", []
    assert installed(WANTED, constraints, services=services) is None
    venv = install(WANTED, constraints, told.append, services=services)
    assert venv.parent == services
    assert installed(WANTED, constraints, services=services) == venv
    parts = layout(venv)
    assert says(parts.python, "vepatest_base") == "vepatest_base 1.0"
    script = subprocess.run([parts.bin / "vepatest_server"], capture_output=True, check=True)
    assert script.stdout == b"vepatest_server 1.0\n"
    assert (parts.site / "vepatest_server.py").is_file()
    assert any("vepatest_base-1.0-py3-none-any.whl" in line for line in told)
    lacks = subprocess.run([parts.python, "-Ic", "import vepa"], capture_output=True, check=False)
    assert lacks.returncode == 1
    for path in (venv, parts.site, parts.site / "vepatest_base.py"):  # `nobody` runs from it
        assert path.stat().st_mode & 0o004

    told.clear()
    before = (venv / "complete.json").stat().st_mtime_ns
    assert install(list(WANTED), constraints, told.append, services=services) == venv
    assert told == []
    assert (venv / "complete.json").stat().st_mtime_ns == before

    # Other constraints, or none: another environment.
    constraints.write_text("vepatest_base==2.0\n")
    assert installed(WANTED, constraints, services=services) is None
    assert installed(WANTED, None, services=services) is None

    # A Python that was removed.
    parts.python.unlink()
    constraints.write_text("vepatest_base==1.0\n")
    assert installed(WANTED, constraints, services=services) is None


def test_one_that_was_interrupted_is_done_again(tmp_path, fresh, quick, offline):
    """kill -9 of the installing process while pip runs: the next one waits for pip, then redoes."""
    services = tmp_path / "services"
    script = (
        "import sys; from pathlib import Path; from vepa.services import install; "
        "from vepa.services.runtimes.mirror import copy; "
        "install._make = lambda venv, *_: copy(sys.argv[2], venv); "
        "install.install(['vepatest_server==1.0'], None, None, services=Path(sys.argv[1]))"
    )
    child = subprocess.Popen([sys.executable, "-c", script, services, fresh])
    venv = wait_for(lambda: next(services.glob("*/pyvenv.cfg"), None), 20).parent
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    assert installed(WANTED, None, services=services) is None
    told = []
    assert install(WANTED, None, told.append, services=services) == venv
    assert "an installation that was interrupted is done again" in told
    assert says(layout(venv).python, "vepatest_server") == "vepatest_server 1.0"


def test_of_two_at_once_one_installs_and_one_waits(tmp_path, quick, offline):
    services, told, made = tmp_path / "services", [[], []], []

    def work(number: int) -> None:
        made.append(install(WANTED, None, told[number].append, services=services))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert made[0] == made[1]
    worked = [any(line.startswith("Processing") for line in lines) for lines in told]
    assert sorted(worked) == [False, True]
    waited = told[worked.index(False)]
    assert waited == ["another process is installing the same packages; waiting for it"]


class TestErrors:
    @pytest.mark.parametrize(
        ("wanted", "message", "remedy"),
        [
            ("vepatest_absent==1", "'vepatest_absent==1' cannot be found", "pip config"),
            ("vepatest_base==9", "the package 'vepatest_base==9' cannot be found", "its name"),
            ("vepatest base", "'vepatest base' is no requirement", "NAME==VERSION"),
        ],
    )
    def test_a_package_that_is_not_there(self, tmp_path, quick, offline, wanted, message, remedy):
        services = tmp_path / "services"
        with pytest.raises(InputError, match=message) as caught:
            install([wanted], None, services=services)
        assert remedy in caught.value.remedy
        assert "  | ERROR: " in str(caught.value)
        assert [path.suffix for path in services.iterdir()] == [".lock"]

    def test_packages_that_do_not_fit(self, tmp_path, quick, offline, constraints):
        with pytest.raises(InputError, match=r"cannot be found|do not fit together") as caught:
            install(["vepatest_strict==1.0"], constraints, services=tmp_path / "services")
        assert str(constraints) in str(caught.value)

    def test_an_index_that_cannot_be_reached(self, tmp_path, quick, offline, monkeypatch):
        offline.write_text("[global]\nindex-url = http://127.0.0.1:9/simple\nretries = 1\n")
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
            monkeypatch.delenv(name, raising=False)
        with pytest.raises(InputError, match="the package index cannot be reached") as caught:
            install(["vepatest_base"], None, services=tmp_path / "services")
        assert "connect this machine" in caught.value.remedy

    def test_a_python_without_venv(self, tmp_path, monkeypatch):
        monkeypatch.setattr(sys, "executable", "/bin/false")
        with pytest.raises(RunError, match="python3-venv"):
            install(WANTED, None, services=tmp_path / "services")

    def test_constraints_that_are_missing(self, tmp_path):
        with pytest.raises(InputError, match="no such file"):
            install(WANTED, tmp_path / "absent.txt", services=tmp_path / "services")

    def test_an_interruption_leaves_nothing(self, tmp_path, quick, offline):
        def interrupt(line: str) -> None:
            if line.startswith("Processing"):
                raise KeyboardInterrupt

        services = tmp_path / "services"
        before = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            install(WANTED, None, interrupt, services=services)
        assert time.monotonic() - before < 60
        assert [path.suffix for path in services.iterdir()] == [".lock"]
