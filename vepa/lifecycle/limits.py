"""How many tasks may ask a provider's models at once, over all runs and workers of a server.

A Prefect server knows these limits by name, `vepa-` and the provider: `vepa-openai`. Where a server
has no limit of that name, nothing waits. Inside a process requests are limited further by the
settings of each model (docs/models.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from vepa.annotate.panel import load_panel
from vepa.annotate.runs.profile import read_annotation
from vepa.bench.runs.profile import find_profile
from vepa.collect.runs.profile import read_corpus
from vepa.llm.engine import provider_of
from vepa.project import Project

__all__ = ["LEASE", "PREFIX", "AskedModels", "asked_models", "limits_of", "within"]

#: Names of limits begin with it.
PREFIX = "vepa-"
#: Seconds that a slot stays taken when its process is killed: a living one renews it in time.
LEASE = 120.0
#: Kinds of models that no provider answers for.
_OFFLINE = ("scripted", "recorded")


@dataclass(frozen=True)
class AskedModels:
    """Limits that a profile's tasks wait for.

    Attributes
    ----------
    collect
        Of a task that plays episodes: its agents and its user.
    seats
        Name of a reader or the arbiter -> limits.
    arbiter
        Of the arbiter; none without one.
    """

    collect: list[str] = field(default_factory=list)
    seats: dict[str, list[str]] = field(default_factory=dict)
    arbiter: list[str] = field(default_factory=list)


def limits_of(models: Iterable[str | None]) -> list[str]:
    """Names of the limits over some models, each once; scripted and recorded ones have none.

    Parameters
    ----------
    models
        Names as in docs/models.md; None is skipped.

    Raises
    ------
    SettingError
        When a name leads to no provider.
    """
    found: set[str] = set()
    for name in models:
        if name is None:
            continue
        provider, _, rest = name.partition("/")
        if provider in _OFFLINE:
            continue
        # Only a bare name needs litellm, which takes seconds to load.
        found.add(PREFIX + (provider if rest else provider_of(name)))
    return sorted(found)


def asked_models(profile: str, project: str | None = None) -> AskedModels:
    """The limits that the tasks of a profile wait for; reads the profile and its panel.

    Parameters
    ----------
    profile
        Name of a profile, or its path.
    project
        Folder of the project; the working directory when left out.

    Raises
    ------
    InputError, SettingError
        At the first file that is wrong.
    """
    place = Project(project)
    file = find_profile(place, profile)
    corpus, wrong = read_corpus(file)
    annotation, also_wrong = read_annotation(file)
    if wrong or also_wrong:
        raise [*wrong, *also_wrong][0]
    collect = [] if corpus is None else [*corpus.collect.models, corpus.collect.user]
    if annotation is None:
        return AskedModels(limits_of(collect))
    panel, _ = load_panel(place, annotation.panel)
    seats = {seat.name: limits_of([seat.model, seat.otherwise]) for seat in panel.seats}
    arbiter = panel.arbiter if annotation.arbiter else None
    return AskedModels(limits_of(collect), seats, seats[arbiter.name] if arbiter else [])


@contextmanager
def within(limits: Sequence[str], lease: float = LEASE) -> Iterator[None]:
    """Hold a slot of each limit inside; waits until all are free.

    A slot is leased: the lease of a process that was killed runs out, and the server gives the slot
    to the next (`repossessor`, every 15 s). Limits that the server does not have are passed over.

    Parameters
    ----------
    limits
        From `limits_of`; none of them asks the server nothing.
    lease
        Seconds, 60 at least.
    """
    if not limits:
        yield
        return
    from prefect.concurrency.sync import concurrency

    with concurrency(list(limits), occupy=1, lease_duration=lease, strict=False):
        yield
