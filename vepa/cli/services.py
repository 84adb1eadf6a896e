"""`vepa services …`: the office of real services, from installing to taking down."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated

import typer

from vepa.cli import services_checks
from vepa.cli.console import AsJson, Output, ProjectDir
from vepa.cli.findings import counted
from vepa.cli.offices import (
    NamesArgument,
    OfficeOption,
    RuntimeChoice,
    RuntimeOption,
    address,
    environments_of,
    known_services,
    memory,
    one_or_all,
    world_of,
)
from vepa.cli.progress import Steps

if TYPE_CHECKING:
    from vepa.services.overview import OfficeView, ServiceView

__all__ = ["app"]

app = typer.Typer(
    help="Install, start, reset, check and stop the real services that agents work with.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.command()
def install(
    names: NamesArgument = None,
    runtime: RuntimeOption = RuntimeChoice.process,
    json: AsJson = False,
    project: ProjectDir = None,
) -> None:
    """Install the services' software: a Python environment of their own, or images."""
    from vepa.services.software import install_software

    environments = environments_of(names, project)
    out, began = Output(json), time.monotonic()
    with Steps("installing", tuple(each.name for each in environments)) as tell:
        places = install_software(environments, runtime.value, tell)
    seconds = round(time.monotonic() - began, 1)
    out.document(
        {
            "runtime": runtime.value,
            "environments": [each.name for each in environments],
            "places": [{"where": each.where, "mib": round(each.mib)} for each in places],
            "seconds": seconds,
        }
    )
    for place in places:
        out.text(f"installed: {place.where}, {place.mib:,.0f} MiB")
    if not places:
        out.text("nothing to install: these environments need no packages")
    flag = "" if runtime is RuntimeChoice.process else f" --runtime {runtime.value}"
    out.note(f"done in {seconds} s; next: vepa services up{flag}")


@app.command()
def up(
    names: NamesArgument = None,
    runtime: RuntimeOption = RuntimeChoice.process,
    office: Annotated[
        str | None,
        typer.Option("--office", metavar="ID", help="Its name; one is made up when left out."),
    ] = None,
    json: AsJson = False,
    project: ProjectDir = None,
) -> None:
    """Start an office, seeded; it stays until `vepa services down`."""
    from vepa.services import Office
    from vepa.services.overview import service_views

    environments, world = environments_of(names, project), world_of(project)
    out, began = Output(json), time.monotonic()
    with Steps("starting", tuple(each.name for each in environments)) as tell:
        started = Office.start(
            environments,
            world,
            runtime=runtime.value,
            office_id=office,
            detached=True,
            progress=tell,
        )
    seconds = round(time.monotonic() - began, 2)
    services = service_views(started)
    out.document(
        {
            "office": started.id,
            "runtime": runtime.value,
            "services": [
                {
                    "name": each.name,
                    "host": each.host,
                    "ports": each.ports,
                    "seconds": round(started.seconds[each.name], 2),
                    "memory_mib": each.memory_mib,
                }
                for each in services
            ],
            "seconds": seconds,
        }
    )
    rows = [
        (each.name, address(each), f"{started.seconds[each.name]:.1f}", memory(each))
        for each in services
    ]
    out.table(
        ("service", "address", "seconds", "MiB"),
        rows,
        title=f"office {started.id}",
        right=("seconds", "MiB"),
    )
    total = sum(each.memory_mib or 0 for each in services)
    out.note(f"{counted(len(services), 'service')} up after {seconds:.1f} s, {total:.0f} MiB")
    only = "".join(f" --env {each.name}" for each in environments) if names else ""
    out.note(
        f"next: vepa tools list{only}; vepa tools call NAME --args JSON --office {started.id}; "
        f"vepa services down --office {started.id}"
    )


