"""What a parser may see of a trace: everything that is hashed, and nothing else."""

from __future__ import annotations

from vepa.corpus.trajectory import OfferedTool, Premises, Result, Step, Trajectory
from vepa.parsing.llm.pieces import pieces_of


def full() -> Trajectory:
    """A trace in which everything that has a place is there."""
    call = {"id": "c1", "tool": "look", "arguments": {"at": "sky"}}
    steps = [
        Step(index=0, kind="user", text="Look up.", speaker="Ana", conversation=0),
        Step.model_validate({"index": 1, "kind": "call", "call": call, "thought": "Up."}),
    ]
    steps[1] = steps[1].model_copy(update={"result": Result(ok=True, content="blue")})
    return Trajectory(
        id="told/1",
        task="t",
        persona="p",
        model="m",
        seed=3,
        environments={"mail": "d1"},
        offered=[OfferedTool(name="look", description="Looks.")],
        premises=Premises(own=["ana@home.example"]),
        system="Be kind.",
        steps=steps,
        label="refuse",
        marked=1,
        format="x",
        meta={"rationale": "because"},
    )


def test_the_piece_of_a_whole_trace_has_its_content_and_no_verdict():
    trace = full()
    (piece,) = pieces_of(trace, "trajectory")
    assert piece.trajectory.content_hash == trace.content_hash
    assert piece.id == "told/1"
    for name in ("label", "marked", "format"):
        assert getattr(piece.trajectory, name) is None
    assert piece.trajectory.meta == {}
    assert piece.trajectory.id == ""
