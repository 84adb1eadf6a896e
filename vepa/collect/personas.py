"""Personas: who asks, how they talk, what they may do, what they say when they are asked."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field, model_validator

from vepa.collect.parts import Id, Part, fault, read_part
from vepa.errors import SettingError, Where
from vepa.policy.schema import nearest
from vepa.project import Project
from vepa.services.world import World

__all__ = ["Persona", "load_personas", "read_persona"]

_PAGE = "docs/tasks.md"


class Replies(Part):
    """What a persona says where a task gives no answer of its own.

    Attributes
    ----------
    unsure
        To a question that the task does not foresee.
    impatient
        When more was asked than the persona has patience for.
    """

    unsure: str
    impatient: str


class Persona(Part):
    """The content of a file in `personas/`.

    Attributes
    ----------
    persona
        Version of the format.
    id
        Name of the file.
    person
        Id of somebody in the world; the agent's tools act with this person's accounts.
    position
        What they do, in a sentence.
    rights
        What they may do and decide, in words.
    manner
        How they write.
    patience
        Questions that they answer before they lose patience.
    confirms, refuses
        What they agree to when they are asked, and what they do not.
    replies
        Their words where a task gives none.
    """

    persona: int = Field(ge=1, le=1)
    id: Id
    person: str
    position: str
    rights: str
    manner: str
    patience: int = Field(ge=0, le=20)
    confirms: list[str] = Field(min_length=1)
    refuses: list[str] = Field(min_length=1)
    replies: Replies

    @model_validator(mode="after")
    def _plain(self) -> Persona:
        if not self.position.strip() or not self.manner.strip() or not self.rights.strip():
            raise ValueError("position, rights and manner are sentences, not empty")
        return self

    @property
    def account(self) -> str:
        """The account that the agent's tools act with."""
        return f"person:{self.person}"


def read_persona(
    path: str | Path, world: World | None = None
) -> tuple[Persona | None, list[SettingError]]:
    """Read one persona, or find all that is wrong with it.

    Parameters
    ----------
    path
        The file.
    world
        Whose people personas are; without one this is not checked.

    Raises
    ------
    SettingError
        When the file cannot even be parsed.
    """
    persona, document, wrong = read_part(path, Persona, _PAGE)
    if persona is None:
        return None, wrong
    if persona.id != Path(path).stem:
        wrong.append(
            fault(document, ("id",), f"the file is called {Path(path).stem!r}", "use one name")
        )
    people = [person.id for person in world.people] if world else [persona.person]
    if persona.person not in people:
        remedy = nearest(persona.person, people, "people of the world")
        wrong.append(fault(document, ("person",), f"no person {persona.person!r}", remedy))
    return persona, wrong


def load_personas(project: Project, world: World | None = None) -> dict[str, Persona]:
    """All personas of a project by their id.

    Raises
    ------
    SettingError
        At the first fault; names file, line, field and remedy.
    """
    found: dict[str, Persona] = {}
    for path in project.all("personas", "*.yaml"):
        persona, wrong = read_persona(path, world)
        if persona is None or wrong:
            raise wrong[0]
        found[persona.id] = persona
    if not found:
        raise SettingError(
            "the project has no persona",
            where=Where("personas"),
            remedy="write one as docs/tasks.md describes, or `vepa personas new`",
        )
    return found
