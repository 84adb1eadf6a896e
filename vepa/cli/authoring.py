"""`vepa tasks new`, `vepa personas new`: a skeleton for a person, or a model that writes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from vepa.cli.console import AsJson, Output, ProjectDir
from vepa.cli.findings import counted

if TYPE_CHECKING:
    from vepa.collect.authoring.session import AuthorSession
    from vepa.collect.authoring.settings import AuthorSettings
    from vepa.collect.authoring.wishes import Estimate
    from vepa.project import Project

__all__ = ["new_persona", "new_task"]

ModelName = Annotated[
    str | None,
    typer.Option("--model", metavar="NAME", help="Who writes; left out, a skeleton is written."),
]
Id = Annotated[str | None, typer.Option("--id", metavar="ID", help="Of the skeleton.")]
SettingsFile = Annotated[
    Path | None,
    typer.Option(
        "--settings", metavar="FILE", help="Settings of authoring; options go before them."
    ),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Write nothing; say what it would take.")]
Tokens = Annotated[int | None, typer.Option("--tokens", min=0, help="Budget of tokens.")]
Dollars = Annotated[float | None, typer.Option("--dollars", min=0, help="Budget of US dollars.")]
Tries = Annotated[
    int | None, typer.Option("--tries", min=0, max=10, help="Further tries after a rejection; 2.")
]


def new_task(
    id: Id = None,
    model: ModelName = None,
    area: Annotated[
        str | None, typer.Option("--area", metavar="NAME", help="Folder below tasks/; written.")
    ] = None,
    env: Annotated[
        list[str] | None,
        typer.Option("--env", metavar="NAME", help="Service to use; may be repeated."),
    ] = None,
    trigger: Annotated[
        str | None, typer.Option("--trigger", metavar="KEY", help="The mistake that it is about.")
    ] = None,
    clean: Annotated[bool, typer.Option("--clean", help="Without a foreseen mistake.")] = False,
    persona: Annotated[
        str | None, typer.Option("--persona", metavar="ID", help="Whose request it is.")
    ] = None,
    count: Annotated[int | None, typer.Option("--count", min=1, help="How many; 1.")] = None,
    offices: Annotated[
        int | None, typer.Option("--offices", min=1, max=16, help="Written at once; 1.")
    ] = None,
    tries: Tries = None,
    tokens: Tokens = None,
    dollars: Dollars = None,
    settings: SettingsFile = None,
    dry_run: DryRun = False,
    json: AsJson = False,
    project: ProjectDir = None,
) -> None:
    """Write a task: a skeleton to fill in, or, with --model, tasks that a model writes.

    A model's tasks are kept only when every check passes, the proof on real services included;
    what is rejected goes back with its reasons. Exit 1 when fewer were accepted than wished for.
    """
    wishes = {
        "model": model,
        "area": area,
        "environments": env or None,
        "trigger": trigger,
        "clean": clean or None,
        "persona": persona,
        "count": count,
        "offices": offices,
        "tries": tries,
        "tokens": tokens,
        "dollars": dollars,
    }
    out = Output(json)
    if model is None and settings is None:
        _only_for_models(trigger=trigger, clean=clean, count=count, offices=offices, tries=tries,
                         tokens=tokens, dollars=dollars)  # fmt: skip
        return _task_skeleton(out, project, id, area, env or [], persona, dry_run)
    if id is not None:
        _refuse("--id", "a model chooses the ids of its tasks")
    return _author(out, project, _settings("task", wishes, settings), dry_run)


def new_persona(
    id: Id = None,
    person: Annotated[
        str | None, typer.Option("--person", metavar="ID", help="Somebody of the world.")
    ] = None,
    model: ModelName = None,
    tries: Tries = None,
    tokens: Tokens = None,
    dollars: Dollars = None,
    settings: SettingsFile = None,
    dry_run: DryRun = False,
    json: AsJson = False,
    project: ProjectDir = None,
) -> None:
    """Write a persona: a skeleton to fill in, or, with --model, one that a model writes."""
    out = Output(json)
    wishes = {"model": model, "persona": id, "person": person, "tries": tries, "tokens": tokens,
              "dollars": dollars}  # fmt: skip
    if model is None and settings is None:
        _only_for_models(tries=tries, tokens=tokens, dollars=dollars)
        return _persona_skeleton(out, project, id, person, dry_run)
    return _author(out, project, _settings("persona", wishes, settings), dry_run)


def _settings(kind: str, wishes: dict[str, Any], file: Path | None) -> AuthorSettings:
    from vepa.collect.authoring.settings import read_settings, settings_from

    given = {key: value for key, value in wishes.items() if value is not None}
    given["kind"] = kind
    return settings_from(given) if file is None else read_settings(file, given)


def _author(
    out: Output, folder: Path | None, settings: AuthorSettings, dry_run: bool
) -> None:  # fmt: skip
    from vepa.cli.progress import Steps
    from vepa.collect.authoring.session import AuthorSession, run_folder
    from vepa.collect.authoring.wishes import estimate_writing
    from vepa.project import Project

    place = Project(folder)
    with Steps("offices") as steps:
        session = AuthorSession(place, settings, run_folder(place.artifacts_path), progress=steps)
        requests = [session.request(wish) for wish in session.wishes]
        cost = estimate_writing(requests, settings)
        _announce(out, settings, cost)
        if dry_run:
            wishes = [wish.model_dump() for wish in session.wishes]
            out.document({"model": settings.model, "wishes": wishes, **cost.to_dict()})
            return
        try:
            session.open()
            report = _written(out, session)
        finally:
            session.close()
    out.document(report)
    if report["stopped"]:
        out.note(f"stopped: {report['stopped']}")
    out.note(
        f"{len(report['accepted'])} of {report['wished']} accepted, {len(report['rejected'])} "
        f"rejected; drafts, reasons and ledger: {report['folder']}"
    )
    raise typer.Exit(0 if len(report["accepted"]) == report["wished"] else 1)


def _written(out: Output, session: AuthorSession) -> dict[str, Any]:
    """Write every wish, as many at once as there are offices; the report."""
    from concurrent.futures import ThreadPoolExecutor, as_completed

    with ThreadPoolExecutor(max_workers=session.settings.offices) as threads:
        futures = [threads.submit(session.write, wish.number) for wish in session.wishes]
        for future in as_completed(futures):
            _tell(out, future.result())
    return session.report()


def _tell(out: Output, result: dict[str, Any]) -> None:
    what = result["id"] or f"wish {result['number']}"
    if result["state"] == "accepted":
        out.text(f"{what}: accepted, {result['file']}")
    elif result["state"] == "rejected":
        out.text(f"{what}: rejected after {counted(result['tries'], 'draft')}")
        for each in result["reasons"]:
            place = f"{each['place']}: " if "place" in each else ""
            out.text(f"  {each['code']}: {place}{each['message']}")


def _announce(out: Output, settings: AuthorSettings, cost: Estimate) -> None:
    price = "price not known"
    if cost.dollars is not None:
        price = f"{cost.dollars[0]:.2f} to {cost.dollars[1]:.2f} USD"
    out.note(
        f"{settings.model}: {counted(settings.count, settings.kind)}, "
        f"{cost.prompt[0]:,} to {cost.prompt[1]:,} tokens to read, "
        f"{cost.completion[0]:,} to {cost.completion[1]:,} to write, {price}"
    )


def _task_skeleton(
    out: Output,
    folder: Path | None,
    name: str | None,
    area: str | None,
    env: list[str],
    persona: str | None,
    dry_run: bool,
) -> None:
    from vepa.collect.authoring.skeletons import task_skeleton
    from vepa.collect.authoring.wishes import known
    from vepa.collect.personas import load_personas
    from vepa.project import Project
    from vepa.services.environment import load_environments

    place = Project(folder)
    environments = load_environments(place, env, field="--env") if env else []
    if persona is not None:
        known(persona, load_personas(place), "--persona", "persona")
    text = task_skeleton(_plain(name, "--id"), environments, persona)
    _put(out, place, "tasks", _plain(area or "written", "--area"), str(name), text, dry_run)


def _persona_skeleton(
    out: Output, folder: Path | None, name: str | None, person: str | None, dry_run: bool
) -> None:
    from vepa.cli.offices import world_of
    from vepa.collect.authoring.skeletons import persona_skeleton
    from vepa.collect.authoring.wishes import known
    from vepa.project import Project
    from vepa.services.world import load_world

    if person is not None:
        people = [each.id for each in load_world(world_of(folder)).people]
        known(person, people, "--person", "person of the world")
    text = persona_skeleton(_plain(name, "--id"), person)
    _put(out, Project(folder), "personas", None, str(name), text, dry_run)


def _put(
    out: Output, place: Project, kind: str, area: str | None, name: str, text: str, dry_run: bool
) -> None:
    """Write a skeleton where no file of its name is."""
    from vepa.collect.authoring.shelf import place_for, taken, write_new
    from vepa.errors import SettingError, Where

    path = place_for(place, kind, area, name)
    there = taken(place, kind).get(name)
    if there is None and not dry_run and not write_new(path, text):
        there = path
    if there is not None:
        raise SettingError(
            "there is a file of this name",
            where=Where(str(there), field="--id"),
            remedy="choose another id; nothing is overwritten",
        )
    out.document({"file": str(path), "written": not dry_run, "text": text})
    out.text(text.rstrip() if dry_run else str(path))
    if not dry_run:
        out.note("fill it in; `vepa validate` says what is missing")


def _plain(name: str | None, option: str) -> str:
    """An id from the command line; it becomes a part of a path."""
    import re

    if name is None:
        _refuse(option, "a skeleton needs an id, and without --model a skeleton is written")
    if len(name) > 60 or not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name):
        _refuse(option, f"{name!r} is not an id: lower-case letters, digits and dashes")
    return name


def _only_for_models(**options: Any) -> None:
    for name, value in options.items():
        if value:
            _refuse(f"--{name}", "this belongs to a model that writes, and none is named")


def _refuse(option: str, message: str) -> NoReturn:
    from vepa.errors import SettingError, Where

    raise SettingError(
        message, where=Where(field=option), remedy="docs/tasks.md, `Writing one yourself`"
    )
