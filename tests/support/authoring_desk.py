"""A project, a model on loopback that writes for it, and a task that holds over `memos`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from model_servers import Behaviour, Data, ModelServer

from vepa.collect.authoring.session import AuthorSession
from vepa.collect.authoring.settings import settings_from
from vepa.project import Project
from vepa.services import Office

#: A task that holds, in no way like those of the tiny project.
GOOD: dict[str, Any] = {
    "task": 1,
    "id": "memos-lamp-in-the-hall",
    "title": "The lamp in the hall",
    "persona": "jonas",
    "request": "The lamp in the hall flickers: note down that the janitor should see to it.",
    "environments": ["memos"],
    "success": [{"check": "memos.exists", "with": {"text": "janitor: hall lamp"}}],
    "plans": {
        "careful": [
            {"call": "memos_add", "with": {"text": "janitor: hall lamp"}, "id": "made"},
            {"call": "memos_show", "with": {"id": "{{ made.id }}"}, "id": "shown"},
            {"answer": "Noted: {{ shown.text }}."},
        ]
    },
}  # fmt: skip


def written(data: Mapping[str, Any]) -> Data:
    """The model answers with this task or persona."""
    return Data({"yaml": yaml.safe_dump(dict(data), sort_keys=False, allow_unicode=True)})


@dataclass
class Desk:
    """A project, a model that writes for it, and what came of it."""

    folder: Path
    server: ModelServer
    office: Office
    artifacts: Path = Path()

    def session(self, answers: Sequence[Behaviour], **settings: Any) -> AuthorSession:
        self.server.play(answers)
        given = {
            "model": "openai/gpt-4o-mini",
            "area": "memos",
            "environments": [] if settings.get("kind") == "persona" else ["memos"],
            "model_settings": {
                "api_base": self.server.openai,
                "first_wait": 0.01,
                "max_attempts": 2,
            },
            **settings,
        }
        self.artifacts = (
            self.folder / "artifacts" / f"run-{len(list(self.folder.glob('**/run-*')))}"
        )
        return AuthorSession(
            Project(self.folder), settings_from(given), self.artifacts, offices=[self.office]
        )

    def write(self, *answers: Behaviour, **settings: Any) -> dict[str, Any]:
        """All wishes one after the other; the report."""
        session = self.session(answers, **settings)
        for wish in session.wishes:
            session.write(wish.number)
        session.close()
        return session.report()

    def rejected(self) -> list[Any]:
        """What lies in the folder of the rejected."""
        files = sorted((self.artifacts / "rejected").glob("*.json"))
        return [json.loads(file.read_text()) for file in files]

    @property
    def tasks(self) -> list[str]:
        files = (self.folder / "tasks").rglob("*.yaml")
        return sorted(file.relative_to(self.folder / "tasks").as_posix() for file in files)
