"""What the missing plays of a plan will take, before anything is played or spent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from vepa.bench.baselines.asked.forecast import forecast_asked
from vepa.bench.experiments.conduct import Job
from vepa.bench.experiments.plays import Learner
from vepa.bench.trials import TrialSettings
from vepa.evolution.proposers.llm.forecast import forecast

__all__ = ["Forecast", "forecast_jobs"]


@dataclass(frozen=True, slots=True)
class Forecast:
    """What plays will take at most; answers that are kept already cost nothing.

    Attributes
    ----------
    plays, rounds
        That are missing.
    asking
        Those plays that ask a language model.
    questions, prompt, completion
        To models, and tokens read and written.
    texts
        Turned into vectors.
    dollars
        US dollars; None where a price is not known.
    """

    plays: int
    rounds: int
    asking: int
    questions: int
    prompt: int
    completion: int
    texts: int
    dollars: float | None


def forecast_jobs(jobs: Sequence[Job], project: Path | None = None) -> Forecast:
    """What jobs will take. Nothing is sent.

    Parameters
    ----------
    jobs
        Plays that are missing.
    project
        Where prompts are looked up.

    Raises
    ------
    MissingExtraError
        When litellm, whose price map is read, is not installed and a model is asked.
    """
    questions = prompt = completion = texts = 0
    dollars: float | None = 0.0
    asking = [job for job in jobs if job.desk is not None]
    for job in asking:
        found = _of(job, project)
        questions, prompt = questions + found[0], prompt + found[1]
        completion, texts = completion + found[2], texts + found[3]
        dollars = None if dollars is None or found[4] is None else dollars + found[4]
    rounds = sum(job.rounds for job in jobs)
    return Forecast(len(jobs), rounds, len(asking), questions, prompt, completion, texts, dollars)


def _of(job: Job, project: Path | None) -> tuple[int, int, int, int, float | None]:
    method, condition = job.play.method, job.play.condition
    schema = job.tables[0].schema
    if isinstance(method, Learner):
        settings = TrialSettings(
            stream=condition.stream, baselines=(method.family,), asked=method.asked
        )
        size = sum(len(table) for table in job.tables)
        asked = forecast_asked(settings, schema, [size], project)
        assert asked is not None
        return asked.calls, asked.prompt, asked.completion, asked.texts, asked.dollars
    found = forecast(method.evolution, schema, condition.stream.rounds, project)
    assert found is not None
    return found.questions, found.prompt, found.completion, 0, found.dollars
