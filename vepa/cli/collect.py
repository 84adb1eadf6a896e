"""`vepa collect`: episodes of the agent on real services."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vepa.cli.console import AsJson, Output, ProjectDir
from vepa.cli.findings import counted
from vepa.cli.offices import RuntimeChoice, RuntimeOption

if TYPE_CHECKING:
    from vepa.collect.collecting import Collected, Collection
    from vepa.collect.estimating import Estimate
    from vepa.collect.orders import Materials, Order
    from vepa.collect.settings import CollectSettings

__all__ = ["collect"]


def collect(
    tasks: Annotated[
        list[str] | None,
        typer.Option("--tasks", metavar="GLOB", help="Tasks by id or pattern; may be repeated."),
    ] = None,
    model: Annotated[
        list[str] | None,
        typer.Option(
            "--model",
            metavar="NAME",
            help="Agent: scripted, scripted/careful, or any model; may be repeated.",
        ),
    ] = None,
    user: Annotated[
        str, typer.Option("--user", metavar="NAME", help="Who plays the user.")
    ] = "scripted/user",
    offices: Annotated[int, typer.Option("--offices", min=1, max=64, help="Side by side.")] = 2,
    seeds: Annotated[int, typer.Option("--seeds", min=1, help="Episodes of a task and model.")] = 1,
    tokens: Annotated[
        int | None, typer.Option("--tokens", min=0, help="Budget of tokens for the whole run.")
    ] = None,
    dollars: Annotated[
        float | None, typer.Option("--dollars", min=0, help="Budget of US dollars.")
    ] = None,
    out_folder: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Folder of episodes; artifacts/episodes."),
    ] = None,
    runtime: RuntimeOption = RuntimeChoice.process,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be played and what it costs.")
    ] = False,
    json: AsJson = False,
    project: ProjectDir = None,
) -> None:
    """Play tasks on real services and keep what happened.

    One episode a task, model and seed. What is there already is not played again; a run that was
    interrupted goes on where it stopped, and pays for nothing twice. Exit 1 when an episode is
    missing in the end.
    """
    from vepa.collect.collecting import Collection
    from vepa.collect.estimating import estimate_orders
    from vepa.collect.materials import assemble
    from vepa.collect.orders import orders_of
    from vepa.collect.settings import CollectSettings
    from vepa.project import Project
    from vepa.services.world import load_world

    out, place = Output(json), Project(project)
    settings = CollectSettings(
        models=model or ["scripted"],
        user=user,
        seeds=seeds,
        offices=offices,
        tokens=tokens,
        dollars=dollars,
    )
    wanted, materials = assemble(place, tasks or ())
    orders = orders_of(wanted, settings, materials)
    collection = Collection(out_folder or place.artifacts_path / "episodes")
    missing = collection.missing(orders)
    costs = estimate_orders(missing, materials, settings, load_world(materials.world_file))
    _announce(out, len(orders), costs)
    if dry_run:
        out.document(
            {
                "episodes": len(orders),
                "kept": len(orders) - len(missing),
                "to_play": [_cost(each) for each in costs],
            }
        )
        return
    began = time.monotonic()
    result = _play(collection, orders, materials, settings, runtime.value, missing)
    _tell(out, collection, result, time.monotonic() - began)
    raise typer.Exit(0 if result.whole else 1)


def _announce(out: Output, total: int, costs: list[Estimate]) -> None:
    left = sum(each.episodes for each in costs)
    out.note(f"{counted(total, 'episode')}, {left} to play")
    paid = [each for each in costs if each.prompt]
    for each in paid:
        price = "price not known" if each.dollars is None else f"about {each.dollars:.2f} USD"
        out.note(
            f"{each.model}: {each.episodes} episodes of about {each.turns} turns, "
            f"{each.prompt:,} tokens to read, {each.completion:,} to write, {price}"
        )


def _cost(each: Estimate) -> dict[str, Any]:
    return {
        "model": each.model,
        "episodes": each.episodes,
        "turns": each.turns,
        "prompt_tokens": each.prompt,
        "completion_tokens": each.completion,
        "dollars": each.dollars,
    }


def _play(
    collection: Collection,
    orders: list[Order],
    materials: Materials,
    settings: CollectSettings,
    runtime: Any,
    missing: list[Order],
) -> Collected:
    from vepa.cli.progress import Count, Steps
    from vepa.collect.orders import environments_for
    from vepa.collect.pool import OfficePool

    with Steps("offices") as steps:
        pool = OfficePool(
            environments_for((order.task for order in missing), materials),
            materials.world_file,
            settings.offices,
            runtime=runtime,
            progress=steps,
        )
    with pool, Count("episodes", len(orders)) as count:
        return collection.collect(
            orders,
            materials,
            settings,
            pool,
            lambda order, episode, kept: count(f"{order.id}: {episode.ending.reason}", quiet=kept),
        )


def _tell(out: Output, collection: Collection, result: Collected, seconds: float) -> None:
    out.document(
        {
            "folder": str(collection.folder),
            "played": result.played,
            "kept": result.kept,
            "failed": [{"episode": each.order, "reason": each.reason} for each in result.failures],
            "stopped": result.stopped,
            "endings": dict(result.endings),
            "seconds": round(seconds, 1),
        }
    )
    for each in result.failures:
        out.note(f"{each.order}: {each.reason}")
    if result.stopped:
        out.note(f"stopped: {result.stopped}; the same command goes on from here")
    ended = ", ".join(f"{count} by {reason}" for reason, count in result.endings.most_common())
    out.note(
        f"{result.played} played, {result.kept} were there, {len(result.failures)} failed"
        f"{'; ended ' + ended if ended else ''}; {seconds:.0f} s"
    )
    out.note(f"episodes: {collection.folder}/episodes; look at one with `vepa show EPISODE`")
