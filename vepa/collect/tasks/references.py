"""What a task refers to: tools, checks, plants, earlier answers. Faults by place in the file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic import TypeAdapter, ValidationError

from vepa.collect.tasks.model import BAD, Check, Decoy, Planted, Task
from vepa.collect.tasks.plan import Move, Turn, flatten
from vepa.errors import InputError
from vepa.policy.schema import bundled_schema, nearest
from vepa.services.environment import Environment, Step, Tool, check_arguments
from vepa.services.template_reading import check_templates, names_in

__all__ = ["Fault", "faults_of", "offered_tools"]

Place = tuple[str | int, ...]
#: Place in the file, what is wrong, a remedy where there is a better one than the page.
Fault = tuple[Place, str, str | None]

#: What templates of plans know beside the answers of earlier calls.
_KNOWN = {"reply"}


def offered_tools(environments: Mapping[str, Environment], names: Sequence[str]) -> dict[str, Tool]:
    """The tools of some environments by name."""
    return {
        tool.name: tool
        for name in names
        if name in environments
        for tool in environments[name].tools
    }


def faults_of(task: Task, environments: Mapping[str, Environment] | None) -> Iterator[Fault]:
    """Everything that a task refers to and that is not there."""
    yield from _plans(task)
    if environments is None:
        return
    for at, name in enumerate(task.environments):
        if name not in environments:
            near = nearest(name, sorted(environments), "environments")
            yield ("environments", at), f"no environment {name!r}", near
    offered: dict[str, Tool] = dict(offered_tools(environments, task.environments))
    everything = offered_tools(environments, list(environments))
    for at, decoy in enumerate(task.decoys):
        yield from _decoy(("decoys", at), decoy, everything)
    decoys = {decoy.name: everything.get(decoy.like) for decoy in task.decoys}
    known: dict[str, Tool | None] = {**offered, **decoys}
    for at, item in enumerate(task.planted):
        yield from _planted(("planted", at), item, environments, everything)
    for key in ("success", "unsafe"):
        for at, check in enumerate(getattr(task, key)):
            yield from _check((key, at), check, environments, known)
    for name, plan in task.plans.items():
        for at, turn in enumerate(plan):
            yield from _calls(("plans", name, at), turn, known)


def _plans(task: Task) -> Iterator[Fault]:
    careful = task.plans["careful"]
    for at, turn in enumerate(careful):
        if turn.same is not None:
            yield ("plans", "careful", at, "same"), "`same` belongs to plans of the others", None
            return
        if turn.triggers:
            yield ("plans", "careful", at), "the careful plan trips nothing", None
    expected = set(task.triggers)
    tripped: set[str] = set()
    for name, plan in task.plans.items():
        try:
            turns = flatten(plan, careful)
        except ValueError as error:
            yield ("plans", name), str(error), None
            continue
        yield from _names(("plans", name), turns)
        found = {trigger for turn in turns for trigger in turn.triggers}
        tripped |= found
        if name in BAD and not found:
            yield ("plans", name), "no turn says which trigger it `trips`", None
        for trigger in sorted(found - expected):
            yield ("plans", name), f"trips {trigger}, but no `unsafe` check has it", None
    for at, check in enumerate(task.unsafe):
        if check.trigger not in tripped:
            yield ("unsafe", at, "trigger"), f"no plan trips {check.trigger}", None


def _names(place: Place, turns: Sequence[Turn]) -> Iterator[Fault]:
    """Templates that use an answer before it is there."""
    known = set(_KNOWN)
    for turn in turns:
        values: list[Any] = [move.arguments for move in turn.moves] + [turn.words or ""]
        wrong = check_templates(values)
        if wrong:
            yield place, wrong, None
        for name in sorted(names_in(values) - known):
            near = nearest(name, sorted(known), "names")
            yield place, f"a template uses {name!r}, which no earlier call is called", near
        known |= {move.id for move in turn.moves if move.id}


def _calls(place: Place, turn: Turn, known: Mapping[str, Tool | None]) -> Iterator[Fault]:
    for at, move in enumerate(turn.moves):
        where = (*place, "together", at) if turn.together else place
        yield from _move(where, move, known)


def _move(place: Place, move: Move, known: Mapping[str, Tool | None]) -> Iterator[Fault]:
    if move.call not in known:
        near = nearest(move.call, sorted(known), "tools of the task's environments")
        yield (*place, "call"), f"the task offers no tool {move.call!r}", near
        return
    tool = known[move.call]
    if tool is None or names_in(move.arguments):
        return  # what a template becomes, only the run can tell
    try:
        check_arguments(tool, move.arguments)
    except InputError as error:
        yield (*place, "with"), error.message, error.remedy


def _decoy(place: Place, decoy: Decoy, tools: Mapping[str, Tool]) -> Iterator[Fault]:
    if decoy.name in tools:
        yield (*place, "name"), f"{decoy.name!r} is a tool of an environment", None
    if decoy.like not in tools:
        near = nearest(decoy.like, sorted(tools), "tools")
        yield (*place, "like"), f"no tool {decoy.like!r}", near
    wrong = check_templates([decoy.arguments, decoy.says])
    if wrong:
        yield place, wrong, None
    schema = bundled_schema()
    for field, value in decoy.event.items():
        if field not in schema:
            near = nearest(field, schema.names, "fields")
            yield (*place, "event", field), f"the schema has no field {field!r}", near
            continue
        for _, word in value.spelled():
            if word not in schema[field].codes:
                near = nearest(word, schema[field].values, "values")
                yield (*place, "event", field), f"{word!r} is no value of {field}", near


def _planted(
    place: Place,
    item: Planted,
    environments: Mapping[str, Environment],
    tools: Mapping[str, Tool],
) -> Iterator[Fault]:
    wrong = check_templates([item.arguments, item.steps])
    if wrong:
        yield place, wrong, None
    if item.call is not None:
        if item.call not in tools:
            near = nearest(item.call, sorted(tools), "tools")
            yield (*place, "call"), f"no tool {item.call!r}", near
        elif not names_in(item.arguments):
            try:
                check_arguments(tools[item.call], item.arguments)
            except InputError as error:
                yield (*place, "with"), error.message, error.remedy
    elif item.plant is not None:
        name, _, plant = item.plant.partition(".")
        plants = (
            {each.name: each for each in environments[name].plants} if name in environments else {}
        )
        if plant not in plants:
            ways = [
                f"{each}.{way.name}" for each in environments for way in environments[each].plants
            ]
            yield (*place, "plant"), f"no plant {item.plant!r}", nearest(item.plant, ways, "plants")
            return
        needed, extra = set(plants[plant].parameters), set(plants[plant].optional)
        given = set(item.arguments)
        if needed - given or given - needed - extra:
            message = f"{item.plant} takes {', '.join(sorted(needed))}"
            if extra:
                message += f" and may take {', '.join(sorted(extra))}"
            yield (*place, "with"), message, None
    elif item.environment not in environments:
        near = nearest(str(item.environment), sorted(environments), "environments")
        yield (*place, "environment"), f"no environment {item.environment!r}", near
    else:
        try:
            TypeAdapter(list[Step]).validate_python(item.steps)
        except ValidationError as error:
            yield (*place, "steps"), error.errors()[0]["msg"], None


def _check(
    place: Place,
    check: Check,
    environments: Mapping[str, Environment],
    known: Mapping[str, Tool | None],
) -> Iterator[Fault]:
    wrong = check_templates(check.arguments) if check.check else None
    if wrong:
        yield (*place, "with"), wrong, None
    for at, part in enumerate(check.all or []):
        yield from _check((*place, "all", at), part, environments, known)
    for key in ("called", "before"):
        tool = getattr(check, key)
        if tool is not None and tool not in known:
            near = nearest(tool, sorted(known), "tools of the task's environments")
            yield (*place, key), f"the task offers no tool {tool!r}", near
    if check.check is None:
        return
    name, _, assertion = check.check.partition(".")
    here = (
        {each.name: each for each in environments[name].assertions} if name in environments else {}
    )
    if assertion not in here:
        all_of = [
            f"{each}.{item.name}" for each in environments for item in environments[each].assertions
        ]
        yield (
            (*place, "check"),
            f"no assertion {check.check!r}",
            nearest(check.check, all_of, "assertions"),
        )
    elif set(check.arguments) != set(here[assertion].parameters):
        takes = ", ".join(here[assertion].parameters) or "nothing"
        yield (*place, "with"), f"{check.check} takes {takes}", None
