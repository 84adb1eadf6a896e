"""`vepa collect`: episodes of the agent on real services."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vepa.cli.console import AsJson, Output, ProjectDir
from vepa.cli.findings import counted
from vepa.cli.offices import RuntimeChoice

if TYPE_CHECKING:
    from vepa.collect.collecting import Collected, Collection
    from vepa.collect.estimating import Estimate
    from vepa.collect.orders import Materials, Order
    from vepa.collect.runs.profile import CorpusProfile
    from vepa.collect.settings import CollectSettings
    from vepa.project import Project

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
    profile: Annotated[
        str | None,
        typer.Option(
            "--profile", metavar="NAME", help="Take the block `corpus` of a profile; options win."
        ),
    ] = None,
    runtime: Annotated[
        RuntimeChoice | None, typer.Option("--runtime", help="Plain processes, or containers.")
    ] = None,
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
    from vepa.project import Project
    from vepa.services.world import load_world

    out, place = Output(json), Project(project)
    base = _base(place, profile)
    given = {
        "models": model,
        "user": user,
        "seeds": seeds,
        "offices": offices,
        "tokens": tokens,
        "dollars": dollars,
    }
    settings = _settled(base.collect, {key: it for key, it in given.items() if it is not None})
    wanted, materials = assemble(place, tasks or base.tasks)
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
    way = runtime.value if runtime is not None else base.runtime
    result = _play(collection, orders, materials, settings, way, missing)
    _tell(out, collection, result, time.monotonic() - began)
    raise typer.Exit(0 if result.whole else 1)


def _base(place: Project, profile: str | None) -> CorpusProfile:
    """What a profile says about collecting; the defaults without one."""
    from vepa.bench.runs.profile import find_profile
    from vepa.collect.runs.profile import CorpusProfile, read_corpus
    from vepa.errors import SettingError, Where

    if profile is None:
        return CorpusProfile()
    found, wrong = read_corpus(find_profile(place, profile))
    if wrong:
        raise wrong[0]
    if found is None:
        raise SettingError(
            f"profile {profile!r} collects nothing",
            where=Where(field="--profile"),
            remedy="give it a block `corpus`, as flows/profiles/demo.yaml has",
        )
    return found


def _settled(base: CollectSettings, given: dict[str, Any]) -> CollectSettings:
    """The settings with what was given on the command line in their place."""
    from pydantic import ValidationError

    from vepa.collect.settings import CollectSettings
    from vepa.errors import SettingError, Where
    from vepa.policy.document import complaint

    try:
        return CollectSettings(
            **{
                **base.model_dump(exclude={"model_settings"}),
                **given,
                "model_settings": base.model_settings,
            }
        )
    except ValidationError as error:
        place, message = complaint(error)
        field = "--model" if place[:1] == ("models",) else f"--{place[0]}" if place else None
        raise SettingError(
            message, where=Where(field=field), remedy="`vepa collect --help` lists the options"
        ) from None


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
