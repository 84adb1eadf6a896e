"""What parsing will take, before anything is spent."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from vepa.corpus.trajectory import Trajectory
from vepa.llm.messages import ModelRequest
from vepa.llm.prices import count_tokens, estimate
from vepa.llm.settings import ModelSettings
from vepa.parsing.llm.parser import LLMParser
from vepa.policy.event import Unit

__all__ = ["Estimate", "estimate_parsing"]

#: Tokens of the frame of an answer, and of one field with its value.
_FRAME, _A_FIELD = 10, 12


@dataclass(frozen=True, slots=True)
class Estimate:
    """What parsing traces will take.

    Attributes
    ----------
    traces, requests
        How many; a request an event.
    kept
        Requests whose answers are there already and cost nothing.
    shortened
        Requests whose trace is not shown whole.
    prompt, completion
        Tokens read and written by the others, guessed on the high side.
    dollars
        US dollars; None where the price is not known.
    """

    traces: int
    requests: int
    kept: int
    shortened: int
    prompt: int
    completion: int
    dollars: float | None


def estimate_parsing(
    parser: LLMParser,
    trajectories: Iterable[Trajectory],
    unit: Unit,
    model: str,
    settings: ModelSettings,
    is_kept: Callable[[ModelRequest], bool] = lambda _: False,
) -> Estimate:
    """Make every request and count it; none is sent.

    Parameters
    ----------
    parser
        Needs no model.
    trajectories, unit
        What would be parsed.
    model, settings
        Who would be asked, and how.
    is_kept
        Whether the answer to a request is there already.
    """
    traces = requests = kept = shortened = prompt = completion = 0
    for trajectory in trajectories:
        traces += 1
        for request, whole in parser.requests(trajectory, unit):
            requests += 1
            shortened += not whole
            if is_kept(request):
                kept += 1
                continue
            prompt += count_tokens(request, model)
            completion += _FRAME + _A_FIELD * len(parser.schema)
    dollars = estimate(model, prompt, completion, settings) if prompt else 0.0
    return Estimate(traces, requests, kept, shortened, prompt, completion, dollars)
