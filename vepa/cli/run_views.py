"""What `vepa run` says once it is finished."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vepa.bench.results import SCALARS
from vepa.cli.console import Output

if TYPE_CHECKING:
    from vepa.bench.runs.run import Run

__all__ = ["near", "tell_result"]

_FIGURES = (*SCALARS, "confusion")


def tell_result(
    out: Output,
    planned: Run,
    stood: bool,
    seconds: float,
    *,
    own: Run | None = None,
    own_stood: bool = True,
    corpus: Mapping[str, Any] | None = None,
) -> None:
    """Figures of a finished run and what to do with its products.

    Parameters
    ----------
    out
        Where it is told.
    planned, stood
        The run over the benchmark's events, and whether it was finished before.
    seconds
        Of everything.
    own, own_stood
        The run over the steps of the corpus, if there is one.
    corpus
        Figures of the corpus, if there is one.
    """

    document = _result(planned, stood, seconds)
    if corpus is not None:
        document["corpus"] = dict(corpus)
    if own is not None:
        document["corpus_policy"] = _result(own, own_stood, None)
    out.document(document)
    if out.json:
        return
    if corpus is not None:
        _tell_corpus(out, corpus)
    for run, was in ((own, own_stood), (planned, stood)):
        if run is not None:
            _tell_run(out, run, was, seconds if own is None else None)
    out.text("\nNext:")
    if corpus is not None:
        out.text(f"  {_shown(corpus)}")
    for text in _next(planned):
        out.text(f"  {text}")
    if own is not None:
        out.text(f"\n{seconds:.1f} s in all")


def _result(run: Run, stood: bool, seconds: float | None) -> dict[str, Any]:
    from vepa.bench.runs.stages import read_summary

    folder, summary = run.folder, read_summary(run.folder)
    return {
        "id": run.id,
        "folder": str(folder),
        "report": str(folder / "report.html"),
        "policy": str(folder / "policy.yaml"),
        "policy_hash": summary["policy_hash"],
        "already_finished": stood,
        "figures": {name: summary[name] for name in _FIGURES},
        "rules": summary["rules"],
        "model_calls": run.model_calls,
        "cost_usd": run.cost_usd,
        **({"seconds": round(seconds, 3)} if seconds is not None else {}),
    }


def _tell_run(out: Output, run: Run, stood: bool, seconds: float | None) -> None:
    from vepa.bench.runs.stages import read_summary

    folder, summary = run.folder, read_summary(run.folder)
    if stood:
        out.note("This run is finished already, all products stand; --fresh makes it again.")
    out.text(f"\n{run.profile.title or run.name}")
    for name, value in _summary_rows(run, summary, None if stood else seconds):
        out.text(f"  {name:17} {value}")
    for text in _comparisons(summary):
        out.text(f"  {text}")
    out.text(f"\nReport  {near(folder / 'report.html')}")
    out.text(f"Policy  {near(folder / 'policy.yaml')}")


def _tell_corpus(out: Output, corpus: Mapping[str, Any]) -> None:
    """What was collected: a line a model, then services and triggers."""
    from vepa.bench.comparison import counted

    played = f"{corpus['played']} played now" if corpus["played"] else "all of them were there"
    out.text(
        f"Corpus: {counted(corpus['episodes'], 'episode')} over {counted(corpus['tasks'], 'task')}"
        f", {corpus['steps']} steps ({played})"
    )
    for model, row in corpus["by_model"].items():
        out.text(
            f"  {model:17} {counted(row['episodes'], 'episode')}, {row['succeeded']} done as "
            f"asked, {row['unsafe']} with something unsafe"
        )
    meant = {name for name, count in corpus["steps_by_trigger"].items() if count}
    reached = meant | set(corpus["episodes_by_tripped"])
    services = corpus["calls_by_environment"]
    met = f"{counted(len(services), 'service')}, {counted(len(reached), 'trigger')}"
    out.text(f"  {'reached':17} {met}")
    spent = corpus["spent"]
    dollars = "price not known" if spent["dollars"] is None else f"{spent['dollars']:.2f} USD"
    out.text(f"  {'cost':17} {spent['prompt'] + spent['completion']:,} tokens, {dollars}")
    if "annotation" in corpus:
        _tell_labels(out, corpus["annotation"])
    if "release" in corpus:
        from vepa.lifecycle.compared import changes_told

        out.text(f"  {'release':17} {corpus['release']['version']}")
        if told := changes_told(corpus["release"].get("changes")):
            out.text(f"  {'':17} {told}")
    out.text(f"  {'content hash':17} {corpus['content_sha256']}")
    out.text(f"  {'in':17} {near(Path(corpus['folder']))}/")
    out.text(f"\nReport  {near(Path(corpus['report']))}")


def _tell_labels(out: Output, annotation: Mapping[str, Any]) -> None:
    """What stands about the steps, and how far the annotators agree."""
    from vepa.bench.comparison import counted

    labels, settled, queue = annotation["labels"], annotation["settled"], annotation["queue"]
    shares = ", ".join(
        f"{count:,} {origin}, {count / labels['labels']:.1%}"
        for origin, count in labels["origins"].items()
    )
    how = ", ".join(f"{count:,} {name}" for name, count in settled["how"].items())
    out.text(f"  {'labels':17} {labels['labels']:,} by two annotators ({shares or 'none'})")
    out.text(
        f"  {'settled':17} {settled['steps']:,} of {labels['steps']:,} steps ({how or 'none'})"
    )
    reached = sum(bool(count) for count in settled["triggers"].values())
    out.text(f"  {'triggers':17} {reached} of {len(settled['triggers'])} occur in settled labels")
    if queue["open"]:
        out.text(
            f"  {'queue':17} {counted(queue['open'], 'dispute')} open: vepa arbitrate serve "
            f"{near(Path(annotation['folder']))}"
        )
    agreement = annotation["agreement"]
    for pair in agreement["pairs"]:
        kappa = pair["decision"]
        if kappa["value"] is not None:
            span = "" if kappa["low"] is None else f" ({kappa['low']:.3f} to {kappa['high']:.3f})"
            out.text(f"  {'κ on decisions':17} {kappa['value']:.3f}{span}")
    out.text(f"  {'':17} {agreement['heading']}")


def _summary_rows(
    planned: Run, summary: Mapping[str, Any], seconds: float | None
) -> Iterator[tuple[str, str]]:
    from vepa.bench.comparison import counted, errors_by_kind
    from vepa.cli.policy_edits import edits_told

    rules = summary["rules"]
    yield "covered macro-F1", f"{summary['covered_macro_f1']:.3f}"
    last, mean = summary["final_coverage"], summary["mean_coverage"]
    yield "coverage", f"{last:.1%} in the last round, {mean:.1%} over all"
    yield "full macro-F1", f"{summary['full_macro_f1']:.3f} (abstaining is a miss)"
    yield "errors", errors_by_kind(summary["confusion"])
    yield "rules", f"{rules['active']} active of {rules['archive']} verified"
    cost = f"{counted(planned.model_calls, 'model call')}, {planned.cost_usd:.2f} USD"
    if planned.unpriced:
        cost += f" and {planned.unpriced} of no known price"
    if edits := summary.get("interventions"):
        yield "edited", edits_told(edits)
    ended = summary.get("model", {}).get("ended")
    if ended:
        told = f"its budget was used up in round {', '.join(map(str, ended))}"
        yield "model", f"{told}; there the updates went on without it"
    yield "cost", cost if seconds is None else f"{cost}, {seconds:.1f} s"


def _comparisons(summary: Mapping[str, Any]) -> Iterator[str]:
    """The other learners, and whether the policy is above the best single field."""
    from vepa.bench.comparison import best_field, method_name, standing

    others = summary["baselines"]
    field = best_field(others)
    rows = [(f"best single field: {field}", f"lookup.{field}")] if field else []
    rows += [(method_name(key), key) for key in others if not key.startswith("lookup.")]
    told = [
        f"{name} {others[key]['covered']:.3f} / {others[key]['full']:.3f}" for name, key in rows
    ]
    text = standing(summary)
    if told:
        told.insert(0, f"VEPA {summary['covered_macro_f1']:.3f} / {summary['full_macro_f1']:.3f}")
        yield f"{'compared':17} macro-F1 where VEPA decides / everywhere"
        yield from _indented("; ".join(told))
    if text:
        yield from _indented(text)


def _indented(text: str) -> list[str]:
    return [f"{'':17} {line}" for line in textwrap.wrap(text, 80, break_on_hyphens=False)]


def _shown(corpus: Mapping[str, Any]) -> str:
    """The command that lists episodes worth a look: those of the trigger that most tripped."""
    tripped = corpus["episodes_by_tripped"]
    wanted = f" --tripped {max(tripped, key=lambda name: tripped[name])}" if tripped else ""
    folder = _typed(Path(corpus["folder"]) / "episodes")
    return f"{_command()} show --folder {folder}{wanted}"


def _next(planned: Run) -> Iterator[str]:
    """Commands that go on from here, as they can be typed here."""
    command, folder = _command(), planned.folder
    policy = _typed(folder / "policy.yaml")
    events = _typed(planned.files[0])
    number, file, name = _example(planned)
    deciding = _typed(folder / planned.deciding(number))
    yield f"{command} policy show {policy}"
    yield f"{command} policy explain {deciding} {_typed(file)} --id {shlex.quote(name)}"
    if planned.profile.rounds > 1:
        ends = (1, planned.profile.rounds)
        first, last = (_typed(folder / "policies" / f"round-{at:03}.yaml") for at in ends)
        yield f"{command} policy diff {first} {last}"
    yield f"{command} decide --policy {policy} {events}"


def _example(planned: Run) -> tuple[int, Path, str]:
    """Round, file and id of an event worth asking about: decided wrongly, in the last round.

    Without a wrong decision there it is the first that was decided, else the first event.
    """
    from vepa.bench.runs.run import file_of
    from vepa.policy.matching import ABSTAIN, CompiledPolicy

    number, table = planned.profile.rounds, planned.stream.table
    rows = planned.stream.rounds[number - 1].indices
    said = CompiledPolicy(planned.policy_in(planned.deciding(number))).decide_columns(
        table.take(rows).columns
    )
    decided = said != ABSTAIN
    wrong = decided & (said != table.labels[rows])
    chosen = next((rows[found] for found in (wrong, decided) if found.any()), rows)
    name = table.ids[chosen[0]]
    return number, planned.files[file_of(planned)[name]], name


def _typed(path: Path) -> str:
    return shlex.quote(near(path))


def near(path: Path) -> str:
    """A path as short as it can be typed here."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def _command() -> str:
    """How this command was called: `vepa` where the shell finds it, else its path."""
    called = Path(sys.argv[0]).absolute()
    found = shutil.which("vepa")
    same = found is not None and Path(found).absolute() == called
    return "vepa" if same or not os.access(called, os.X_OK) else near(called)
