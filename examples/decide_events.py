"""A policy written by hand decides the bundled events; its verdicts beside their labels."""

from collections import Counter
from pathlib import Path

from vepa import CompiledPolicy, Event, bundled_schema, load_policy
from vepa.corpus.events import stream_events

HERE = Path(__file__).parent
POLICY = HERE / "injection.policy.yaml"
EVENTS = HERE.parent / "data" / "assebench_security.events.jsonl"


def main() -> None:
    """Decide every event and count."""
    schema = bundled_schema()
    guard = CompiledPolicy(load_policy(POLICY.read_text(encoding="utf-8"), POLICY.name, schema))
    counts: Counter[tuple[str, str]] = Counter()
    for record in stream_events(EVENTS, schema):
        decision = guard.decide(record.encode(schema))
        counts[decision.verdict, str(record.label)] += 1
    for verdict in ("allow", "refuse", "abstain"):
        right, wrong = counts[verdict, "allow"], counts[verdict, "refuse"]
        print(f"{verdict}: {right + wrong} events, labelled {right} allow and {wrong} refuse")

    event = Event.build(schema, {"injection": "followed", "disclosure": "unauthorized"})
    decision = guard.decide(event)
    print(f"one event: {decision.verdict}, by {', '.join(decision.rules)}")


if __name__ == "__main__":
    main()
