"""`vepa tasks …`: what the collection agent is asked, and the proof that each task holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from vepa.cli.authoring import new_task
from vepa.cli.console import AsJson, Output, ProjectDir
from vepa.cli.findings import counted
from vepa.cli.offices import OfficeOption, environments_of

if TYPE_CHECKING:
    from pathlib import Path

    from vepa.collect.orders import Materials
    from vepa.collect.tasks import Task
    from vepa.collect.tasks.checking import TaskReport

__all__ = ["app"]

app = typer.Typer(
    help="List tasks, and prove that each does what it says.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.command("new")(new_task)

Patterns = Annotated[
    list[str] | None,
    typer.Argument(metavar="[TASK]...", help="Ids, or patterns such as 'finance-*'; all tasks."),
]


def _load(patterns: list[str] | None, project: Path | None) -> tuple[list[Task], Materials]:
    from vepa.collect.materials import assemble
    from vepa.project import Project

    return assemble(Project(project), patterns or ())


@app.command("list")
def list_tasks(
    patterns: Patterns = None,
    trigger: Annotated[
        str | None, typer.Option("--trigger", metavar="KEY", help="Only those with this trigger.")
    ] = None,
    env: Annotated[
        str | None, typer.Option("--env", metavar="NAME", help="Only those over this service.")
    ] = None,
    json: AsJson = False,
    project: ProjectDir = None,
) -> None:
    """List tasks: id, persona, services, triggers."""
    out = Output(json)
    tasks, _ = _load(patterns, project)
    if trigger is not None:
        tasks = [task for task in tasks if trigger in task.triggers]
    if env is not None:
        tasks = [task for task in tasks if env in task.environments]
    out.document(
        {
            "tasks": [
                {
                    "id": task.id,
                    "title": task.title,
                    "environments": task.environments,
                    "triggers": task.triggers,
                    "clean": task.clean,
                    "persona": task.persona,
                    "temperaments": list(task.plans),
                }
                for task in tasks
            ]
        }
    )
    rows = [
        (
            task.id,
            task.persona,
            ", ".join(task.environments),
            ", ".join(each.replace("_", " ") for each in task.triggers) or "clean",
        )
        for task in tasks
    ]
    out.table(("task", "persona", "services", "triggers"), rows)
    out.note(counted(len(tasks), "task"))


@app.command()
def check(
    patterns: Patterns = None,
    offices: Annotated[
        int, typer.Option("--offices", min=1, max=16, help="Offices to start and prove on.")
    ] = 1,
    sample: Annotated[
        int | None, typer.Option("--sample", min=1, help="Only so many, drawn at random.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Of the sample.")] = 0,
    trace: Annotated[
        bool, typer.Option("--trace", help="Show every call of every plan and its answer.")
    ] = False,
    office: OfficeOption = None,
    json: AsJson = False,
    project: ProjectDir = None,
) -> None:
    """Prove tasks on real services.

    The careful plan succeeds and trips nothing; each other plan trips what it says; success fails
    in an empty run and with any one mutating call left out; nothing unsafe holds on the seed.
    Exit 1 when a task does not hold.

    Offices are started for it; --office ID takes one that is up (it is reset).
    """
    import random
    from contextlib import ExitStack

    from vepa.cli.progress import Steps
    from vepa.collect.orders import environments_for
    from vepa.collect.tasks.balance import alike, repeated
    from vepa.collect.tasks.proving import prove
    from vepa.services import Office

    out = Output(json)
    tasks, materials = _load(patterns, project)
    if sample is not None and sample < len(tasks):
        tasks = random.Random(seed).sample(tasks, sample)
        out.note(f"a sample of {sample}, seed {seed}")
    reports: list[TaskReport] = []
    with ExitStack() as stack:
        steps = stack.enter_context(Steps(f"proving {counted(len(tasks), 'task')}"))
        if office is not None:
            where = [Office.attach(office)]
        else:
            where = [
                stack.enter_context(
                    Office.start(
                        environments_for(tasks, materials),
                        materials.world_file,
                        progress=steps,
                    )
                )
                for _ in range(min(offices, len(tasks)))
            ]
        for report in prove(where, tasks, materials.personas, materials.prompts):
            reports.append(report)
            state = "holds" if report.ok else counted(len(report.problems), "problem")
            steps(f"{report.task}: {state}, {report.episodes} episodes in {report.seconds:.1f} s")
    reports.sort(key=lambda report: report.task)
    twins = [
        f"{one} and {other}: requests are {likeness:.2f} alike"
        for one, other, likeness in alike(tasks)
    ]
    twins += [f"{', '.join(names)}: the same sequence of calls" for names in repeated(tasks)]
    failed = [report for report in reports if not report.ok]
    out.document(
        {
            "ok": not failed and not twins,
            "tasks": [_document(report) for report in reports],
            "alike": twins,
        }
    )
    if not json:
        _tell(out, reports, twins, trace)
    raise typer.Exit(1 if failed or twins else 0)


@app.command()
def vocabulary(
    env: Annotated[
        list[str] | None, typer.Option("--env", metavar="NAME", help="Only this environment.")
    ] = None,
    json: AsJson = False,
    project: ProjectDir = None,
) -> None:
    """What a task can use: assertions for checks, and ways to plant content."""
    out = Output(json)
    environments = environments_of(env, project)
    rows: list[tuple[str, str, str]] = []
    document: dict[str, Any] = {"assertions": {}, "plants": {}}
    for each in environments:
        for item in each.assertions:
            name = f"{each.name}.{item.name}"
            document["assertions"][name] = {
                "parameters": item.parameters,
                "description": item.description,
                "example": item.example,
            }
            rows.append((name, ", ".join(item.parameters), item.description))
        for way in each.plants:
            name = f"{each.name}.{way.name}"
            document["plants"][name] = {
                "parameters": way.parameters,
                "optional": way.optional,
                "description": way.description,
                "example": way.example,
            }
            named = [*way.parameters, *(f"[{extra}]" for extra in way.optional)]
            rows.append((f"{name} (plant)", ", ".join(named), way.description))
    out.document(document)
    out.table(("name", "takes", "what it says"), rows)
    out.note(f"{len(document['assertions'])} assertions, {len(document['plants'])} plants")


def _document(report: TaskReport) -> dict[str, Any]:
    return {
        "id": report.task,
        "ok": report.ok,
        "problems": [
            {"code": each.code, "place": each.place, "message": each.message}
            for each in report.problems
        ],
        "episodes": report.episodes,
        "calls": report.calls,
        "seconds": round(report.seconds, 2),
    }


def _tell(out: Output, reports: list[TaskReport], twins: list[str], trace: bool) -> None:
    for report in reports:
        if trace:
            _trace(out, report)
        for problem in report.problems:
            out.text(f"{report.task}: {problem.code}: {problem.place}: {problem.message}")
    for line in twins:
        out.text(line)
    good = sum(report.ok for report in reports)
    episodes = sum(report.episodes for report in reports)
    out.note(f"{good} of {counted(len(reports), 'task')} hold; {episodes} episodes played")


def _trace(out: Output, report: TaskReport) -> None:
    import json

    for name, steps, ending in report.plays:
        out.text(f"== {report.task}, {name}: {ending.reason} {ending.detail or ''}")
        for step in steps:
            if step.call is None:
                out.text(f"  {step.kind}: {step.text}")
                continue
            arguments = json.dumps(step.call.arguments, ensure_ascii=False)
            out.text(f"  {step.call.tool} {arguments}")
            if step.result is not None:
                out.text(f"    {'ok' if step.result.ok else 'FAILED'} {step.result.content[:1500]}")
