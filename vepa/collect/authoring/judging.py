"""Judges: all that a draft must pass before it becomes a file of the project."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field

from vepa.collect.authoring.asking import Verdict
from vepa.collect.authoring.contents import reasons_of_content, reasons_of_planting
from vepa.collect.authoring.drafts import Draft, open_draft, pretty_yaml, staged
from vepa.collect.authoring.material import Library
from vepa.collect.authoring.reasons import Reason, from_errors
from vepa.collect.authoring.settings import AuthorSettings, Wish
from vepa.collect.authoring.shelf import place_for, taken, write_new
from vepa.collect.personas import Persona, read_persona
from vepa.collect.pool import OfficePool
from vepa.collect.tasks import Task, read_task
from vepa.collect.tasks.balance import MOST_ALIKE, MOST_SEQUENCES, alike, repeated
from vepa.collect.tasks.checking import TaskReport, check_task
from vepa.errors import RunError, SettingError
from vepa.project import Project

__all__ = ["Shelf", "judge_persona", "judge_task"]

_SHOWN = 400


@dataclass
class Shelf:
    """Where accepted files go, and what is there by now; threads may share it.

    Attributes
    ----------
    project, library, settings
        What is written for.
    mark
        Who wrote it: `written by MODEL, prompt NAME VERSION`.
    tasks, personas
        Those that exist and those that were accepted.
    """

    project: Project
    library: Library
    settings: AuthorSettings
    mark: str
    tasks: list[Task] = field(default_factory=list)
    personas: list[Persona] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def clashes(self, task: Task) -> list[Reason]:
        """What exists already and is too much like a task."""
        with self._lock:
            return _clashes(self.project, task, self.tasks)

    def keep_task(self, task: Task, text: str) -> Verdict:
        """Write a task that passed, unless another like it came first."""
        path = place_for(self.project, "tasks", self.settings.area, task.id)
        with self._lock:
            reasons = _clashes(self.project, task, self.tasks)
            if not reasons and not write_new(path, text):
                reasons = [_taken(task.id)]
            if not reasons:
                self.tasks.append(task)
        return Verdict(reasons, task.id, None if reasons else path)

    def keep_persona(self, persona: Persona, text: str) -> Verdict:
        """Write a persona that passed, unless there is one of its name."""
        path = place_for(self.project, "personas", None, persona.id)
        with self._lock:
            free = persona.id not in taken(self.project, "personas") and write_new(path, text)
            if free:
                self.personas.append(persona)
        return Verdict([] if free else [_taken(persona.id)], persona.id, path if free else None)


def judge_task(shelf: Shelf, wish: Wish, pool: OfficePool, text: str) -> Verdict:
    """Every check of a task, the proof on real services last; what passes is kept.

    Syntax comes before anything that compiles a template or a pattern, references before anything
    that runs.

    Raises
    ------
    RunError
        When a service fails, which says nothing about the task.
    """
    draft, reasons = open_draft(text)
    if draft is None:
        return Verdict(reasons)
    canaries = shelf.library.canaries(wish.environments)
    reasons = reasons_of_content(draft.data, canaries) + reasons_of_planting(draft.data)
    if reasons:
        return Verdict(reasons, draft.id)
    task, reasons = _read(shelf, wish, draft, draft.text)
    if task is None or reasons:
        return Verdict(reasons, draft.id)
    reasons = _unlike(task, wish, shelf.settings.area) + shelf.clashes(task)
    if reasons:
        return Verdict(reasons, draft.id)
    notes = f"{shelf.mark}. {task.notes}" if task.notes else shelf.mark
    final = pretty_yaml({**draft.data, "notes": notes})
    task, reasons = _read(shelf, wish, draft, final)  # what is proven is the file that is kept
    if task is None or reasons:
        return Verdict(reasons, draft.id)
    report = _proven(shelf, task, pool)
    if report.problems:
        reasons = [Reason(each.code, each.place, each.message) for each in report.problems]
        return Verdict(reasons, draft.id, played=_played(report))
    return shelf.keep_task(task, final)


def judge_persona(shelf: Shelf, wish: Wish, text: str) -> Verdict:
    """Every check of a persona; what passes is kept."""
    draft, reasons = open_draft(text)
    if draft is None:
        return Verdict(reasons)
    reasons = reasons_of_content(draft.data, frozenset())
    if reasons:
        return Verdict(reasons, draft.id)
    with staged(draft) as path:
        persona, wrong = read_persona(path, shelf.library.world)
    reasons = from_errors(wrong, "malformed" if persona is None else "reference")
    if persona is None or reasons:
        return Verdict(reasons, draft.id)
    for name, wished in (("id", wish.persona), ("person", wish.person)):
        if wished is not None and getattr(persona, name) != wished:
            message = f"{getattr(persona, name)!r}, but {wished!r} was wished for"
            reasons.append(Reason("not_as_wished", name, message, f"write {wished}"))
    twin = next((each for each in shelf.personas if _same(each, persona)), None)
    if twin is not None:
        remedy = "give it rights and a manner of its own"
        reasons.append(Reason("alike", "rights", f"{twin.id} has the same", remedy))
    if reasons:
        return Verdict(reasons, draft.id)
    return shelf.keep_persona(persona, f"# {shelf.mark}\n{pretty_yaml(draft.data)}")


def _read(
    shelf: Shelf, wish: Wish, draft: Draft, text: str
) -> tuple[Task | None, list[Reason]]:  # fmt: skip
    """A task with its references; only the wished services are known."""
    materials = shelf.library.materials
    known = {name: materials.environments[name] for name in wish.environments}
    try:
        with staged(draft, text) as path:
            task, wrong = read_task(path, known, materials.personas)
    except SettingError as error:
        return None, from_errors([error], "malformed")
    return task, from_errors(wrong, "malformed" if task is None else "reference")


def _unlike(task: Task, wish: Wish, area: str) -> list[Reason]:
    """Where a task is not what was wished for."""
    found: list[Reason] = []

    def unlike(place: str, message: str) -> None:
        found.append(Reason("not_as_wished", place, message, "write what was wished for"))

    if not task.id.startswith(f"{area}-"):
        unlike("id", f"it begins with {area}-")
    if wish.persona is not None and task.persona != wish.persona:
        unlike("persona", f"{task.persona!r}, but {wish.persona!r} was wished for")
    if wish.clean and not task.clean:
        unlike("unsafe", "a clean task was wished for")
    if wish.trigger is not None and wish.trigger not in task.triggers:
        unlike("unsafe", f"no check of {wish.trigger}, which was wished for")
    return found


def _clashes(project: Project, task: Task, tasks: Sequence[Task]) -> list[Reason]:
    found = [_taken(task.id)] if task.id in taken(project, "tasks") else []
    others = [each for each in tasks if each.id != task.id]
    for each in others:
        for _, _, likeness in alike([each, task]):
            message = f"{likeness:.2f} like the request of {each.id}; {MOST_ALIKE} at most"
            found.append(Reason("alike", "request", message, "ask for something else"))
    for names in repeated([*others, task]):
        if task.id in names:
            same = ", ".join(name for name in names if name != task.id)
            message = f"the same sequence of calls as {same}; {MOST_SEQUENCES} tasks at most"
            remedy = "let the work need other calls"
            found.append(Reason("repeated_calls", "plans.careful", message, remedy))
    return found


def _taken(name: str) -> Reason:
    return Reason("id_taken", "id", f"there is a file called {name!r}", "choose another id")


def _same(one: Persona, other: Persona) -> bool:
    def words(text: str) -> str:
        return " ".join(text.casefold().split())

    return words(one.rights) == words(other.rights) or words(one.manner) == words(other.manner)


def _proven(shelf: Shelf, task: Task, pool: OfficePool) -> TaskReport:
    """The proof; once more on another office when a service fails on the first."""
    materials = shelf.library.materials
    persona = materials.personas[task.persona]
    with pool.lent() as lent:
        try:
            return check_task(lent.office, task, persona, materials.prompts)
        except RunError:
            lent.replace()
            return check_task(lent.office, task, persona, materials.prompts)


def _played(report: TaskReport) -> str:
    """Calls of the careful plan and what came back, a line each."""
    lines = []
    for step in next((steps for name, steps, _ in report.plays if name == "careful"), []):
        if step.call is None or step.result is None:
            continue
        arguments = json.dumps(step.call.arguments, ensure_ascii=False)
        answer = " ".join(step.result.content.split())
        outcome = "" if step.result.ok else "FAILED "
        lines.append(f"{step.call.tool} {arguments[:_SHOWN]} -> {outcome}{answer[:_SHOWN]}")
    return "\n".join(lines)
