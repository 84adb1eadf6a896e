"""From a collected and annotated corpus to its release."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from vepa.annotate.runs.plan import AnnotationPlan
from vepa.collect.releasing import release_corpus
from vepa.collect.runs.session import CorpusPlan
from vepa.files import canonical_json, sha256_of, write_atomic
from vepa.project import Project
from vepa.release.building import Released
from vepa.release.layout import MANIFEST, read_manifest

__all__ = ["POINTER", "release_planned", "released_now"]

#: In the folder of a corpus: which release was made of it, and from what.
POINTER = "release.json"


def release_planned(
    project: Project,
    corpus: CorpusPlan,
    annotation: AnnotationPlan,
    name: str | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> Released:
    """Release a corpus as it is annotated now, and note from what; one that stands is left.

    Parameters
    ----------
    project
        As in `vepa.collect.releasing.release_corpus`.
    corpus, annotation
        Collected and annotated.
    name
        Versions begin with it; the corpus' name when left out.
    tell
        Told what is being done.

    Raises
    ------
    InputError
        When it is not annotated, or holds a secret that is no canary.
    """
    name = name or corpus.name
    standing = released_now(corpus, annotation)
    if standing is not None and standing.manifest.name == name:
        return standing
    inputs = _inputs(corpus, annotation)
    made = release_corpus(project, corpus.folder, corpus.folder.parent, tell, name=name)
    pointer = {"inputs": inputs, "version": made.manifest.version}
    write_atomic(corpus.folder / POINTER, json.dumps(pointer, indent=1) + "\n")
    return made


def released_now(corpus: CorpusPlan, annotation: AnnotationPlan) -> Released | None:
    """The release of the corpus as it is now; None when there is none yet."""
    try:
        pointer: dict[str, Any] = json.loads((corpus.folder / POINTER).read_bytes())
        folder = corpus.folder.parent / str(pointer["version"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    if not (folder / MANIFEST).is_file() or pointer.get("inputs") != _inputs(corpus, annotation):
        return None
    return Released(folder, read_manifest(folder), made=False)


def _inputs(corpus: CorpusPlan, annotation: AnnotationPlan) -> str:
    """What a release depends on; what stands about the steps depends on people's verdicts too."""
    tasks = {task: [order.key for order in orders] for task, orders in corpus.orders.items()}
    settled = annotation.folder / "settled.jsonl"
    return sha256_of(
        canonical_json(
            {
                "annotation": annotation.inputs,
                "settled": sha256_of(settled.read_bytes()) if settled.is_file() else None,
                "orders": tasks,
            }
        )
    )
