"""The stages of a main job; each function is the body of one task of `flows/evolve.py`.

A stage that is done is not made again; one whose products are missing or damaged is.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from vepa.bench import metrics
from vepa.bench.baselines import make_baselines
from vepa.bench.comparison import counted, errors_by_kind
from vepa.bench.evolving import default_evolve
from vepa.bench.prequential import start
from vepa.bench.report.evidence import weighed
from vepa.bench.runs.interventions import edit_products
from vepa.bench.runs.products import (
    baseline_answers,
    baseline_frame,
    parquet,
    round_figures,
    round_products,
)
from vepa.bench.runs.run import Run, begin, open_run, plan, round_stage, write_manifest
from vepa.bench.scores import Answers, predict_stream, score, worked_off
from vepa.bench.trials import START_LABELS
from vepa.bench.views import view_of
from vepa.errors import RunError
from vepa.files import read_text
from vepa.policy.matching import ABSTAIN
from vepa.policy.rule import Evidence
from vepa.project import Project

__all__ = [
    "begin_run",
    "finish",
    "markdown",
    "play_baseline",
    "play_round",
    "read_summary",
    "rule_table",
    "summarise",
    "table_row",
    "write_report",
]

#: Products by path within the folder, and figures for displays.
Made = tuple[Mapping[str, str | bytes], Mapping[str, Any]]


def begin_run(
    profile: str, project: str | None = None, artifacts: str | None = None, fresh: bool = False
) -> dict[str, Any]:
    """Settle the inputs of a run and make its folder, or find it again.

    Parameters
    ----------
    profile
        Name of a profile, or its path.
    project
        Folder of the project; the working directory when left out.
    artifacts
        Folder of what runs produce; the project's when left out.
    fresh
        Throw away what stands in the run's folder.

    Returns
    -------
    dict
        `id`, `folder`, `rounds` and `baselines`.
    """
    place = Path(artifacts) if artifacts else None
    run = begin(plan(Project(project), profile, artifacts=place), fresh=fresh)
    return {
        "id": run.id,
        "folder": str(run.folder),
        "rounds": run.profile.rounds,
        "baselines": list(run.profile.baselines),
    }


def play_round(folder: str | Path, number: int) -> dict[str, Any]:
    """Play one round; its figures."""

    def make(run: Run) -> Made:
        outcome = run.replayed(number - 1).advance(number)
        products = round_products(run.stream, outcome)
        if number == run.profile.rounds:
            products["policy.yaml"] = outcome.after.to_yaml()
        return products, round_figures(run.stream, outcome)

    return _stage(folder, round_stage(number), make)


def play_baseline(folder: str | Path, family: str) -> dict[str, Any]:
    """Let a family of learners play the same stream with the same feedback; which learners."""

    def make(run: Run) -> Made:
        schema, profile = run.stream.table.schema, run.profile
        visible = view_of(profile.view).fields(schema, profile.view)
        learners = make_baselines([family], schema, visible, profile.seed)
        said = {name: predict_stream(run.stream, learner) for name, learner in learners.items()}
        product = parquet(baseline_frame(run.stream, said))
        return {f"baselines/{family}.parquet": product}, {"methods": list(said)}

    return _stage(folder, f"baseline-{family}", make)


def summarise(folder: str | Path) -> dict[str, Any]:
    """Write `summary.json`: every figure, overall and by round; returns it."""

    def make(run: Run) -> Made:
        loop = run.replayed(run.profile.rounds)
        ours = worked_off(run.stream, loop.outcomes)
        evolution = run.profile.evolution
        evolve = default_evolve(evolution, run.desk)
        begun = start(run.stream, run.gate, evolution, labels=START_LABELS, evolve=evolve)
        figures = {
            **score(run.stream, loop.outcomes),
            "start40": {"coverage": begun.coverage, "f1": begun.f1, "labels": begun.labels},
            "baselines": {name: _compare(ours, answers) for name, answers in _others(run).items()},
        }
        document = {
            "id": run.id,
            "policy_hash": loop.current.policy_hash,
            **figures,
            "wrong_feedback": loop.outcomes[-1].record.get("wrong_feedback"),
            "risk_coverage": ours.curve(),
            "rounds": [round_figures(run.stream, outcome) for outcome in loop.outcomes],
        }
        if evolution.llm is not None:
            document["model"] = _asked(evolution.llm.model, document["rounds"], begun.record)
        if run.interventions:
            document["interventions"] = [each.told for each in run.interventions]
        told = {key: value for key, value in figures.items() if isinstance(value, (int, float))}
        told["questions"] = begun.record["questions"]
        return {"summary.json": json.dumps(document, indent=1) + "\n"}, told

    _stage(folder, "summary", make)
    return read_summary(Path(folder))


def write_report(folder: str | Path) -> dict[str, Any]:
    """Write `report.html`; returns where it lies."""

    def make(run: Run) -> Made:
        from vepa.bench.report.page import report

        page = report(run, _others(run), read_summary(run.folder))
        return {"report.html": page}, {"bytes": len(page.encode())}

    figures = _stage(folder, "report", make)
    return {**figures, "path": str(Path(folder) / "report.html")}


def finish(folder: str | Path) -> dict[str, Any]:
    """Write the manifest of a run whose stages are all done; returns it."""
    run = open_run(folder)
    with run.store.locked():
        missing = run.missing
        if missing:
            raise RunError(
                f"{run.id} is not finished: {', '.join(missing)} missing\n"
                "  remedy: start `vepa run` again; it makes what is missing"
            )
        return write_manifest(run, finished=True)


def table_row(figures: Mapping[str, Any]) -> dict[str, Any]:
    """A round's figures as a row of a table for people."""
    return {
        "round": figures["round"],
        "events": figures["events"],
        "coverage": f"{figures['coverage']:.1%}",
        "covered macro-F1": f"{figures['covered_macro_f1']:.3f}",
        "wrong": figures["wrong"],
        "patches tried": figures["patches"]["tried"],
        "accepted": figures["patches"]["accepted"],
        "rules": figures["rules"]["archive"],
        "active": figures["rules"]["active"],
    }


