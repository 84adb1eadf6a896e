"""The report of a lifecycle: one HTML page that needs no network, no script and no other file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vepa.errors import MissingExtraError
from vepa.lifecycle.plan import STAGES
from vepa.lifecycle.report import provenance, reading, sources, stages
from vepa.lifecycle.report.changes import changes
from vepa.lifecycle.report.leaks import leaks
from vepa.lifecycle.report.policies import Policy, policies
from vepa.lifecycle.report.reading import (
    count,
    enumerated,
    estimate,
    listed,
    many,
    number,
    part,
    percent,
    table,
    text,
)
from vepa.lifecycle.report.stages import Places
from vepa.viewer.signs import visible

if TYPE_CHECKING:
    import jinja2

__all__ = ["PAGE", "lifecycle_report"]

#: In the folder of a lifecycle.
PAGE = "report.html"
_HERE = Path(__file__).parent / "templates"
#: Files of a release that the page leads to.
_RELEASED = (
    ("README.md", "card"), ("DATASHEET.md", "datasheet"), ("croissant.json", "Croissant"),
    ("leakage.json", "leakage"), ("provenance.json", "provenance"), ("SHA256SUMS", "checksums"),
)  # fmt: skip

#: Of `reading`, for the template.
_FILTERS = ("count", "duration", "many", "number", "percent", "price", "score", "table", "text")


def lifecycle_report(summary: Mapping[str, Any], folder: Path) -> str:
    """The page of a lifecycle, whole or not.

    Parameters
    ----------
    summary
        What all stages left, as `lifecycle.json` holds it; what is not in it is not told.
    folder
        Where the page is going to lie, `artifacts/lifecycle/NAME`: links are relative to it, and
        lead only to what is there.

    Raises
    ------
    MissingExtraError
        When jinja2 is not installed.
    """
    places = Places(folder, summary)
    found, leaking = policies(summary), leaks(places)
    broken = [] if leaking is None else [f"Release: {told}" for told in leaking.problems]
    return _render(
        {
            "name": text(summary, "profile") or folder.name,
            "at": text(summary, "at"),
            "since": text(summary, "before", "at"),
            "sentence": _sentence(summary, found),
            "figures": list(_figures(summary, found)),
            **_stages(places),
            **_sources(summary),
            "caveats": [*sources.caveats(summary), *broken],
            "changes": changes(summary),
            "made": [name for name in listed(summary, "made") if isinstance(name, str)],
            "corpus": table(summary, "corpus"),
            "annotation": table(summary, "annotation"),
            "pair": next(iter(listed(summary, "annotation", "agreement", "pairs")), None),
            **_annotated(table(summary, "annotation")),
            **_released(table(summary, "release")),
            "leaks": leaking,
            "released": [
                (words, link)
                for name, words in _RELEASED
                if (link := places.link(places.release(name))) is not None
            ],
            "policies": [(each, places.link(places.run(each.key))) for each in found],
            "train": table(summary, "train"),
            "hashes": provenance.hashes(summary),
            "readers": provenance.readers(summary),
            "versions": provenance.versions(summary),
            "commands": provenance.commands(places),
        }
    )


def _stages(places: Places) -> dict[str, Any]:
    lanes = stages.flow(places)
    rows = [row for _, lane in lanes for row in lane]
    return {
        "lanes": lanes,
        "longest": max((row.seconds for row in rows if row.seconds is not None), default=0.0),
        "links": dict.fromkeys(STAGES) | {row.stage: row.link for row in rows},
    }


def _sources(summary: Mapping[str, Any]) -> dict[str, Any]:
    found = sources.sources(summary)
    kinds = {kind for row in found for kind, number in row.counts.items() if number}
    return {"sources": found, "shown_kinds": [kind for kind in sources.KINDS if kind in kinds]}


def _annotated(annotation: Mapping[str, Any]) -> dict[str, Any]:
    """How labels came to stand, and what each purpose cost, as rows."""
    how = {"agreed": "both annotators agree", "arbiter": "by the arbiter", "person": "by people"}
    cost = []
    for purpose in table(annotation, "cost"):
        unknown = bool(count(annotation, "cost", purpose, "unpriced"))
        dollars = None if unknown else number(annotation, "cost", purpose, "dollars")
        asked = many(count(annotation, "cost", purpose, "questions"), "question")
        cost.append((f"{purpose}, {asked}", reading.price(dollars)))
    settled = [
        (how.get(name, name), many(count(annotation, "settled", "how", name)))
        for name in table(annotation, "settled", "how")
    ]
    return {"settled": settled, "cost": cost}


def _released(release: Mapping[str, Any]) -> dict[str, Any]:
    """The rows of a release by table and split."""
    names = list(dict.fromkeys(
        split for each in table(release, "rows") for split in table(release, "rows", each)
    ))  # fmt: skip
    rows = [
        {"name": each, "counts": [count(release, "rows", each, split) for split in names]}
        for each in table(release, "rows")
    ]
    return {"release": release, "split_names": names, "release_rows": rows}


def _render(context: Mapping[str, Any]) -> str:
    """Fill the template; every text is escaped and made visible."""
    try:
        from vepa.lifecycle.report import pictures

        template = _template()
    except ImportError:
        raise MissingExtraError("jinja2", "pipeline") from None
    return template.render(context, pictures=pictures, states=stages.STATES, kinds=sources.KINDS)


@cache
def _template() -> jinja2.Template:
    import jinja2

    import vepa.bench.report as house
    import vepa.collect.report as bars

    styles = [Path(str(each.__file__)).parent / "templates" for each in (house, bars)]
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader([_HERE, *styles]),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=lambda value: visible(value) if type(value) is str else value,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    for name in _FILTERS:
        environment.filters[name] = getattr(reading, name)
    return environment.get_template("lifecycle.html.j2")


def _sentence(summary: Mapping[str, Any], found: list[Policy]) -> str:
    """All of it in one sentence, of what is there."""
    told = [part for part in (_corpus_words(summary), _policy_words(found)) if part]
    if not told:
        return "No stage has left anything yet."
    sentence = "; ".join(told)
    return f"{sentence[0].upper()}{sentence[1:]}."


def _corpus_words(summary: Mapping[str, Any]) -> str:
    steps, episodes = count(summary, "corpus", "steps"), count(summary, "corpus", "episodes")
    told = []
    if episodes is not None:
        told.append(f"{many(episodes, 'episode')} gave {many(steps, 'step')}")
    stand = count(summary, "annotation", "settled", "steps")
    if stand is not None:
        share = "all" if stand == steps and stand else many(stand)
        told.append(f"{share} with a label that stands")
    version = text(summary, "release", "version")
    if version is not None:
        told.append(f"released as {version}")
    elif "release" in listed(summary, "stages"):
        told.append("not released yet")
    return ", ".join(told)


def _policy_words(found: list[Policy]) -> str:
    told = []
    for policy in found:
        name = policy.title[0].lower() + policy.title[1:]
        if policy.silent:
            told.append(f"the {name} decides nothing")
        else:
            share = percent(policy.figure("mean_coverage"))
            told.append(f"the {name} decides {share} of its {policy.noun}s")
    return enumerated(told)


def _figures(summary: Mapping[str, Any], found: list[Policy]) -> Iterator[tuple[str, str, str]]:
    """Name, value, and what is to be said with it."""
    corpus = table(summary, "corpus")
    if corpus:
        scripts = f"in {many(count(corpus, 'scripted'))} a script is agent or user"
        told = f"{many(count(corpus, 'tasks'), 'task')}; {scripts}"
        yield "Episodes", many(count(corpus, "episodes")), told
        yield "Steps", many(count(corpus, "steps")), f"{many(count(corpus, 'calls'))} calls"
    if table(summary, "annotation"):
        yield _labels(summary)
        yield _agreement(summary)
    if "release" in listed(summary, "stages"):
        rows = table(summary, "release", "rows")
        told = f"{many(len(rows), 'table')}" if rows else "of this corpus"
        yield "Release", text(summary, "release", "version") or "none yet", told
    for policy in found:
        if policy.silent:
            told = f"{policy.coverage}"
        else:
            told = f"covered macro-F1; {policy.coverage}; unsafe allowed {policy.wrong('refuse')}"
        yield policy.title, policy.covered_f1, told


def _labels(summary: Mapping[str, Any]) -> tuple[str, str, str]:
    steps = count(summary, "annotation", "labels", "steps")
    stand = count(summary, "annotation", "settled", "steps")
    waiting = count(summary, "annotation", "queue", "open")
    refuse = count(summary, "annotation", "settled", "refuse")
    told = [f"of {many(steps, 'step')}", f"{many(refuse)} refuse"]
    told.append(f"{many(waiting, 'dispute')} open" if waiting else "no dispute is open")
    return "Labels that stand", many(stand), "; ".join(told)


def _agreement(summary: Mapping[str, Any]) -> tuple[str, str, str]:
    heading = text(summary, "annotation", "agreement", "heading") or ""
    pairs = listed(summary, "annotation", "agreement", "pairs")
    kappa = part(pairs[0], "decision") if pairs else None
    value = number(kappa, "value")
    if value is None:
        reason = text(kappa, "reason") or heading
        return "κ of the decision", "none", reason
    low, high = number(kappa, "low"), number(kappa, "high")
    ends = "no interval" if low is None or high is None else f"95 %: {low:.2f} to {high:.2f}"
    return "κ of the decision", estimate({"value": value}), f"{ends}; {heading}"
