"""Official images: what a tag stands for is settled once, by the environment or the first pull.

An environment that names a digest gets exactly that image. One that names only a tag gets what the
tag stood for at the first pull: its digest is recorded in the cache, and from then on another image
under the same tag is an error, never used by mistake.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from vepa.errors import InputError, Where
from vepa.files import read_text, write_atomic
from vepa.services.environment import Environment
from vepa.services.runtimes.docker_plan import official_reference
from vepa.services.runtimes.images import base_id, find_image

__all__ = ["LOCK", "official_id"]

#: In the cache folder: image without a digest of its own -> the digest that it had at first.
LOCK = "images.json"


def official_id(client: Any, environment: Environment, root: Path) -> str:
    """Id of the official image of an environment, which is pulled when it is not here.

    Parameters
    ----------
    client
        Of `connect`.
    environment
        One with `docker.image`.
    root
        The cache folder.

    Raises
    ------
    InputError
        When the image cannot be had, or is not the one that its tag stood for at first.
    """
    reference = official_reference(environment)
    where = Where(str(environment.file), field="docker.image")
    found = base_id(client, reference, where)
    if environment.docker.digest is None:
        _hold(root / LOCK, reference, _digest(find_image(client, reference), reference), where)
    return found


def _digest(image: Any, reference: str) -> str:
    """The registry's digest of an image; of one that was made here, its id."""
    name = reference.rpartition(":")[0].removeprefix("docker.io/").removeprefix("library/")
    for known in image.attrs.get("RepoDigests") or []:
        repository, _, digest = known.partition("@")
        if repository == name:
            return str(digest)
    return str(image.id)


def _hold(lock: Path, reference: str, digest: str, where: Where) -> None:
    known = _read(lock)
    if reference not in known:
        text = json.dumps({**known, reference: digest}, indent=1, sort_keys=True)
        write_atomic(lock, f"{text}\n")
    elif known[reference] != digest:
        raise InputError(
            f"the image {reference!r} is {digest}, and was {known[reference]} when first used",
            where=where,
            remedy="write the digest that you trust into `docker.digest`, or, if the new image is "
            f"wanted, remove its line from {lock}",
        )


def _read(lock: Path) -> dict[str, str]:
    if not lock.is_file():
        return {}
    try:
        known = json.loads(read_text(lock))
    except json.JSONDecodeError as error:
        raise InputError(
            f"is no JSON: {error.msg}", where=Where(str(lock), error.lineno), remedy="remove it"
        ) from None
    if not isinstance(known, dict):
        raise InputError("is no mapping", where=Where(str(lock)), remedy="remove it")
    return known
