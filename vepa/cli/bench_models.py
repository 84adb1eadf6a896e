"""The model behind `vepa bench run --proposer llm`: its options, and what it would cost."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from vepa.cli.console import Output

if TYPE_CHECKING:
    from vepa.bench.results import BenchSettings
    from vepa.evolution.proposers.llm.opening import Desk
    from vepa.policy.schema import Schema

__all__ = ["desk_of", "model_options", "tell_forecast"]


def model_options(
    proposer: str,
    model: str | None,
    settings: Path | None,
    questions: int | None,
    tokens: int | None,
    dollars: float | None,
) -> dict[str, Any] | None:
    """The block `evolution.llm` that the options ask for; None where none of them is given.

    Raises
    ------
    SettingError
        When a proposer that asks a model has none, or an option is for a model that nobody asks.
    """
    from vepa.errors import SettingError, Where

    limits = {"questions": questions, "tokens": tokens, "dollars": dollars}
    given: dict[str, Any] = {name: each for name, each in limits.items() if each is not None}
    asks = "llm" in proposer.split("+")
    if model is None and not asks and settings is None and not given:
        return None
    if not asks:
        raise SettingError(
            f"the proposer {proposer!r} asks no model",
            where=Where(field="--proposer"),
            remedy="choose llm or induction+llm, or leave the options of the model out",
        )
    if model is None:
        raise SettingError(
            f"the proposer {proposer!r} needs a model",
            where=Where(field="--model"),
            remedy="name one, such as openai/…, anthropic/… or recorded/… (docs/models.md)",
        )
    if settings is not None:
        from vepa.cli.parse_models import settings_of

        given["settings"] = settings_of(settings)
    return {"model": model, **given}


def desk_of(settings: BenchSettings, cache: Path | None, project: Path | None) -> Desk | None:
    """Where a model's answers are kept; None where none is asked."""
    if not settings.trial.evolution.asks_a_model:
        return None
    from vepa.evolution.proposers.llm.opening import Desk
    from vepa.project import Project

    folder = Project(project).artifacts_path / "propose"
    return Desk(folder, cache=None if cache is None else cache.absolute(), project=project)


def tell_forecast(
    out: Output, settings: BenchSettings, files: int, schema: Schema, project: Path | None
) -> None:
    """What a benchmark would do and what its model would take at most; nothing is sent."""
    from dataclasses import asdict

    from vepa.cli.findings import counted
    from vepa.evolution.proposers.llm.forecast import forecast

    trials = settings.seeds * len(settings.views) * (files if settings.separate else 1)
    # One update a round, and the one of the first 40 labels.
    updates = trials * (settings.trial.stream.rounds + 1)
    found = forecast(settings.trial.evolution, schema, updates, project)
    told = {"dry_run": True, "trials": trials, "updates": updates}
    out.document({**told, "model": None if found is None else asdict(found)})
    if out.json:
        return
    patches = settings.trial.evolution.patches
    out.text(f"{counted(trials, 'trial')}, {updates:,} updates, at most {patches} patches in each")
    if found is None:
        out.text("no model is asked")
        return
    price = "price not known" if found.dollars is None else f"{found.dollars:.2f} USD"
    out.text(
        f"at most {found.questions:,} questions to {found.model}: {found.prompt:,} tokens to read, "
        f"{found.completion:,} to write, {price}; answers that are kept already cost nothing"
    )
    out.text(f"budget: {_budget(found.budget_tokens, found.budget_dollars)}")


def _budget(tokens: int | None, dollars: float | None) -> str:
    limits = [] if tokens is None else [f"{tokens:,} tokens"]
    limits += [] if dollars is None else [f"{dollars:.2f} USD"]
    if not limits:
        return "none; --max-tokens and --max-dollars set one"
    return f"{' and '.join(limits)}, an even share for every trial; what is left goes without it"
