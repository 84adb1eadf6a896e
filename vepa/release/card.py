"""The card and the datasheet of a release, from its manifest's figures alone."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from vepa.errors import MissingExtraError
from vepa.release.citing import AUTHORS, bibtex, described
from vepa.release.describing import DESCRIBED_TABLES, columns_of, kinds_of
from vepa.release.layout import CARD, DATASHEET, Manifest, parquet_path
from vepa.release.records import SPLITS, TABLES, Split

__all__ = ["card", "column_table", "datasheet"]

#: The table that loaders take where none is named.
DEFAULT = "steps"
#: Rows up to which a loader's size category reaches, and its name.
_SIZES = (
    (10**3, "n<1K"),
    (10**4, "1K<n<10K"),
    (10**5, "10K<n<100K"),
    (10**6, "100K<n<1M"),
    (10**7, "1M<n<10M"),
)
_LARGEST = "n>10M"


def card(manifest: Manifest, leaks: Mapping[str, Any]) -> str:
    """`README.md`: what loaders and people read first.

    Parameters
    ----------
    manifest
        Of the release.
    leaks
        What `vepa.release.leakage.leakage` found.

    Raises
    ------
    MissingExtraError
        When Jinja2 or polars is not installed.
    """
    return _rendered("card.md.j2", manifest, leaks)


def datasheet(manifest: Manifest, leaks: Mapping[str, Any]) -> str:
    """`DATASHEET.md`: the questions of Gebru et al. answered.

    Parameters
    ----------
    manifest
        Of the release.
    leaks
        What `vepa.release.leakage.leakage` found.

    Raises
    ------
    MissingExtraError
        When Jinja2 or polars is not installed.
    """
    return _rendered("datasheet.md.j2", manifest, leaks)


def column_table(table: str) -> str:
    """The columns of a table with their meaning, as Markdown; card and docs show the same.

    Parameters
    ----------
    table
        One of `TABLES`.

    Raises
    ------
    MissingExtraError
        When Jinja2 or polars is not installed.
    """
    parts = _environment().get_template("parts.j2").module
    text: str = parts.columns(columns_of(table), kinds_of(table))
    return text.strip() + "\n"


def _rendered(template: str, manifest: Manifest, leaks: Mapping[str, Any]) -> str:
    figures = manifest.figures
    judged = sum(split["settled"] for split in figures["splits"].values())
    steps = sum(split["steps"] for split in figures["splits"].values())
    refuse = sum(split["refuse"] for split in figures["splits"].values())
    text: str = (
        _environment()
        .get_template(template)
        .render(
            m=manifest,
            f=figures,
            leaks=leaks,
            title=_title(manifest),
            front_matter=_front_matter(manifest),
            described=described(manifest),
            citation=bibtex(manifest),
            authors=AUTHORS,
            card_name=CARD,
            datasheet_name=DATASHEET,
            tables=TABLES,
            splits=SPLITS,
            all_filled=all(_filled(manifest, table) == list(SPLITS) for table in TABLES),
            described_tables=DESCRIBED_TABLES,
            columns={table: columns_of(table) for table in TABLES},
            kinds={table: kinds_of(table) for table in TABLES},
            episodes=sum(manifest.rows["trajectories"].values()),
            steps=steps,
            judged=judged,
            refuse=refuse,
            refuse_share=refuse / judged if judged else None,
            unjudged_sentence=_unjudged(steps - judged),
            labels_sentence=_labels(figures["label_origins"]),
            people_collected=_people(figures),
            collected=_days(figures["collected"]),
        )
    )
    # Tables come with a blank line of their own.
    return re.sub(r"\n{3,}", "\n\n", text).rstrip("\n") + "\n"


def _title(manifest: Manifest) -> str:
    return f"VEPA corpus {manifest.name}"


def _front_matter(manifest: Manifest) -> str:
    """What loaders read, as YAML."""
    origins = manifest.figures["label_origins"]
    creators = ["machine-generated"] if set(origins) - {"person"} else []
    creators += ["expert-generated"] if "person" in origins else []
    data = {
        "pretty_name": _title(manifest),
        "version": manifest.version,
        "license": manifest.licence.lower(),
        "annotations_creators": creators,
        "source_datasets": ["original"],
        "task_categories": ["text-classification"],
        "size_categories": [_size(sum(manifest.rows[DEFAULT].values()))],
        "tags": ["agents", "safety", "guardrails", "tool-use", "trajectories", "synthetic"],
        "configs": [_config(manifest, table) for table in TABLES if _filled(manifest, table)],
    }
    return yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=100)


def _filled(manifest: Manifest, table: str) -> list[Split]:
    """Splits that hold something; `datasets` refuses to load a table with an empty one."""
    return [split for split in SPLITS if manifest.rows[table][split]]


def _config(manifest: Manifest, table: str) -> dict[str, Any]:
    files = [
        {"split": split, "path": parquet_path(table, split)} for split in _filled(manifest, table)
    ]
    config: dict[str, Any] = {"config_name": table, "data_files": files}
    return {**config, "default": True} if table == DEFAULT else config


def _size(rows: int) -> str:
    return next((name for limit, name in _SIZES if rows < limit), _LARGEST)


def _unjudged(missing: int) -> str:
    if not missing:
        return "Every call and every answer has a settled label."
    return f"{missing:,} calls and answers have no settled label."


def _labels(origins: Mapping[str, int]) -> str:
    """Who labelled, in a sentence: no kind of reader is left out, none is made up."""
    total = sum(origins.values())
    kinds = {
        "recorded": "stored answers of a real model",
        "scripted": "scripts that stand in for models",
        "model": "models that were asked for this corpus",
        "person": "people",
    }
    shares = [f"{_percent(origins[key] / total)} {kinds[key]}" for key in kinds if key in origins]
    if not shares:
        return "There are no labels."
    return f"The {total:,} labels were given by: {', '.join(shares)}."


def _days(collected: Mapping[str, str]) -> str:
    first, last = collected["first"], collected["last"]
    return f"on {first}" if first == last else f"from {first} to {last}"


def _people(figures: Mapping[str, Any]) -> str:
    given = figures["label_origins"].get("person", 0)
    if not given:
        return "No people: agents, users and readers are programs."
    return (
        f"People gave {given:,} of the labels; the release does not record whether they were paid. "
        "Agents and users are programs."
    )


@cache
def _environment() -> Any:
    try:
        import jinja2
    except ImportError:
        raise MissingExtraError("jinja2", "pipeline") from None
    # Markdown and no HTML: what is escaped is what would break a table.
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=False,  # noqa: S701
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {
        "cell": _cell,
        "code": lambda text: f"`{text}`",
        "count": lambda number: f"{number:,}",
        "interval": _interval,
        "kappa": lambda value: "not defined" if value is None else f"{value:.2f}",
        "percent": _percent,
    }
    return environment


def _cell(text: object) -> str:
    """Text that stays in its cell of a table."""
    return " ".join(str(text).split()).replace("|", "\\|")


def _percent(share: float | None) -> str:
    return "none" if share is None else f"{100 * share:.1f} %"


def _interval(value: Mapping[str, Any]) -> str:
    if value["low"] is not None and value["high"] is not None:
        return f"{value['low']:.2f} to {value['high']:.2f}"
    return _cell(value["reason"] or "none")
