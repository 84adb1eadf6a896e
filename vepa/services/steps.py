"""Running the requests of an environment: seeds, tools, states, assertions and resets alike."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from vepa.errors import InputError, VepaError, Where
from vepa.services.drivers import Answer, Caller, Deadline, Driver, Endpoint, make_driver
from vepa.services.environment import Environment, Step, where_in
from vepa.services.templates import TemplateFault, evaluate, render
from vepa.services.world import World

__all__ = ["Connection", "StepFault", "StepRefused"]


class StepRefused(Exception):  # noqa: N818 - what happened to the step
    """A service refused a request of a chain; the rest of it was not sent.

    Parameters
    ----------
    answer
        What the service said.
    place
        Which request it was.
    path
        Of the step in the environment file; empty where it comes from elsewhere.
    """

    def __init__(self, answer: Answer, place: str, path: tuple[str | int, ...] = ()):
        super().__init__(f"{place}: answered {answer.status}: {answer.text[:300]}")
        self.answer = answer
        self.place = place
        self.path = path


class StepFault(InputError):  # noqa: N818 - what is wrong with it
    """A request that cannot be made of what is there, or an answer that cannot be read.

    Attributes
    ----------
    why
        The reason alone, for those who do not know the environment file.
    """

    why: str = ""


class Connection:
    """One caller's way to one running service; used by one thread at a time.

    Parameters
    ----------
    environment
        The environment.
    endpoint
        Where its service listens.
    world
        The seeded world.
    """

    def __init__(self, environment: Environment, endpoint: Endpoint, world: World):
        self.environment = environment
        self.endpoint = endpoint
        self.world = world
        self._drivers: dict[str, Driver] = {}
        self.base = base_context(environment, world, endpoint)

    def caller(self, role: str) -> Caller:
        """The credentials of an account.

        Raises
        ------
        InputError
            When the environment has no such account.
        """
        accounts = self.base["accounts"]
        if role not in accounts:
            known = [name for name in accounts if not name.startswith("person:")]
            raise InputError(
                f"{self.environment.name} has no account {role!r}",
                where=Where(field="as"),
                remedy=f"one of {', '.join(known)}, or person:ID of somebody in the world",
            )
        return Caller(role, accounts[role]["user"], accounts[role]["password"])

    def run(
        self,
        steps: Iterable[Step],
        role: str,
        deadline: Deadline,
        context: Mapping[str, Any] | None = None,
        captured: list[tuple[str, str]] | None = None,
    ) -> dict[str, Any]:
        """Send a chain of requests.

        Parameters
        ----------
        steps
            The requests; each may use what earlier ones saved.
        role
            The account of steps that name none.
        deadline
            For the whole chain.
        context
            Further names for templates.
        captured
            Takes (kind, value) of what the steps capture.

        Returns
        -------
        dict
            The saved answers, and `last`: the last one.

        Raises
        ------
        StepRefused
            When the service refuses a request.
        Unreachable
            When no answer came.
        StepFault
            When a template or a request is wrong; names the step in the environment file.
        """
        names: dict[str, Any] = {**self.base, **(context or {}), "last": None}
        saved: dict[str, Any] = {"last": None}
        for place, step in enumerate(steps):
            driver = self._driver(step.driver)
            with self._placed(step, place):
                answers = self._each(step, driver, role, deadline, names, captured, place)
            outcome: Any = answers
            if step.each is None:
                outcome = answers[0] if answers else None
            saved["last"] = names["last"] = outcome
            if step.save:
                saved[step.save] = names[step.save] = outcome
        return saved

    def _each(
        self,
        step: Step,
        driver: Driver,
        role: str,
        deadline: Deadline,
        names: dict[str, Any],
        captured: list[tuple[str, str]] | None,
        place: int,
    ) -> list[Answer]:
        """Send a step's request, once an item."""
        items = [None] if step.each is None else list(evaluate(step.each, names))
        answers: list[Answer] = []
        for number, item in enumerate(items):
            names["item"], names["number"] = item, number
            who = str(render(step.account, names)) if step.account else role
            names["account"] = {"role": who, **self.base["accounts"].get(who, {})}
            if step.when is not None and not evaluate(step.when, names):
                continue
            answer = driver.request(render(step.request, names), self.caller(who), deadline)
            if not answer.ok and answer.status not in step.expect:
                named = f"{self.environment.name}: step {place} ({step.driver})"
                raise StepRefused(answer, named, self.environment.place_of(step))
            answers.append(answer)
            names["answer"] = answer
            for kind, expression in step.capture.items():
                value = evaluate(expression, names)
                if captured is not None:
                    captured.append((kind, str(value)))
        return answers

    @contextmanager
    def _placed(self, step: Step, place: int) -> Iterator[None]:
        """Say of what goes wrong in a step which one it is, and where it stands."""
        try:
            yield
        except StepRefused:
            raise
        except InputError as error:
            inner = error.where.field
            why = error.why if isinstance(error, TemplateFault) else error.message
            if inner and not isinstance(error, TemplateFault):
                why = f"{why} (at {inner})"
            raise self._fault(step, place, error.message, why, error.remedy, inner) from None
        except VepaError:
            raise
        except Exception as error:
            # Clients of protocols raise whatever their parsers do on an answer that is none. An
            # episode must not end by that; whoever looks for the cause gets it.
            why = f"{type(error).__name__}: {error}"
            raise self._fault(step, place, why, why, None, None) from error

    def _fault(
        self, step: Step, place: int, message: str, why: str, remedy: str | None, inner: str | None
    ) -> StepFault:
        path = self.environment.place_of(step)
        if path and inner:
            path = (*path, step.driver, *inner.split("."))
        where = where_in(self.environment, path) if path else Where(field=f"step {place}")
        fault = StepFault(message, where=where, remedy=remedy)
        fault.why = why
        return fault

    def _driver(self, name: str) -> Driver:
        if name not in self._drivers:
            settings = render(self.environment.drivers[name], self.base)
            self._drivers[name] = make_driver(name, settings, self.endpoint)
        return self._drivers[name]

    def close(self) -> None:
        """Drop all connections and logins."""
        for driver in self._drivers.values():
            driver.close()
        self._drivers.clear()

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def base_context(environment: Environment, world: World, endpoint: Endpoint) -> dict[str, Any]:
    """What every template of an environment may name; to be read, not changed."""
    known = _known(environment, world)
    return {**known, "host": endpoint.host, "ports": dict(endpoint.ports)}


