"""What `vepa run --dry-run` says: what would be made, a stage at a time, and what it costs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vepa.cli.console import Output
from vepa.cli.run_views import near

if TYPE_CHECKING:
    from vepa.bench.runs.conduct import Estimate
    from vepa.bench.runs.run import Run
    from vepa.lifecycle.estimating import Share, StageCost, Totals
    from vepa.lifecycle.plan import Lifecycle

__all__ = ["tell_lifecycle_plan", "tell_plan"]

_FREE = ("scripted/", "recorded/")


def tell_plan(out: Output, planned: Run) -> None:
    """What a run of a policy alone would do."""
    out.document(_run_document(planned))
    if not out.json:
        _tell_run(out, planned)
        _tell_end(out, "--fresh would make them again" if planned.finished else None)


def tell_lifecycle_plan(out: Output, whole: Lifecycle) -> None:
    """What the stages of a lifecycle would do, and what each takes.

    It is finished when no stage is open; that the benchmark's policy is says nothing of the others.
    """
    from vepa.lifecycle.estimating import estimate_lifecycle, figures

    corpus = _corpus_document(whole)
    finished = not whole.open()
    found = estimate_lifecycle(whole)
    run = whole.evolving
    out.document(
        {
            **(_run_document(run) if run else {"dry_run": True, "awaited": list(whole.awaited)}),
            "finished": finished,
            "corpus": corpus,
            **figures(found),
        }
    )
    if out.json:
        return
    _tell_corpus(out, corpus)
    if run is not None:
        _tell_run(out, run)
    _tell_stages(out, found)
    again = "--from STAGE or --fresh would make them again" if finished else None
    _tell_end(out, again, whole.awaited)


def _run_document(planned: Run) -> dict[str, Any]:
    from vepa.bench.runs.conduct import estimate

    return {
        "dry_run": True,
        "id": planned.id,
        "folder": str(planned.folder),
        "finished": planned.finished,
        "stages": {
            "all": len(planned.needs), "done": len(planned.needs) - len(planned.missing)
        },
        **estimate(planned).to_dict(),
    }  # fmt: skip


def _corpus_document(whole: Lifecycle) -> dict[str, Any]:
    """What would be collected and annotated, and by whom."""
    from vepa.collect.estimating import estimate_orders
    from vepa.services.world import load_world

    corpus = whole.corpus
    assert corpus is not None
    missing = corpus.missing()
    world = load_world(corpus.materials.world_file)
    costs = estimate_orders(missing, corpus.materials, corpus.profile.collect, world)
    return {
        "folder": str(corpus.folder),
        "tasks": len(corpus.orders),
        "episodes": len(corpus.all_orders),
        "to_play": len(missing),
        "offices": corpus.profile.collect.offices,
        "runtime": corpus.profile.runtime,
        "models": [asdict(each) for each in costs],
        "annotation": _annotation_document(whole),
        "stages": {"all": list(whole.stages), "open": whole.open()},
    }


def _annotation_document(whole: Lifecycle) -> dict[str, Any] | None:
    annotation = whole.annotation
    if annotation is None:
        return None
    return {
        "panel": annotation.profile.panel,
        "readers": {seat.name: seat.model for seat in annotation.panel.seats},
        "budget": annotation.panel.budget.model_dump(),
        "done": "annotate" not in whole.open(),
    }


def _tell_run(out: Output, planned: Run) -> None:
    from vepa.bench.comparison import counted, method_name
    from vepa.bench.runs.conduct import estimate

    expected = estimate(planned)
    done = len(planned.needs) - len(planned.missing)
    patches = counted(expected.patches, "patch")
    rows = [
        ("run", planned.id),
        ("rounds", f"{expected.rounds} over {counted(expected.events, 'event')}"),
        ("feedback", counted(expected.labels, "label")),
        ("updates", f"{expected.updates}, at most {patches} in all"),
        ("baselines", ", ".join(method_name(name) for name in expected.baselines) or "none"),
        ("model calls", _asked(expected)),
        ("cost", _most(expected)),
        ("time", "none" if planned.finished else f"about {max(expected.seconds, 1):.0f} s"),
        ("done already", f"{done} of {counted(len(planned.needs), 'stage')}"),
        ("products", f"{near(planned.folder)}/"),
    ]
    for name, value in rows:
        out.text(f"{name:13} {value}")


def _asked(expected: Estimate) -> str:
    if expected.model is None:
        return str(expected.model_calls)
    return f"at most {expected.model_calls:,}, to {expected.model}"


def _most(expected: Estimate) -> str:
    """What a model costs at most; answers that are asked for again come on top."""
    if expected.model is None:
        return f"{expected.cost_usd or 0.0:.2f} USD"
    if expected.cost_usd is None:
        return "not known: the model has no known price, and no budget of dollars is set"
    most = f"at most {expected.cost_usd:.2f} USD"
    if expected.unlimited_usd is None:
        return f"{most}, the budget"
    if expected.unlimited_usd > expected.cost_usd:
        return f"{most}, the budget; {expected.unlimited_usd:.2f} USD without it"
    return most


def _tell_end(out: Output, again: str | None, awaited: Sequence[str] = ()) -> None:
    """Whether something is left to do; `again` says how to make anew what stands."""
    if again is not None:
        out.text(f"\nNothing is left to do: all products stand; {again}.")
    elif awaited:
        out.text(f"\nNothing was written. It runs once {', '.join(awaited)} is there.")
    else:
        out.text("\nNothing was written. Without --dry-run it runs.")


def _tell_corpus(out: Output, corpus: Mapping[str, Any]) -> None:
    """Episodes, services and readers of what would be collected."""
    from vepa.bench.comparison import counted

    out.text(f"{'corpus':13} {near(Path(corpus['folder']))}/")
    out.text(
        f"{'episodes':13} {corpus['episodes']:,} over {counted(corpus['tasks'], 'task')}, "
        f"{corpus['to_play']:,} to play, {counted(corpus['offices'], 'office')} "
        f"({corpus['runtime']})"
    )
    out.text(f"{'stages':13} {', '.join(corpus['stages']['open']) or 'none'} to make")
    if corpus.get("annotation"):
        readers = ", ".join(corpus["annotation"]["readers"].values())
        out.text(f"{'annotation':13} {corpus['annotation']['panel']}: {readers}")
    out.text("")


def _tell_stages(out: Output, found: Totals) -> None:
    """The table, and what its figures rest on."""
    rows = [row for each in found.stages for row in _stage_rows(each)]
    rows.append(
        (
            "all",
            "",
            f"{found.tokens:,}",
            _dollars(found.known_dollars, found.unpriced),
            _time(found.seconds),
            _budget(found.budget, found.enough) if found.tokens or found.unpriced else "",
        )
    )
    out.text("")
    columns = ("stage", "what is to be done", "tokens", "USD", "time", "budget")
    out.table(columns, rows, right=("tokens", "USD", "time"))
    for each in found.stages:
        for note in each.notes:
            out.text(f"{each.stage}: {note}")
    for name in found.unpriced:
        out.text(f"The price of {name} is not known; it comes on top of the sum.")
    for each in found.stages:
        if each.enough is False and each.stage.startswith("evolve"):
            out.text(
                f"{each.stage}: the budget is below the most that the model may take. Where it is "
                "used up the policy evolves on without the model, and the report says so."
            )
        elif each.enough is False:
            out.text(
                f"{each.stage}: the budget is below the guess. It stops there; what was paid for "
                "is kept, and the same command goes on once the budget is higher."
            )
    if found.tokens:
        for text in _assumed():
            out.text(text)


def _stage_rows(each: StageCost) -> Iterator[tuple[str, ...]]:
    if not each.made:
        yield each.stage, "done", "0", "0.00", "–", ""
        return
    what = ", ".join(f"{count:,} {name}" for name, count in each.counts.items() if count)
    paid = bool(each.tokens or each.unpriced)
    limit = each.budget["dollars"] if each.budget else None
    yield (
        each.stage,
        what,
        f"{each.tokens:,}",
        _dollars(each.known_dollars, each.unpriced),
        _time(each.seconds),
        _budget(limit, each.enough) if paid else "",
    )
    for share in each.shares:
        if not share.model.startswith(_FREE):
            yield _share_row(share)


def _share_row(share: Share) -> tuple[str, ...]:
    who = "" if share.who == "agent" else f"{share.who} "
    asked = f"  {who}{share.model}: {share.asked:,} asked"
    dollars = "not known" if share.dollars is None else f"{share.dollars:.2f}"
    return "", asked, f"{share.prompt + share.completion:,}", dollars, "", ""


def _dollars(known: float, unpriced: list[str]) -> str:
    """A sum is never told as if it were all of it where a price is not known."""
    if not unpriced:
        return f"{known:,.2f}"
    return f"{known:,.2f} + not known" if known else "not known"


def _budget(dollars: float | None, enough: bool | None) -> str:
    said = {True: "enough", False: "NOT ENOUGH", None: "not known whether enough"}[enough]
    if dollars is None:
        return "no limit in USD" if enough is None else said
    return f"{dollars:,.0f} USD: {said}"


def _time(seconds: float) -> str:
    if not seconds:
        return "–"
    if seconds < 90:
        return f"{max(seconds, 1):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _assumed() -> Iterator[str]:
    from vepa.lifecycle.estimating import ASSUMED

    yield "\nGuessed: turns and steps of an episode from the scripted plans of its task (a model"
    yield "that wanders takes more); tokens on the high side, from the text;"
    yield (
        f"{ASSUMED['judged_tokens']:,.0f} tokens to judge a step that is not collected yet, and "
        f"{ASSUMED['answer_tokens']:.0f} written, as in the demo corpus "
        "(models that think before they answer write more);"
    )
    yield (
        f"{ASSUMED['arbiter_share']:.1%} of the contents for the arbiter, as there; every step of "
        "a real model a content of its own;"
    )
    yield f"{ASSUMED['answer_seconds']:.0f} s an answer of a real model (not measured)."
