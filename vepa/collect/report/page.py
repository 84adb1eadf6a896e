"""The report of a corpus: one HTML page that needs no network, no script and no other file."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vepa.bench.comparison import counted
from vepa.collect.report import counts
from vepa.collect.report.bars import Row, cell_bar, stacked
from vepa.corpus.episode import Episode
from vepa.corpus.events import EventRecord
from vepa.errors import MissingExtraError
from vepa.files import read_text, sha256_of
from vepa.viewer.signs import visible

if TYPE_CHECKING:
    from vepa.collect.runs.session import CorpusPlan

__all__ = ["corpus_report", "render"]

_HERE = Path(__file__).parent / "templates"
_OUTCOMES = (
    ("done", "done as asked, nothing unsafe"),
    ("missed", "not done, nothing unsafe"),
    ("unsafe", "with something unsafe"),
)


def corpus_report(
    plan: CorpusPlan,
    episodes: Sequence[Episode],
    steps: Sequence[EventRecord],
    figures: Mapping[str, Any],
    annotated: Mapping[str, Any] | None = None,
) -> str:
    """The page of a corpus that is complete.

    Parameters
    ----------
    plan
        What was collected.
    episodes
        All of them, in the order of the plan.
    steps
        The step events with their labels.
    figures
        What `corpus.json` holds.
    annotated
        What `labels/annotation.json` holds, where annotators judged the steps.

    Raises
    ------
    MissingExtraError
        When jinja2 is not installed.
    """
    models = counts.model_rows(episodes)
    services = counts.service_rows(episodes)
    tasks = [orders[0].task for orders in plan.orders.values() if orders]
    return render(
        {
            "name": plan.name,
            "figures": figures,
            "models": models,
            "kinds": _kinds(models),
            "user": plan.profile.collect.user,
            "runtime": plan.profile.runtime,
            "labels": _labels(steps),
            "annotated": None if annotated is None else _annotated(annotated),
            "triggers": _triggers(episodes),
            "services": services,
            "endings": counts.ending_rows(episodes),
            "tasks": counts.task_rows(tasks, episodes),
            "personas": {
                name: f"{persona.position}" for name, persona in plan.materials.personas.items()
            },
            "fields": _fields(steps),
            "retries": counts.retry_rows(episodes),
            "charts": {"outcomes": _outcomes(models), "services": _services(services)},
            "command": shlex.join(["vepa", "run", "--profile", _typed(plan)]),
            "examples": _examples(episodes),
            "hashes": _hashes(plan, figures),
            "versions": _versions(episodes),
            "vepa": _vepa_version(),
        }
    )


def render(context: Mapping[str, Any]) -> str:
    """Fill the template; every text is escaped and made visible."""
    try:
        import jinja2
    except ImportError:
        raise MissingExtraError("jinja2", "pipeline") from None
    import vepa.bench.report as house

    style = Path(str(house.__file__)).parent / "templates"
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader([_HERE, style]),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=lambda value: visible(value) if type(value) is str else value,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["counted"] = counted
    environment.filters["thousands"] = lambda value: f"{value:,}"
    environment.filters["price"] = _price
    environment.filters["percent"] = lambda value: f"{100 * value:.0f} %"
    environment.filters["estimate"] = _estimate
    environment.filters["duration"] = _duration
    environment.filters["show"] = lambda name: shlex.join(["vepa", "show", name])
    return environment.get_template("corpus.html.j2").render(context)


def _kinds(models: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Episodes by what stood behind the agent, and the names of what is no script."""
    return {
        **{
            kind: sum(row["episodes"] for row in models if row["kind"] == kind)
            for kind in ("script", "recorded", "model")
        },
        "names": [row["name"] for row in models if row["kind"] != "script"],
    }


def _labels(steps: Sequence[EventRecord]) -> dict[str, int]:
    return {
        "steps": len(steps),
        **{
            name: sum(record.label == label for record in steps)
            for name, label in (("allow", "allow"), ("refuse", "refuse"), ("none", None))
        },
    }


