"""What a run leaves behind: policies, patches, decisions and the manifest, as text and bytes."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from vepa.bench import metrics
from vepa.bench.baselines import Prediction
from vepa.bench.prequential import RoundOutcome
from vepa.bench.runs.store import StageRecord
from vepa.bench.scores import Answers
from vepa.bench.streams import Stream
from vepa.errors import MissingExtraError
from vepa.files import canonical_json, sha256_of
from vepa.policy.event import Event
from vepa.policy.matching import ABSTAIN, ALLOW, REFUSE, CompiledPolicy

if TYPE_CHECKING:
    from polars import DataFrame

__all__ = [
    "WORDS",
    "baseline_answers",
    "baseline_frame",
    "manifest_document",
    "parquet",
    "round_figures",
    "round_products",
]

#: Code of a decision or label -> its word.
WORDS = {ALLOW: "allow", REFUSE: "refuse", ABSTAIN: "abstain"}


def round_products(stream: Stream, outcome: RoundOutcome) -> dict[str, str | bytes]:
    """The files of one round; the first round also writes the policy that it began with."""
    number = outcome.round
    products: dict[str, str | bytes] = {
        f"policies/round-{number:03}.yaml": outcome.after.to_yaml(),
        f"patches/round-{number:03}.json": json.dumps(outcome.record, indent=1) + "\n",
        f"decisions/round-{number:03}.parquet": parquet(decisions(stream, outcome)),
    }
    if number == 1:
        products["policies/round-000.yaml"] = outcome.before.to_yaml()
    return products


def decisions(stream: Stream, outcome: RoundOutcome) -> DataFrame:
    """One row an event of the round, in the order of arrival."""
    pl = _polars()
    table = stream.table
    part = stream.rounds[outcome.round - 1]
    observed = dict(zip(part.feedback.tolist(), part.observed.tolist(), strict=True))
    compiled = CompiledPolicy(outcome.before)
    fired = [
        list(
            compiled.decide(Event(tuple(table.codes[row].tolist()), table.schema, table.unit)).rules
        )
        for row in outcome.indices
    ]
    said = {row: WORDS[code] for row, code in observed.items()}
    frame: DataFrame = pl.DataFrame(
        {
            "id": [table.ids[row] for row in outcome.indices],
            "round": [outcome.round] * len(outcome.indices),
            "verdict": [WORDS[code] for code in outcome.verdicts.tolist()],
            "rules": fired,
            "policy_hash": [compiled.policy_hash] * len(outcome.indices),
            "label": [WORDS[code] for code in table.labels[outcome.indices].tolist()],
            "feedback": outcome.revealed.tolist(),
            "observed": [said.get(row) for row in outcome.indices.tolist()],
        },
        schema={
            "id": pl.String,
            "round": pl.Int32,
            "verdict": pl.String,
            "rules": pl.List(pl.String),
            "policy_hash": pl.String,
            "label": pl.String,
            "feedback": pl.Boolean,
            "observed": pl.String,
        },
    )
    return frame


def round_figures(stream: Stream, outcome: RoundOutcome) -> dict[str, Any]:
    """What progress displays show of a round."""
    truth = stream.table.labels[outcome.indices]
    attempts = outcome.record.get("attempts", [])
    return {
        "round": outcome.round,
        "events": len(outcome.indices),
        "feedback": int(outcome.revealed.sum()),
        "coverage": metrics.coverage(outcome.verdicts),
        "covered_macro_f1": metrics.covered_macro_f1(truth, outcome.verdicts),
        "confusion": metrics.confusion(truth, outcome.verdicts),
        "wrong": int(((outcome.verdicts != truth) & (outcome.verdicts != ABSTAIN)).sum()),
        "patches": {
            "tried": len(attempts),
            "verified": sum(bool(attempt["verified"]) for attempt in attempts),
            "accepted": len(outcome.record.get("accepted", [])),
        },
        "rules": outcome.rules,
        "wrong_feedback": outcome.record.get("wrong_feedback"),
        "policy_hash": outcome.after.policy_hash,
        "questions": outcome.record.get("questions", 0),
        "model_ended": outcome.record.get("model_ended", False),
    }


def parquet(frame: DataFrame) -> bytes:
    """A table as parquet; the same table gives the same bytes."""
    buffer = io.BytesIO()
    frame.write_parquet(buffer, compression="zstd", statistics=True)
    return buffer.getvalue()


def manifest_document(
    id: str,
    inputs: Mapping[str, Any],
    locations: Mapping[str, Any],
    records: Mapping[str, StageRecord],
    cost: Mapping[str, float],
    finished: bool,
) -> dict[str, Any]:
    """The manifest: inputs, products with their hashes, cost; places and times beside the content.

    Parameters
    ----------
    id
        Of the run.
    inputs
        All that the products depend on.
    locations
        Where inputs lie on this machine.
    records
        The stages that are done.
    cost
        Money and model calls.
    finished
        Whether that is all of them.
    """
    products = {
        name: digest for record in records.values() for name, digest in record.products.items()
    }
    content = {
        "id": id,
        "inputs": dict(inputs),
        "products": dict(sorted(products.items())),
        "cost": dict(cost),
    }
    # Not the money: an answer that was kept costs nothing the next time.
    lasting = {**content, "cost": {**cost, "usd": 0.0}}
    return {
        **content,
        "content_sha256": sha256_of(canonical_json(lasting)),
        "finished": finished,
        "locations": dict(locations),
        "seconds": {
            "stages": {stage: round(record.seconds, 3) for stage, record in records.items()},
            "total": round(float(np.sum([record.seconds for record in records.values()])), 3),
        },
    }


def baseline_frame(stream: Stream, said: Mapping[str, Prediction]) -> DataFrame:
    """One row an event and learner, events in the order of arrival."""
    pl = _polars()
    ids = [stream.table.ids[row] for row in stream.order]
    numbers = [part.number for part in stream.rounds for _ in part.indices]
    frame: DataFrame = pl.concat(
        [
            pl.DataFrame(
                {
                    "method": [name] * len(ids),
                    "id": ids,
                    "round": pl.Series(numbers, dtype=pl.Int32),
                    "verdict": [WORDS[code] for code in found.labels.tolist()],
                    "confidence": found.confidence,
                }
            )
            for name, found in said.items()
        ]
    )
    return frame


def baseline_answers(stream: Stream, data: bytes) -> dict[str, Answers]:
    """The inverse of `parquet(baseline_frame(...))`: learner -> its answers."""
    frame = _polars().read_parquet(io.BytesIO(data))
    truth = stream.table.labels[stream.order]
    codes = {word: code for code, word in WORDS.items()}
    return {
        str(name): Answers(
            truth,
            np.array([codes[word] for word in part["verdict"]], dtype=np.int8),
            part["confidence"].to_numpy(),
        )
        for (name,), part in frame.group_by("method", maintain_order=True)
    }


def _polars() -> Any:
    try:
        import polars
    except ImportError:
        raise MissingExtraError("polars", "pipeline") from None
    return polars
