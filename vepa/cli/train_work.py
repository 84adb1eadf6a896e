"""The work behind `vepa train`: an estimate, or a training with its progress."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from vepa.cli.console import Output
from vepa.files import read_text
from vepa.llm.local import base_folder
from vepa.project import Project
from vepa.tuning.estimating import CPU, ModelShape, estimate
from vepa.tuning.manifest import read_data_manifest
from vepa.tuning.recipe import load_recipe
from vepa.tuning.training import train

if TYPE_CHECKING:  # pragma: no cover
    from vepa.tuning.training import Progress

__all__ = ["estimated", "trained"]

_GIGABYTE = 1e9


def estimated(out: Output, project: Path | None, name: str, data: Path) -> None:
    """Tell what a training would take; nothing is trained, and no hub is asked."""
    recipe = load_recipe(Project(project), name)
    found = read_data_manifest(data).figures["train"]
    file = Path(base_folder(recipe.base, out.note)) / "config.json"
    shape = ModelShape.from_config(json.loads(read_text(file)), str(file))
    tokens = found["tokens"]
    told = estimate(
        recipe,
        shape,
        examples=found["examples"],
        prompt_tokens=tokens["prompt"]["mean"],
        answer_tokens=tokens["completion"]["mean"],
        machine=None if recipe.device == "cuda" else CPU,  # nothing was measured on a GPU
    )
    out.document({"recipe": name, **asdict(told), "memory": told.memory})
    minutes = "time not known" if told.seconds is None else f"about {told.seconds / 60:.0f} minutes"
    out.text(
        f"{told.steps:,} steps, {told.tokens:,} tokens; {told.parameters:,} weights, "
        f"{told.trained:,} of them trained beside; about {told.memory / _GIGABYTE:.1f} GB; "
        f"{minutes}" + ("" if told.seconds is None else " on two cores")
    )


def trained(
    out: Output, project: Path | None, name: str, data: Path, folder: Path | None, *, resume: bool
) -> None:
    """Train, and tell how it goes."""
    place = Project(project)
    recipe = load_recipe(place, name)
    content = read_data_manifest(data).content_sha256[:12]
    target = folder or place.artifacts_path / "tuning" / "adapters" / f"{_stem(name)}-{content}"
    done = train(
        recipe, data, target, resume=resume, progress=lambda each: _tell(out, each), note=out.note
    )
    out.document({"folder": str(done.folder), "made": done.made, **done.metrics})
    figures = done.metrics
    out.text(
        f"{figures['steps']} steps, loss {figures['loss']:.4f}, in validation "
        + (
            "not looked at"
            if figures["validation_loss"] is None
            else f"{figures['validation_loss']:.4f}"
        )
        + f"; {figures['cpu_seconds']:.0f} s of processor; stopped: {figures['stopped']}"
    )
    out.note(f"{'made' if done.made else 'stands already'}: {done.folder}")


def _tell(out: Output, progress: Progress) -> None:
    valid = "" if progress.validation is None else f", validation {progress.validation:.4f}"
    out.note(
        f"step {progress.step} of {progress.steps}: loss {progress.loss:.4f}{valid}, "
        f"{progress.tokens_per_second:.0f} tokens/s, {progress.cpu_seconds:.0f} s of processor"
    )


def _stem(name: str) -> str:
    return Path(name).stem
