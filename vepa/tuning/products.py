"""What a training leaves: adapter, tokenizer, recipe, figures and a card, in one folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from vepa import __version__
from vepa.errors import InputError, Where
from vepa.files import read_text, write_atomic
from vepa.tuning.manifest import DataManifest

if TYPE_CHECKING:  # pragma: no cover
    from vepa.tuning.learner import Learner
    from vepa.tuning.recipe import Recipe

__all__ = ["CARD", "DATA", "METRICS", "RECIPE", "read_metrics", "write_products"]

#: Written last: a folder without it is not whole.
METRICS = "metrics.json"
#: The recipe, every value of it spelled out.
RECIPE = "recipe.yaml"
#: The manifest of the data.
DATA = "data.json"
CARD = "README.md"

_CARD = """\
---
library_name: peft
pipeline_tag: text-generation
---
# {kind} ({base})

{what}

A LoRA adapter for `{base}`, trained by VEPA {version}.

```python
from peft import PeftModel
from transformers import AutoModelForCausalLM, AutoTokenizer

{loading}
folder = "."  # this folder
model = PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained(base), folder)
tokenizer = AutoTokenizer.from_pretrained(folder)
```

Its prompt and the lines that it answers are those of `{data}` in `vepa train data`; free generation
may answer values that no schema knows, so VEPA scores only those of the schema.

| | |
|---|---|
| Recipe | `{recipe}` |
| Data | `{content}` ({examples} examples, made of: {sources}) |
| Steps | {steps} of {planned}; stopped since: {stopped} |
| Loss | {loss:.4f} in the last step; in validation {validation} |
| Read | {tokens} tokens, {speed} a second |
| Time | {cpu:.0f} s of processor, {wall:.0f} s by the clock |

## Limits
It was trained on traces that were shortened to {trace_tokens} tokens, with the event schema
`{schema}`. It is one reader of traces among others: what it says of a trace is no proof.
"""
_WHAT = {
    "parser": "Reads a trace of an agent and answers its event: one value a field.",
    "judge": "Reads a trace of an agent and answers a verdict and its triggers.",
}


def read_metrics(folder: Path) -> dict[str, Any] | None:
    """The figures of a training that is done; None where a folder holds none.

    Raises
    ------
    InputError
        When the file is malformed.
    """
    path = folder / METRICS
    if not path.is_file():
        return None
    try:
        found = json.loads(read_text(path))
        return {**found, "of": found["of"]}
    except (ValueError, TypeError, KeyError) as error:
        raise InputError(
            f"these are no figures of a training: {error}",
            where=Where(str(path)),
            remedy="remove the folder, and train again",
        ) from None


def write_products(
    folder: Path,
    learner: Learner,
    recipe: Recipe,
    manifest: DataManifest,
    metrics: dict[str, Any],
) -> None:
    """Write everything; the figures last.

    Parameters
    ----------
    folder
        Gets peft's and transformers' own files, `recipe.yaml`, `data.json` (the manifest of the
        data), `README.md` and `metrics.json`.
    learner
        Holds the adapter that is kept.
    recipe, manifest
        What it was made by, and of.
    metrics
        Loss of every step and of every validation, tokens, seconds.
    """
    learner.save(folder)
    how = yaml.safe_dump(recipe.model_dump(mode="json"), sort_keys=False, allow_unicode=True)
    write_atomic(folder / RECIPE, how)
    data = json.dumps(manifest.model_dump(mode="json"), indent=1)
    write_atomic(folder / DATA, f"{data}\n")
    write_atomic(folder / CARD, _card(recipe, manifest, metrics))
    write_atomic(folder / METRICS, json.dumps(metrics, indent=1, allow_nan=False) + "\n")


def _card(recipe: Recipe, manifest: DataManifest, metrics: dict[str, Any]) -> str:
    loading = f'base = "{recipe.base}"'
    if recipe.base.startswith("package:"):
        loading = (
            "# Converts the packaged model once; any folder of the same model does as well.\n"
            f'from vepa.llm.local import base_folder\n\nbase = base_folder("{recipe.base}")'
        )
    valid = metrics["validation_loss"]
    return _CARD.format(
        kind=manifest.kind,
        base=recipe.base,
        what=_WHAT[manifest.kind],
        version=__version__,
        loading=loading,
        data=manifest.kind,
        recipe=RECIPE,
        content=manifest.content_sha256,
        examples=manifest.figures["train"]["examples"],
        sources=", ".join(manifest.sources),
        steps=metrics["steps"],
        planned=metrics["planned"],
        stopped=metrics["stopped"],
        loss=metrics["loss"],
        validation="none" if valid is None else f"{valid:.4f} (step {metrics['best_step']})",
        tokens=metrics["tokens"],
        speed=metrics["tokens_per_second"],
        cpu=metrics["cpu_seconds"],
        wall=metrics["wall_seconds"],
        trace_tokens=manifest.trace_tokens,
        schema=manifest.schema_sha256[:12],
    )
