"""Training an adapter: a small loop that goes on after it was killed as if it had not been.

The loop is its own, and not that of transformers: a checkpoint holds all that the next step
depends on (weights, optimizer, random numbers, place in a balanced order, best adapter so far) in
one file that is replaced as a whole, processor time is limited over all starts together, and no
logits are computed where nothing is learned.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vepa.errors import SettingError, Where
from vepa.files import canonical_json, sha256_of
from vepa.tuning.checkpoints import CHECKPOINT, read_checkpoint
from vepa.tuning.examples import stream_examples
from vepa.tuning.learner import Learner
from vepa.tuning.loop import Progress, Run
from vepa.tuning.manifest import DataManifest, read_data_manifest, split_file
from vepa.tuning.products import read_metrics, write_products

if TYPE_CHECKING:  # pragma: no cover
    from vepa.tuning.recipe import Recipe

__all__ = ["Progress", "Trained", "train"]


@dataclass(frozen=True, kw_only=True)
class Trained:
    """What came of a training.

    Attributes
    ----------
    folder
        Adapter, tokenizer, recipe, manifest of the data, figures and card.
    metrics
        What `metrics.json` says; see `write_products`.
    made
        Whether it is new; a training that is done is left as it is.
    """

    folder: Path
    metrics: dict[str, Any]
    made: bool


def train(
    recipe: Recipe,
    data: str | Path,
    out: str | Path,
    *,
    resume: bool = False,
    progress: Callable[[Progress], None] | None = None,
    note: Callable[[str], None] | None = None,
) -> Trained:
    """Train an adapter.

    Parameters
    ----------
    recipe
        How.
    data
        A folder that `vepa train data` made.
    out
        Everything goes in here; it is whole once it holds a `metrics.json`.
    resume
        Go on from the checkpoint in `out`, where there is one.
    progress
        Told after every step.
    note
        Told what takes long, such as a conversion of the base.

    Raises
    ------
    InputError
        When the data is not whole, or the checkpoint is none.
    SettingError
        When the data was made for another length; when `out` holds a training and `resume` is not
        set, or holds another training; when base, device or targets are not there.
    MissingExtraError
        When a package of the extra `train` is missing.
    RunError
        When the loss is no number any more; the checkpoint before it is kept.
    """
    folder = Path(out)
    manifest = read_data_manifest(data)
    if manifest.trace_tokens != recipe.trace_tokens:
        raise SettingError(
            f"the data was shortened to {manifest.trace_tokens} tokens, and the recipe says "
            f"{recipe.trace_tokens}",
            where=Where(str(data), field="trace_tokens"),
            remedy=f"vepa train data --trace-tokens {recipe.trace_tokens}, or change the recipe",
        )
    of = _fingerprint(recipe, manifest)
    if (done := read_metrics(folder)) is not None and resume:
        if done["of"] != of:
            raise _taken(folder, "holds a training by another recipe or of other data")
        return Trained(folder=folder, metrics=done, made=False)
    if not resume and (done is not None or (folder / CHECKPOINT).is_file()):
        raise _taken(folder, "holds a training already")
    examples = list(stream_examples(Path(data) / split_file("train")))
    held = list(stream_examples(Path(data) / split_file("validation")))
    learner = Learner(recipe, note)
    kept = read_checkpoint(folder, of)
    folder.mkdir(parents=True, exist_ok=True)
    run = Run(recipe, learner, examples, held, folder, kept, of)
    stopped = run.to_the_end(progress or (lambda _: None))
    metrics = run.metrics(stopped, manifest)
    write_products(folder, learner, recipe, manifest, metrics)
    (folder / CHECKPOINT).unlink(missing_ok=True)
    return Trained(folder=folder, metrics=metrics, made=True)


def _taken(folder: Path, why: str) -> SettingError:
    return SettingError(
        f"this folder {why}",
        where=Where(str(folder)),
        remedy="go on with --resume, name another folder with --out, or remove this one",
    )


def _fingerprint(recipe: Recipe, manifest: DataManifest) -> str:
    """What a training is of: on which machine and for how long at most does not count."""
    how = recipe.model_dump(mode="json", exclude={"title", "device", "limits"})
    return sha256_of(canonical_json({"recipe": how, "data": manifest.content_sha256}))
