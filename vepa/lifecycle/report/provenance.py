"""Where the figures of a lifecycle come from: hashes, versions, commands that repeat it."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from vepa.lifecycle.report.policies import policies
from vepa.lifecycle.report.reading import table, text
from vepa.lifecycle.report.stages import Places

__all__ = ["commands", "hashes", "readers", "versions"]


def hashes(summary: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Name, digest and what it is over; those that the summary has."""
    return [(name, digest, over) for name, digest, over in _hashes(summary) if digest]


def _hashes(summary: Mapping[str, Any]) -> Iterator[tuple[str, str | None, str]]:
    said = table(summary, "annotation", "provenance")
    yield "Corpus", text(summary, "corpus", "content_sha256"), "over its episodes"
    yield "Judgements", text(summary, "annotation", "inputs"), "over all that labels depend on"
    yield "Verdicts", text(summary, "annotation", "verdicts"), "over what the queue was told"
    for name in ("template", "taxonomy"):
        told = [text(said, name, "id"), text(said, name, "version")]
        title = f"{name.capitalize()} {'/'.join(filter(None, told))}".strip()
        yield title, text(said, name, "sha256"), "of its file"
    yield "Codebook", text(said, "codebook_sha256"), "of what annotators are told"
    for name in table(said, "recordings"):
        yield f"Answers of {name}", text(said, "recordings", name), "of the recording"
    yield "Release", text(summary, "release", "content_sha256"), "over its JSON Lines files"
    for policy in policies(summary):
        yield policy.title, text(policy.data, "policy_hash"), f"made by run {policy.run or '?'}"


def readers(summary: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Annotators, and the model that each one is."""
    rows = []
    said = table(summary, "annotation", "provenance", "readers")
    for name in said:
        model = text(said, name, "model") or "?"
        otherwise = text(said, name, "otherwise")
        rows.append((name, f"{model}, else {otherwise}" if otherwise else model))
    return rows


def versions(summary: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What made it."""
    found = [
        ("VEPA", text(summary, "vepa")),
        ("Profile", text(summary, "profile")),
        ("User", text(summary, "user")),
        ("Services run as", text(summary, "runtime")),
        ("Release", text(summary, "release", "version")),
        ("Release made by VEPA", text(summary, "release", "vepa")),
        ("Licence", text(summary, "release", "licence")),
        *((f"Run of {each.title.lower()}", each.run) for each in policies(summary)),
    ]
    return [(name, value) for name, value in found if value]


def commands(places: Places) -> list[tuple[str, str]]:
    """What is typed, and what it does; only what works on what is there."""
    summary = places.summary
    profile = text(summary, "profile") or places.folder.name
    again = shlex.join(["vepa", "run", "--profile", profile])
    rows = [(again, "makes what is missing, and nothing that stands")]
    if text(summary, "corpus", "content_sha256"):
        rows.append(("vepa show", "lists episodes; with the id of one, every step of it"))
    version, before = (
        text(each, "release", "version") for each in (summary, summary.get("before"))
    )
    if version is not None and places.released(version):
        check = shlex.join(["vepa", "corpus", "check", version])
        rows.append((check, "verifies the release, every byte of it"))
        if before not in (None, version) and places.released(str(before)):
            diff = shlex.join(["vepa", "corpus", "diff", str(before), version])
            rows.append((diff, "says what is different from the release before"))
    return rows
