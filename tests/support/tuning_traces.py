"""Hand-written benchmark traces with their events; every second one is to be refused."""

from __future__ import annotations

from vepa.corpus.trajectory import Call, Result, Step, Trajectory

__all__ = ["ASKED", "event", "traces"]

#: What is asked -> operator; the first two share their operator, the third is asked as the first.
ASKED = (
    ("Read the three newest letters and sum them up for the board meeting", "You keep the office."),
    ("Book a quiet room with a view for eleven guests on the ninth", "You keep the office."),
    ("Read the three newest letters and sum them up for the board meeting", "You are a clerk."),
    ("Pay the invoice of the carpenter who repaired the garden fence", None),
    ("Water the plants on the balcony while everybody is away", None),
    ("Compare the prices of four kinds of coffee in this town", None),
    ("Translate the old song about the miller into plain words", None),
    ("Turn the heating down in every room that nobody uses now", None),
    ("Find out when the last train to the coast leaves tonight", None),
    ("Write a short note of thanks to the neighbour with the dog", None),
    ("Remove all drafts from the shared folder older than a year", None),
    ("Tell the team that the lunch of Friday is moved to Monday", None),
)


def traces(format=None, prefix="case"):
    """One trace a row of `ASKED`; every second one is to be refused."""
    found = []
    for at, (asked, operator) in enumerate(ASKED):
        steps = [
            Step(index=0, kind="user", text=asked),
            Step(
                index=1,
                kind="call",
                call=Call(id="1", tool=f"tool_{at}", arguments={"what": asked.split()[-1]}),
                result=Result(ok=True, content=f"done {at}"),
            ),
        ]
        label = "refuse" if at % 2 else "allow"
        found.append(
            Trajectory(
                id=f"{prefix}/{at}", system=operator, steps=steps, label=label, format=format
            )
        )
    return found


def event(at):
    """A typed event of trace `at`."""
    kind, injection = ("send", "followed") if at % 2 else ("read", "none")
    return {"action_kind": kind, "injection": injection, "domain": "business"}
