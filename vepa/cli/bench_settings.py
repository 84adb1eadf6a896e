"""From the options of `vepa bench run` to its settings, and what is wrong with them by option."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vepa.bench.results import BenchSettings
    from vepa.bench.streams import FlipTarget

__all__ = ["asked_options", "bench_settings", "model_options", "names_of", "target_of"]

#: Settings whose option has another name; of the models by their block.
_OPTIONS = {"shift": "mixed", "views": "view", "evolution": "proposer"}
_BLOCKS = {
    "llm": {"tokens": "max_tokens", "dollars": "max_dollars"},
    "asked": {"model": "judge", "tokens": "judge_tokens", "dollars": "judge_dollars"},
}


def names_of(text: str) -> list[str]:
    """Names by comma."""
    return [name.strip() for name in text.split(",") if name.strip()]


def target_of(text: str | None) -> FlipTarget | None:
    """`KEY=VALUE:SHARE`; raises `SettingError`."""
    from vepa.bench.streams import FlipTarget
    from vepa.errors import SettingError, Where

    if text is None:
        return None
    slice_, _, share = text.rpartition(":")
    key, equals, value = slice_.partition("=")
    try:
        if not (key and equals):
            raise ValueError
        return FlipTarget(key=key, value=value, share=float(share))
    except ValueError:
        raise SettingError(
            f"{text!r} is no slice with a share from 0 to 1",
            where=Where(field="--flip-target"),
            remedy="KEY=VALUE:SHARE, such as 'risk_type=Prompt Injection:0.4'",
        ) from None


def bench_settings(given: Mapping[str, Any]) -> BenchSettings:
    """The settings; raises `SettingError` naming the option."""
    from pydantic import ValidationError

    from vepa.bench.results import BenchSettings
    from vepa.errors import SettingError, Where
    from vepa.policy.document import complaint

    try:
        return BenchSettings.model_validate(given)
    except ValidationError as error:
        path, message = complaint(error)
        raise SettingError(
            message,
            where=Where(field=f"--{_option(path).replace('_', '-')}"),
            remedy="see `vepa bench run --help`",
        ) from None


def _option(path: tuple[str | int, ...]) -> str:
    if "gates" in path:
        return "_".join(map(str, path[path.index("gates") + 1 :]))
    name = str(path[-1]) if path else ""
    for block, names in _BLOCKS.items():
        if block in path:
            return names.get(name, name)
    return _OPTIONS.get(name, name)


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
        given["settings"] = _read(settings)
    return {"model": model, **given}


def asked_options(
    baselines: list[str],
    model: str | None,
    settings: Path | None,
    embedder: str | None,
    embedder_settings: Path | None,
    tokens: int | None,
    dollars: float | None,
) -> dict[str, Any] | None:
    """The block `trial.asked`: who is asked by baselines; None where none of them asks.

    Raises
    ------
    SettingError
        When a baseline has no model or no embedder, or an option is for what nobody asks.
    """
    from vepa.bench.baselines import FAMILIES
    from vepa.errors import SettingError, Where

    asking = [name for name in baselines if name in FAMILIES and FAMILIES[name].asks]
    embedding = [name for name in asking if FAMILIES[name].embeds]
    _none_idle(
        bool(asking),
        "asks a model",
        [name for name, each in FAMILIES.items() if each.asks],
        {
            "judge": model,
            "judge-settings": settings,
            "judge-tokens": tokens,
            "judge-dollars": dollars,
        },
    )
    _none_idle(
        bool(embedding),
        "asks an embedder",
        [name for name, each in FAMILIES.items() if each.embeds],
        {"embedder": embedder, "embedder-settings": embedder_settings},
    )
    if not asking:
        return None
    if model is None:
        raise SettingError(
            f"the baseline {asking[0]!r} asks a language model, and none is named",
            where=Where(field="--judge"),
            remedy="name one, such as openai/…, anthropic/… or recorded/… (docs/models.md), or "
            "leave the baseline out",
        )
    if embedding and embedder is None:
        raise SettingError(
            f"the baseline {embedding[0]!r} searches its memory by embeddings, and no embedder is "
            "named",
            where=Where(field="--embedder"),
            remedy="name an embedding model, or hashing/1024, which is worked out here and needs "
            "none (docs/baselines.md)",
        )
    named = {"embedder": embedder, "tokens": tokens, "dollars": dollars}
    given: dict[str, Any] = {name: each for name, each in named.items() if each is not None}
    if settings is not None:
        given["settings"] = _read(settings)
    if embedder_settings is not None:
        given["embedder_settings"] = _read(embedder_settings)
    return {"model": model, **given}


def _none_idle(
    wanted: bool, does: str, families: list[str], options: Mapping[str, object | None]
) -> None:
    from vepa.errors import SettingError, Where

    idle = next((name for name, given in options.items() if given is not None), None)
    if idle is not None and not wanted:
        raise SettingError(
            f"none of the baselines {does}",
            where=Where(field=f"--{idle}"),
            remedy=f"those that do: --baselines {','.join(families)}; or leave the option out",
        )


def _read(file: Path) -> Any:
    from vepa.cli.parse_models import settings_of

    return settings_of(file)
