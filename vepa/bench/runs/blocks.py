"""Blocks of a profile that a stage cannot do without."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol, TypeVar

from vepa.errors import SettingError, Where
from vepa.project import Project

__all__ = ["planned"]

P_co = TypeVar("P_co", covariant=True)


class Planning(Protocol[P_co]):
    """Reads a block of a profile and all that it names; None when the profile has no such block."""

    def __call__(
        self, project: Project, name: str, *, artifacts: Path | None = None
    ) -> P_co | None:
        """See `vepa.collect.runs.session.plan_corpus`."""


def planned(
    planning: Planning[P_co],
    profile: str,
    project: str | None,
    artifacts: str | None,
    *,
    block: str,
    does: str,
) -> P_co:
    """What a block asks for, named as the tasks of a flow name things: by text.

    Parameters
    ----------
    planning
        Reads the block.
    profile
        Name of a profile, or its path.
    project
        Folder of the project; the working directory when left out.
    artifacts
        Folder of what runs produce; the project's when left out.
    block
        Its name.
    does
        What a profile with it does, as a verb.

    Raises
    ------
    SettingError
        When the profile has no such block.
    """
    place = Path(artifacts) if artifacts else None
    plan = planning(Project(project), profile, artifacts=place)
    if plan is None:
        raise SettingError(
            f"profile {profile!r} {does} nothing",
            where=Where(field=block),
            remedy=f"give it a block `{block}`, as flows/profiles/demo.yaml has",
        )
    return plan