def rule_table(folder: str | Path) -> list[dict[str, Any]]:
    """The final rules as rows of a table for people."""
    run = open_run(folder)
    return [
        {
            "id": rule.id,
            "rule": rule.describe(),
            "support": rule.evidence.support if rule.evidence else 0,
            "contradictions": rule.evidence.contradictions if rule.evidence else 0,
            "weighed": weighed(run.gate, rule.decision, rule.evidence or Evidence())[2],
            "status": rule.status,
        }
        for rule in run.policy(run.profile.rounds).rules
    ]


def markdown(summary: Mapping[str, Any], report: str) -> str:
    """Headline figures and the way to the report, as Markdown."""
    wrong = summary.get("wrong_feedback")
    estimate = (
        "" if wrong is None else f"- about {wrong:.1%} of the feedback is wrong (estimated)\n"
    )
    return (
        f"# {summary['id']}\n\n"
        f"- covered macro-F1 **{summary['covered_macro_f1']:.3f}**\n"
        f"- {errors_by_kind(summary['confusion'])}\n"
        f"- coverage of the last round {summary['final_coverage']:.1%}\n"
        f"- {summary['rules']['active']} of {counted(summary['rules']['archive'], 'rule')} "
        f"active\n{estimate}\n"
        f"[Report]({Path(report).absolute().as_uri()}), also at `{report}`\n"
    )


def _stage(folder: str | Path, stage: str, make: Callable[[Run], Made]) -> dict[str, Any]:
    run = open_run(folder)
    with run.store.locked():
        _settle_edits(run, stage)
        known = run.done(stage)
        if known is None:
            clock = time.perf_counter()
            products, figures = make(run)
            known = run.store.finish(
                stage,
                products,
                needs=run.needs[stage],
                figures=figures,
                seconds=time.perf_counter() - clock,
            )
    return dict(known.figures)


def _settle_edits(run: Run, stage: str) -> None:
    """Write what a person made of the policy before this round, where it does not stand."""
    needed = run.needs[stage]
    for at, each in enumerate(run.interventions):
        follows = needed == (run.edits(each.after)[-1].stage,)
        if not follows or run.done(each.stage):
            continue
        before = run.interventions[at - 1] if at else None
        chained = before is not None and before.after == each.after
        parent = run.policy_in(before.file) if before and chained else run.policy(each.after)
        run.store.finish(
            each.stage,
            edit_products(each, parent),
            needs=run.needs[each.stage],
            figures=each.told,
        )


def _asked(
    model: str, rounds: Sequence[Mapping[str, Any]], begun: Mapping[str, Any]
) -> dict[str, Any]:
    """What a model was asked, and the rounds from which on its budget was used up."""
    return {
        "name": model,
        "questions": sum(row["questions"] for row in rounds) + begun["questions"],
        "ended": [row["round"] for row in rounds if row["model_ended"]],
        "start40_ended": begun["model_ended"],
    }


def _compare(ours: Answers, answers: Answers) -> dict[str, Any]:
    """A learner on the covered events, on all, as fallback, and on as many as were decided."""
    covered = ours.verdicts != ABSTAIN
    share = metrics.coverage(ours.verdicts)
    truth, said = answers.truth, answers.verdicts
    return {
        "covered": metrics.macro_f1(truth[covered], said[covered]),
        "full": metrics.full_macro_f1(truth, said),
        "hybrid": metrics.hybrid_macro_f1(truth, ours.verdicts, said),
        "at_coverage": metrics.at_coverage(truth, said, answers.confidence, share),
        "risk_coverage": answers.curve(),
    }


def _others(run: Run) -> dict[str, Answers]:
    found: dict[str, Answers] = {}
    for family in run.profile.baselines:
        data = (run.folder / "baselines" / f"{family}.parquet").read_bytes()
        found.update(baseline_answers(run.stream, data))
    return found


def read_summary(folder: Path) -> dict[str, Any]:
    """The figures of a run whose summary is done."""
    data: dict[str, Any] = json.loads(read_text(folder / "summary.json"))
    return data