@app.command()
def down(
    office: OfficeOption = None,
    every: Annotated[bool, typer.Option("--all", help="All offices.")] = False,
    json: AsJson = False,
    _project: ProjectDir = None,
) -> None:
    """Stop an office and all its services; also sweeps what a crash left."""
    from vepa.services import clean_up
    from vepa.services.overview import take_down
    from vepa.services.places import places
    from vepa.services.records import offices

    one_or_all(office, every)
    out = Output(json)
    swept = clean_up()
    wanted: list[str | None] = [office]
    if every:
        wanted = [record.id for record in offices(places())]
    gone = [take_down(each) for each in wanted]
    out.document({"down": gone, "swept": swept})
    for item in swept:
        out.note(f"swept: {item}")
    for name in gone:
        out.text(f"down: office {name}")
    if not gone:
        out.text("no office is up")


@app.command()
def status(
    office: OfficeOption = None,
    json: AsJson = False,
    _project: ProjectDir = None,
) -> None:
    """Show all offices, or one: states, ports, memory, what was written to.

    Exit 1 when a service has failed.
    """
    from dataclasses import asdict

    from vepa.services.overview import look

    found, out = look(office), Output(json)
    out.document(
        {
            "offices": [
                {
                    "office": view.id,
                    "runtime": view.runtime,
                    "problem": view.problem or None,
                    "services": [asdict(each) for each in view.services],
                }
                for view in found
            ]
        }
    )
    for view in found:
        _show(out, view)
    if not found:
        out.text("no office is up; next: vepa services up")
    raise typer.Exit(0 if all(view.healthy for view in found) else 1)


def _show(out: Output, view: OfficeView) -> None:
    if view.problem:
        out.note(f"office {view.id}: {view.problem}\n  vepa services down --office {view.id}")
        return
    rows = [
        (each.name, each.state, address(each), memory(each), _seed(each)) for each in view.services
    ]
    title = f"office {view.id} ({view.runtime})"
    out.table(("service", "state", "address", "MiB", "seed"), rows, title=title, right=("MiB",))
    for each in view.services:
        if each.reason:
            out.note(f"{each.name} failed: {each.reason}")


def _seed(service: ServiceView) -> str:
    """What is on record of a service and its seed."""
    if service.state != "running":
        return "not running"
    return "written to" if service.written else "at its seed"


@app.command()
def reset(
    names: NamesArgument = None,
    office: OfficeOption = None,
    every: Annotated[
        bool, typer.Option("--all", help="Also services that were not written to.")
    ] = False,
    json: AsJson = False,
    _project: ProjectDir = None,
) -> None:
    """Bring services back to their seed: those that were written to, or all.

    A random tenth of the others is compared with its seed; what differs is reset too.
    """
    from vepa.errors import InputError, RunError
    from vepa.services import Office

    running, out = Office.attach(office), Output(json)
    wanted = known_services(running, names) if names else None
    try:
        report = running.reset(wanted, everything=every)
    except InputError:
        raise
    except RunError as error:  # such as a launcher that was killed: nothing can restart it
        again = " ".join(sorted(running.environments))
        raise RunError(
            f"office {running.id!r} cannot be brought back to its seed: {error}\n"
            f"  remedy: vepa services down --office {running.id}, then "
            f"vepa services up {again} --office {running.id}"
        ) from None
    out.document(
        {
            "office": running.id,
            "reset": list(report.reset),
            "checked": list(report.checked),
            "unexpected": list(report.unexpected),
            "seconds": {name: round(spent, 3) for name, spent in report.seconds.items()},
            "total": round(report.total, 3),
        }
    )
    for name in report.reset:
        why = " (differed though no write is on record)" if name in report.unexpected else ""
        out.text(f"reset: {name} in {report.seconds[name]:.2f} s{why}")
    for name in report.checked:
        if name not in report.unexpected:
            out.text(f"compared: {name} is at its seed")
    out.note(f"{counted(len(report.reset), 'service')} reset in {report.total:.2f} s")


app.command("logs")(services_checks.logs)
app.command("test")(services_checks.test)
app.command("compose")(services_checks.compose)
