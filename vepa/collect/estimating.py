"""What a collection will take, before anything is spent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vepa.collect.orders import Materials, Order
from vepa.collect.settings import CollectSettings
from vepa.collect.tasks.references import offered_tools
from vepa.llm import Message, ModelRequest, ToolOffer, count_tokens, estimate
from vepa.services.world import World

__all__ = ["GROWTH", "WRITTEN", "Estimate", "estimate_orders"]

#: Tokens by which a conversation grows a turn: a call, and what a tool answers (measured over the
#: scripted episodes of the bundled tasks: docs/verified.md).
GROWTH = 450
#: Tokens that a model writes a turn.
WRITTEN = 160


@dataclass(frozen=True, slots=True)
class Estimate:
    """What the episodes of one model will take.

    Attributes
    ----------
    model
        Its name.
    episodes, turns
        How many; turns as the careful plans have them.
    prompt, completion
        Tokens read and written; none for scripts.
    dollars
        US dollars; None where the price is not known.
    """

    model: str
    episodes: int
    turns: int
    prompt: int
    completion: int
    dollars: float | None


def estimate_orders(
    orders: Sequence[Order], materials: Materials, settings: CollectSettings, world: World
) -> list[Estimate]:
    """What orders will take, by model.

    The first request of an episode is counted as it will be; each later turn reads `GROWTH` tokens
    more, and the number of turns is the careful plan's. A model that wanders takes more: the
    budgets of the settings are what holds.
    """
    found: list[Estimate] = []
    sizes: dict[tuple[str, str], int] = {}  # seeds of a task begin alike
    for model in dict.fromkeys(order.model for order in orders):
        mine = [order for order in orders if order.model == model]
        turns = [len(order.task.plans["careful"]) for order in mine]
        prompt = completion = 0
        if not model.startswith("scripted/"):
            for order, count in zip(mine, turns, strict=True):
                key = (model, order.task.id)
                if key not in sizes:
                    sizes[key] = count_tokens(_first(order, materials, world), model)
                first = sizes[key]
                prompt += count * first + GROWTH * count * (count - 1) // 2
                completion += WRITTEN * count
        dollars = _priced(model, sum(turns), prompt, completion, settings)
        found.append(Estimate(model, len(mine), sum(turns), prompt, completion, dollars))
    return found


def _priced(
    model: str, requests: int, prompt: int, completion: int, settings: CollectSettings
) -> float | None:
    """By the mean request: all of them at once would be priced as one with a long context."""
    if not prompt:
        return 0.0
    each = estimate(model, prompt // requests, completion // requests, settings.settings_of(model))
    return None if each is None else each * requests


def _first(order: Order, materials: Materials, world: World) -> ModelRequest:
    """The first request of an episode, but for decoys."""
    tools = offered_tools(materials.environments, order.task.environments)
    system = materials.prompts["agent"].render(
        {
            "person": world.person(order.persona.person).model_dump(mode="json"),
            "company": world.company.model_dump(mode="json"),
            "now": world.clock,
            "rights": order.persona.rights,
        }
    )
    return ModelRequest(
        messages=(
            Message(role="system", content=system),
            Message(role="user", content=order.task.request),
        ),
        tools=tuple(
            ToolOffer(name=tool.name, description=tool.description, parameters=tool.parameters)
            for tool in tools.values()
        ),
    )
