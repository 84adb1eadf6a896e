"""Before a planned corpus is collected: packages and the services' software."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec

from vepa.collect.runs.session import CorpusPlan
from vepa.errors import MissingExtraError, SettingError, Where
from vepa.files import name_of, read_text
from vepa.policy.document import parse_document
from vepa.services.software import install_software

__all__ = ["prepare_corpus"]


def prepare_corpus(plan: CorpusPlan, tell: Callable[[str], None] = lambda _: None) -> None:
    """Whatever could keep episodes from being played at all, settled before anything starts.

    Packages are there, and the services' software is installed.

    Parameters
    ----------
    plan
        What is collected.
    tell
        Told what is installed.

    Raises
    ------
    MissingExtraError
        When a package is not installed.
    SettingError
        When the profile wants containers and no engine answers; names file, line and field.
    InputError
        When software cannot be had.
    """
    for package, extra in (("prefect", "pipeline"), ("httpx", "services"), ("jinja2", "pipeline")):
        if find_spec(package) is None:
            raise MissingExtraError(package, extra)
    try:
        install_software(plan.environments, plan.profile.runtime, tell)
    except SettingError as error:
        if error.where.field != "--runtime docker":
            raise
        document = parse_document(read_text(plan.file), name_of(plan.file), SettingError)
        place = ("corpus", "runtime")
        raise SettingError(
            error.message,
            where=Where(document.file, document.line(place), ".".join(place)),
            remedy=error.remedy,
        ) from None
