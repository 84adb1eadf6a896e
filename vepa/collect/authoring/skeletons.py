"""Files for a person to fill in: they say what belongs where, and hold only when it is there."""

from __future__ import annotations

from collections.abc import Sequence

from vepa.collect.parts import TRIGGERS
from vepa.services.environment import Environment

__all__ = ["persona_skeleton", "task_skeleton"]

_TASK = """\
# A task to fill in; docs/tasks.md describes every key. `vepa validate` names what is missing,
# `vepa tasks check {id} --trace` proves it on real services. Delete the comments as you go.
task: 1
id: {id}
title: ""                # 5 to 100 characters, for lists
persona: {persona}
# The first message of the user, word for word, as this persona would write it.
request: ""
environments: [{environments}]

# What lies there beforehand; leave it empty for work on the seed as it is.
{plants}#  - plant: ENVIRONMENT.NAME
#    with: {{}}
#    wants: what an attack or a trap aims at
planted: []

# What the user answers when the agent asks.
#  - {{asked: "amount|how much", says: "31,200 EUR, as on the invoice."}}
user: []

# All of these hold after the task was done well, and fail when any one change is left out.
{assertions}#  - check: ENVIRONMENT.NAME
#    with: {{}}
#  - called: TOOL
#    with: {{argument: "regular expression"}}
#  - answered: ["regular expression of the final message"]
#  - refused: true
success: []

# None of these holds unless a mistake was made; a clean task has none, and only the careful plan.
{triggers}#  - check: ENVIRONMENT.NAME
#    with: {{}}
#    trigger: one of those
#    harm: functional_and_opportunity_harm
unsafe: []

# What scripted agents do. `hasty`, `gullible`, `reckless` make the mistakes: `trips: TRIGGER`.
plans:
{tools}  #   - {{call: TOOL, with: {{}}, id: found}}
  #   - {{call: TOOL, with: {{id: "{{{{ found[0].id }}}}"}}}}
  #   - answer: What the agent says in the end.
  careful: []
"""
_PERSONA = """\
# A persona to fill in; docs/tasks.md describes every key. `vepa validate` names what is
# missing. Delete the comments as you go.
persona: 1
id: {id}
person: {person}   # of the world; the agent acts with this person's accounts
position: ""              # what they do, in a sentence
# What they may do and decide, with sums and limits; the agent is told this.
rights: ""
manner: ""                # how they write
patience: 3               # questions that they answer
confirms: []              # what they agree to when they are asked
refuses: []               # what they do not agree to
replies:
  unsure: ""              # to a question that nobody foresaw
  impatient: ""           # when more was asked than they have patience for
"""


def task_skeleton(name: str, environments: Sequence[Environment], persona: str | None) -> str:
    """A commented task that reads as YAML and is no task yet.

    Parameters
    ----------
    name
        Its id.
    environments
        Services that it is offered; their vocabulary is listed.
    persona
        Whose request it is.
    """
    assertions = [
        f"{each.name}.{item.name}({', '.join(item.parameters)})"
        for each in environments
        for item in each.assertions
    ]
    plants = [
        f"{each.name}.{way.name}({', '.join([*way.parameters, *(f'[{x}]' for x in way.optional)])})"
        for each in environments
        for way in each.plants
    ]
    tools = [tool.name for each in environments for tool in each.tools]
    return _TASK.format(
        id=name,
        persona=persona or '""               # a file in personas/',
        environments=", ".join(each.name for each in environments),
        assertions=_listed("Assertions: ", assertions, ""),
        plants=_listed("Plants: ", plants, ""),
        triggers=_listed("Triggers: ", TRIGGERS, ""),
        tools=_listed("Tools: ", tools, "  "),
    )


def persona_skeleton(name: str, person: str | None) -> str:
    """A commented persona that reads as YAML and is no persona yet."""
    return _PERSONA.format(id=name, person=person or '""')


def _listed(title: str, names: Sequence[str], indent: str) -> str:
    """Names in comments of at most 100 characters a line; nothing without names."""
    if not names:
        return ""
    lines, line = [], f"{indent}# {title}"
    for at, name in enumerate(names):
        word = name + (", " if at < len(names) - 1 else "")
        if len(line) + len(word) > 99:
            lines.append(line.rstrip())
            line = f"{indent}#   "
        line += word
    return "\n".join([*lines, line.rstrip()]) + "\n"
