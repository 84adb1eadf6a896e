"""Building training data: cases, splits, shortened traces, files named by what is in them."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp

from vepa import __version__
from vepa.corpus.taxonomy import Taxonomy
from vepa.errors import InputError, SettingError, Where
from vepa.files import canonical_json, sha256_of, write_atomic
from vepa.parsing.lora import (
    Kind,
    Tokenizer,
    answer_of,
    event_answer,
    prompt_of,
    shorten,
    verdict_answer,
)
from vepa.policy.schema import Schema
from vepa.release.layout import read_manifest
from vepa.release.records import SPLITS, Split
from vepa.tuning.balancing import stratum_of
from vepa.tuning.examples import Example, Turn
from vepa.tuning.manifest import MANIFEST, DataManifest, split_file
from vepa.tuning.sources import Case, benchmark_cases, is_release, release_cases
from vepa.tuning.splitting import divide
from vepa.tuning.statistics import statistics_of

__all__ = ["Built", "Request", "build"]


@dataclass(frozen=True, kw_only=True)
class Request:
    """What data is made of what.

    Attributes
    ----------
    kind
        Which adapter learns from it.
    sources
        Folders of releases, or traces in any format that `vepa import` reads.
    events
        Typed events of the traces; a release has its own.
    tokenizer, trace_tokens
        Of the model that learns; traces are shortened to so many tokens of it.
    schema, taxonomy
        Of events and of triggers.
    evaluation_only
        Formats whose traces may only be scored on; `data/benchmarks.yaml` says which.
    """

    kind: Kind
    sources: Sequence[str]
    events: Sequence[str]
    tokenizer: Tokenizer
    trace_tokens: int
    schema: Schema
    taxonomy: Taxonomy
    evaluation_only: frozenset[str]


@dataclass(frozen=True)
class Built:
    """What came of it.

    Attributes
    ----------
    folder
        Where the files are: named by the first digits of `content_sha256`.
    manifest
        Its figures.
    made
        Whether it is new; data that stands is left as it is.
    """

    folder: Path
    manifest: DataManifest
    made: bool


def build(request: Request, into: Path, progress: Callable[[int], None] | None = None) -> Built:
    """Make training data.

    Parameters
    ----------
    request
        What of what.
    into
        The folder gets a folder of its own in here.
    progress
        Told how many examples are done.

    Raises
    ------
    InputError
        When a source cannot be read, or nothing is left to train on.
    SettingError
        When `trace_tokens` is too small.
    """
    cases, sources = _cases(request)
    skipped: Counter[str] = Counter()
    splits: dict[Split, list[Example]] = {split: [] for split in SPLITS}
    seen: dict[str, Split] = {}
    placed = divide(cases)
    # The test split first: a step that reads the same in two episodes is kept for the test.
    for case, group, split in sorted(placed, key=lambda each: -SPLITS.index(each[2])):
        example = _example(request, case, group, skipped)
        if example is None:
            continue
        if seen.setdefault(example.trace, split) != split:
            skipped["the same trace stands in another split"] += 1
            continue
        splits[split].append(example)
        if progress is not None:
            progress(sum(map(len, splits.values())))
    if not splits["train"]:
        raise InputError(
            f"nothing is left to train a {request.kind} on: {_told(skipped)}",
            where=Where(", ".join(request.sources)),
            remedy="name a release, or traces and with --events their typed events; traces for "
            "evaluation only (ATBench) are never trained on",
        )
    return _written(request, splits, sources, dict(sorted(skipped.items())), into)


def _cases(request: Request) -> tuple[list[Case], dict[str, str]]:
    """All cases, and what they were read from."""
    releases = [each for each in request.sources if is_release(each)]
    traces = [each for each in request.sources if not is_release(each)]
    sources = {
        f"release {read_manifest(each).version}": read_manifest(each).content_sha256
        for each in releases
    }
    cases = [case for each in releases for case in release_cases(each, request.schema)]
    if traces:
        if request.kind == "parser" and not request.events:
            raise SettingError(
                "a parser learns from typed events, and traces have none",
                where=Where(field="--events"),
                remedy="name their events, such as --events data/assebench_security.events.jsonl",
            )
        found = list(
            benchmark_cases(
                traces, request.events, request.schema, evaluation_only=request.evaluation_only
            )
        )
        cases += found
        content = sorted(case.trajectory.content_hash for case in found)
        sources["traces"] = sha256_of(canonical_json(content))
        for file in request.events:
            sources[f"events {Path(file).name}"] = sha256_of(Path(file).read_bytes())
    return cases, sources


def _example(request: Request, case: Case, group: str, skipped: Counter[str]) -> Example | None:
    """The example of a case; None, and why counted, where there is nothing to learn."""
    triggers = [] if case.judgement is None else case.judgement.triggers
    if request.kind == "parser":
        answer = {} if case.event is None else event_answer(case.event.event, request.schema)
        why = "no typed event"
    elif case.decision is None:
        answer, why = {}, "no verdict"
    else:
        answer, why = verdict_answer(case.decision, case.judgement, request.taxonomy.keys), ""
    if not answer:
        skipped[why] += 1
        return None
    piece = case.piece
    shown = shorten(
        piece.trajectory, request.tokenizer, request.trace_tokens, proposed=piece.proposed
    )
    return Example(
        id=case.id,
        kind=request.kind,
        prompt=[Turn.model_validate(turn) for turn in prompt_of(request.kind, shown.text)],
        completion=[Turn(role="assistant", content=answer_of(answer))],
        answer=answer,
        trace=piece.trajectory.content_hash,
        group=group,
        stratum=stratum_of(case.decision, request.taxonomy.in_order(triggers)),
        tokens=shown.tokens,
        whole=shown.whole,
        left_out=shown.left_out,
        cut=shown.cut,
    )


def _written(
    request: Request,
    splits: dict[Split, list[Example]],
    sources: dict[str, str],
    skipped: dict[str, int],
    into: Path,
) -> Built:
    """The files in a folder that appears whole or not at all."""
    texts = {
        split: "".join(f"{example.model_dump_json()}\n" for example in examples)
        for split, examples in splits.items()
    }
    files = {split: sha256_of(text) for split, text in texts.items()}
    content = sha256_of(canonical_json({"kind": request.kind, "files": files}))
    manifest = DataManifest(
        kind=request.kind,
        content_sha256=content,
        files=files,
        sources=sources,
        tokenizer=request.tokenizer.name,
        trace_tokens=request.trace_tokens,
        schema_sha256=request.schema.sha256,
        taxonomy=f"{request.taxonomy.id}/{request.taxonomy.version}",
        skipped=skipped,
        figures={
            split: statistics_of(examples, request.tokenizer) for split, examples in splits.items()
        },
        vepa=__version__,
    )
    folder = into / f"{request.kind}-{content[:12]}"
    if (folder / MANIFEST).is_file():
        return Built(folder, manifest, made=False)
    into.mkdir(parents=True, exist_ok=True)
    temporary = Path(mkdtemp(prefix=".making-", dir=into))
    try:
        for split, text in texts.items():
            write_atomic(temporary / split_file(split), text)
        data = manifest.model_dump(mode="json")
        write_atomic(temporary / MANIFEST, json.dumps(data, indent=1) + "\n")
        shutil.rmtree(folder, ignore_errors=True)  # without a manifest it was never whole
        temporary.chmod(0o755)
        temporary.rename(folder)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return Built(folder, manifest, made=True)


def _told(skipped: Counter[str]) -> str:
    told = ", ".join(f"{count} with {why}" for why, count in sorted(skipped.items()))
    return told or "the sources hold no judged step and no trace"
