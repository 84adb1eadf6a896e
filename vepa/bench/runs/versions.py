"""What makes a run's products beside its inputs: the package's own files, packages, a prompt."""

from __future__ import annotations

import platform
from functools import lru_cache
from importlib import metadata
from pathlib import Path

from vepa import __version__
from vepa.evolution.proposers.llm.asking import TEMPLATE
from vepa.files import canonical_json, sha256_of
from vepa.llm.prompts import load_prompt
from vepa.project import Project

__all__ = ["code_of", "code_sha256", "prompt_version", "versions"]

#: Parts of the package that a run's products depend on; rooms of the bench in `_APART` are not
#: among them.
_PARTS = ("errors.py", "files.py", "policy", "corpus", "evolution", "bench")
_APART = ("bench/experiments", "bench/synth")
_KINDS = {".py", ".yaml", ".j2", ".css"}
#: Packages whose version may change a product.
_PACKAGES = (
    "jinja2",
    "numpy",
    "pandas",
    "polars",
    "pydantic",
    "pyyaml",
    "river",
    "scikit-learn",
    "scipy",
    "wittgenstein",
)


@lru_cache(maxsize=4)
def code_sha256(*more: str) -> str:
    """Hash over name and content of every file of the package that products depend on.

    Parameters
    ----------
    more
        Parts of the package that only these products depend on, such as `llm`.
    """
    return code_of((*_PARTS, *more), _APART)


@lru_cache(maxsize=4)
def code_of(parts: tuple[str, ...], apart: tuple[str, ...] = ()) -> str:
    """Hash over name and content of the files of parts of the package.

    Parameters
    ----------
    parts
        Files and folders, relative to the package.
    apart
        Folders within them that are left out.
    """
    package = Path(__file__).resolve().parents[2]
    files: dict[str, str] = {}
    for part in parts:
        place = package / part
        for path in [place] if place.is_file() else sorted(place.rglob("*")):
            name = path.relative_to(package).as_posix()
            if name.startswith(tuple(f"{folder}/" for folder in apart)):
                continue
            if path.suffix in _KINDS and path.is_file():
                files[name] = sha256_of(path.read_bytes())
    return sha256_of(canonical_json(files))


def versions() -> dict[str, str]:
    """Versions of Python, of VEPA and of the packages that products depend on, where installed."""
    found = {"python": platform.python_version(), "vepa": __version__}
    for name in _PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def prompt_version(place: Path | None) -> dict[str, str]:
    """What of the prompt the patches of a model depend on.

    Parameters
    ----------
    place
        The project's folder, where one was named.
    """
    prompt = load_prompt(Project(place), TEMPLATE)
    return {"id": prompt.id, "version": prompt.version, "sha256": prompt.sha256}