#: Environment and world (by identity, kept alive) -> what their templates know. An office makes a
#: connection for every assertion; rendering everybody's account again would be half of its time.
_KNOWN: dict[tuple[int, int], tuple[Environment, World, dict[str, Any]]] = {}
_KEPT = 64


def _known(environment: Environment, world: World) -> dict[str, Any]:
    key = (id(environment), id(world))
    entry = _KNOWN.get(key)
    if entry is None:
        entry = (environment, world, _rendered(environment, world))
        if len(_KNOWN) >= _KEPT:
            _KNOWN.clear()
        _KNOWN[key] = entry
    return entry[2]


def _rendered(environment: Environment, world: World) -> dict[str, Any]:
    """The world, its secrets by their ids, and everybody's account."""
    data = world.model_dump(mode="json", by_alias=True)
    # By their ids, and with underscores, so that templates can write `secrets.mail_admin`.
    secrets = {secret["id"]: secret["value"] for secret in data["secrets"]}
    secrets |= {key.replace("-", "_"): value for key, value in secrets.items()}
    known = {"world": data, "secrets": secrets}
    accounts: dict[str, dict[str, Any]] = {}
    people = {person["id"]: person for person in data["people"]}
    for person in people.values():
        names = {**known, "person": person}
        accounts[f"person:{person['id']}"] = {
            "user": render(environment.people.user, names),
            "password": render(environment.people.password, names),
            "person": person,
        }
    for role, account in environment.accounts.items():
        if account.user is None:
            accounts[role] = accounts[f"person:{data['roles'][role]}"]
        else:
            accounts[role] = {
                "user": render(account.user, known),
                "password": render(account.password, known),
                "person": None,
            }
    return {**known, "accounts": accounts}