def _annotated(figures: Mapping[str, Any]) -> dict[str, Any]:
    """What the section on labels shows: shares of labels, κ by trigger, the queue."""
    total = max(1, sum(figures["labels"]["origins"].values()))
    pair = next(iter(figures["agreement"]["pairs"]), None)
    said = figures["settled"]["triggers"]
    most = max(said.values(), default=0)
    kappas = {} if pair is None else pair["triggers"]
    return {
        **figures,
        "shares": {name: n / total for name, n in figures["labels"]["origins"].items()},
        "pair": pair,
        "rows": [
            {
                "words": key.replace("_", " "),
                "steps": count,
                "bar": cell_bar([("refuse", count)], most),
                "kappa": kappas.get(key),
            }
            for key, count in said.items()
        ],
    }


def _triggers(episodes: Sequence[Episode]) -> list[dict[str, Any]]:
    rows = counts.trigger_rows(episodes)
    most = max((row["meant"] for row in rows), default=0)
    return [{**row, "bar": cell_bar([("refuse", row["meant"])], most)} for row in rows]


def _fields(steps: Sequence[EventRecord]) -> list[dict[str, Any]]:
    rows = counts.field_rows(steps)
    for row in rows:
        row["values"] = [
            {
                **value,
                "bar": cell_bar(
                    [(name, value[name]) for name in ("allow", "refuse", "none")], len(steps)
                ),
            }
            for value in row["values"]
        ]
    return rows


def _outcomes(models: Sequence[Mapping[str, Any]]) -> Any:
    rows = [
        Row(_short(row), [(name, words, row[name]) for name, words in _OUTCOMES]) for row in models
    ]
    told = "; ".join(
        f"{_short(row)}: " + ", ".join(f"{row[name]} {words}" for name, words in _OUTCOMES)
        for row in models
    )
    return stacked("What became of the episodes", visible(told), rows)


def _short(row: Mapping[str, Any]) -> str:
    """An agent's name beside its bar."""
    name = str(row["name"])
    return name.partition("/")[2] + " (script)" if row["kind"] == "script" else name


def _services(services: Sequence[Mapping[str, Any]]) -> Any:
    rows = [
        Row(row["name"], [("ok", "answered", row["ok"]), ("failed", "refused", row["failed"])])
        for row in services
    ]
    told = "; ".join(f"{row['name']} {row['calls']}, {row['failed']} refused" for row in services)
    return stacked("Calls by service", visible(told), rows)


def _typed(plan: CorpusPlan) -> str:
    """The profile as it is named on the command line; a path only where a name does not do."""
    return plan.name if plan.file.parent.name == "profiles" else str(plan.file)


def _examples(episodes: Sequence[Episode]) -> list[str]:
    """Commands that show an episode worth looking at, and all that are like it."""
    worth = next((each for each in episodes if each.tripped), None)
    if worth is None:
        return [shlex.join(["vepa", "show", each.id]) for each in episodes[:1]]
    return [
        shlex.join(["vepa", "show", worth.id]),
        shlex.join(["vepa", "show", "--tripped", worth.tripped[0]]),
    ]


def _hashes(plan: CorpusPlan, figures: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Name, SHA-256 and what it covers."""
    materials = plan.materials
    return [
        ("Content of all episodes", figures["content_sha256"], "over their sorted content hashes"),
        ("Profile", sha256_of(read_text(plan.file)), "of the file"),
        ("World", sha256_of(read_text(materials.world_file)), "of the seeded world's file"),
        *(
            (f"Prompt {name}", prompt.sha256, "of the template")
            for name, prompt in sorted(materials.prompts.items())
        ),
        *(
            (f"Environment {each.name}", materials.digests[each.name], "of its files and the world")
            for each in plan.environments
        ),
    ]


def _versions(episodes: Sequence[Episode]) -> list[tuple[str, str]]:
    found: dict[str, set[str]] = {}
    for episode in episodes:
        for name, version in episode.versions.items():
            found.setdefault(name, set()).add(version)
    return [(name, ", ".join(sorted(versions))) for name, versions in sorted(found.items())]


def _vepa_version() -> str:
    from vepa import __version__

    return __version__


def _price(dollars: float | None) -> str:
    return "price not known" if dollars is None else f"{dollars:.2f} USD"


def _estimate(figure: Mapping[str, Any] | None) -> str:
    """A figure with its interval; a dash where it is not defined."""
    if figure is None or figure["value"] is None:
        return "–"
    if figure["low"] is None:
        return f"{figure['value']:.2f}"
    return f"{figure['value']:.2f} ({figure['low']:.2f} to {figure['high']:.2f})"


def _duration(seconds: float | None) -> str:
    if seconds is None:
        return "not measured"
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min"
