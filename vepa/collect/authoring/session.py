"""A run of authoring: wishes are settled, files written one after the other or side by side."""

from __future__ import annotations

import json
import secrets
import threading
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from vepa.collect.authoring.asking import Written, first_request, write
from vepa.collect.authoring.judging import Shelf, judge_persona, judge_task
from vepa.collect.authoring.material import Library, names_for_persona, names_for_task
from vepa.collect.authoring.settings import AuthorSettings, Wish
from vepa.collect.authoring.shelf import place_for
from vepa.collect.authoring.wishes import load_library, settle
from vepa.collect.pool import OfficePool
from vepa.errors import RunError
from vepa.files import write_atomic
from vepa.llm import Budget, Ledger, ModelRequest, open_model
from vepa.llm.prompts import load_prompt
from vepa.project import Project
from vepa.services.office import Office
from vepa.services.runtimes import Progress

__all__ = ["AuthorSession", "run_folder"]


def run_folder(artifacts: Path) -> Path:
    """A new folder for what a run leaves behind: `authoring/TIME-WORD`."""
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    return artifacts / "authoring" / f"{stamp}-{secrets.token_hex(3)}"


class AuthorSession:
    """Writes what is wished for; threads may share it.

    Parameters
    ----------
    project
        Where accepted files go, in its first folder.
    settings
        Who writes what.
    folder
        For rejected drafts, the ledger and the report.
    offices
        Offices that are up already, instead of starting any.
    progress
        Told what happens to the offices.

    Raises
    ------
    SettingError
        When a setting names something that is not there, or a file of the project is wrong.
    """

    def __init__(
        self,
        project: Project,
        settings: AuthorSettings,
        folder: Path,
        *,
        offices: Sequence[Office] = (),
        progress: Progress | None = None,
    ):
        self.settings = settings
        self.folder = folder
        self.library: Library = load_library(project)
        self.wishes: list[Wish] = settle(settings, self.library)
        self.prompt = load_prompt(project, f"author-{settings.kind}")
        place_for(project, f"{settings.kind}s", self._area, "some")  # a link may lead it astray
        mark = f"written by {settings.model}, prompt {self.prompt.id} {self.prompt.version}"
        self._shelf = Shelf(project, self.library, settings, mark, list(self.library.tasks),
                            list(self.library.materials.personas.values()))  # fmt: skip
        self._results: dict[int, dict[str, Any]] = {}
        self._stopped: str | None = None
        self._guard = threading.Lock()
        self._model: Any = None
        environments = self.library.materials.environments
        names = sorted({name for wish in self.wishes for name in wish.environments})
        self._pool = OfficePool(
            [environments[name] for name in names],
            self.library.materials.world_file,
            settings.offices,
            runtime=settings.runtime,
            progress=progress,
            offices=offices,
        )

    @property
    def stopped(self) -> str | None:
        """What ended the run before its time: a budget, a provider, a service."""
        return self._stopped

    def request(self, wish: Wish) -> ModelRequest:
        """The first request for a wish, as things stand."""
        shelf = self._shelf
        if self.settings.kind == "task":
            names = names_for_task(self.library, self.settings, wish, shelf.tasks)
        else:
            names = names_for_persona(self.library, self.settings, wish, shelf.personas)
        return first_request(self.prompt, names, self.settings, wish.number)

    def write(self, number: int) -> dict[str, Any]:
        """Let the model write what wish `number` (from 1) says; what became of it.

        Returns
        -------
        dict
            `number`, `state` (accepted, rejected, not_written), `id`, `file`, `tries`, `reasons`.
        """
        wish, written = self.wishes[number - 1], Written()
        if self._stopped is None:
            try:
                write(self._opened(), self.request(wish), self._judge(wish), self.settings.tries,
                      written)  # fmt: skip
            except RunError as error:  # models, budgets, services
                self._stop(str(error))
        result = self._told(wish, written)
        with self._guard:
            self._results[number] = result
        return result

    def report(self) -> dict[str, Any]:
        """What became of all wishes so far; also written to `report.json`."""
        with self._guard:
            results = [self._results[number] for number in sorted(self._results)]
        spent = self._ledger.totals()["all"]
        data = {
            "kind": self.settings.kind,
            "model": self.settings.model,
            "prompt": {"id": self.prompt.id, "version": self.prompt.version,
                       "sha256": self.prompt.sha256},
            "wished": len(self.wishes),
            "accepted": [each for each in results if each["state"] == "accepted"],
            "rejected": [each for each in results if each["state"] == "rejected"],
            "not_written": len(self.wishes)
            - sum(each["state"] in ("accepted", "rejected") for each in results),
            "stopped": self._stopped,
            "spent": {"prompt": spent.prompt, "completion": spent.completion,
                      "dollars": spent.dollars, "requests": spent.requests},
        }  # fmt: skip
        write_atomic(self.folder / "report.json", json.dumps(data, indent=1) + "\n")
        return {**data, "folder": str(self.folder)}

    def close(self) -> None:
        """Stop the offices that were started."""
        self._pool.close()

    def open(self) -> None:
        """Open the model; a wrong name, a missing price or package is told before anything runs.

        Raises
        ------
        SettingError
            See `open_model`.
        """
        self._opened()

    def _stop(self, why: str) -> None:
        with self._guard:
            if self._stopped is None:
                self._stopped = why

    @property
    def _area(self) -> str | None:
        return self.settings.area if self.settings.kind == "task" else None

    @property
    def _ledger(self) -> Ledger:
        return Ledger(self.folder / "ledger.jsonl")

    def _opened(self) -> Any:
        with self._guard:
            if self._model is None:
                settings = self.settings
                minutes = settings.minutes
                self._model = open_model(
                    settings.model,
                    settings=settings.model_settings,
                    budget=Budget(
                        tokens=settings.tokens,
                        dollars=settings.dollars,
                        seconds=None if minutes is None else 60 * minutes,
                        name="run",
                    ),
                    ledger=self._ledger.tagged(purpose=self.prompt.id),
                )
            return self._model

    def _judge(self, wish: Wish) -> Any:
        if self.settings.kind == "task":
            return lambda text: judge_task(self._shelf, wish, self._pool, text)
        return lambda text: judge_persona(self._shelf, wish, text)

    def _told(self, wish: Wish, written: Written) -> dict[str, Any]:
        state = "accepted" if written.path else "rejected" if written.attempts else "not_written"
        result = {
            "number": wish.number,
            "state": state,
            "id": written.id,
            "file": str(written.path) if written.path else None,
            "tries": len(written.attempts),
            "reasons": [each.to_dict() for each in written.reasons],
        }
        if state == "rejected":
            data = {
                **result,
                "written_by": self._shelf.mark,
                "wish": wish.model_dump(),
                "drafts": [each.to_dict() for each in written.attempts],
            }
            name = f"{wish.number:04d}-{written.id or 'no-id'}.json"
            text = json.dumps(data, indent=1, ensure_ascii=False) + "\n"
            write_atomic(self.folder / "rejected" / name, text)
        return result
