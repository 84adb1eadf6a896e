"""The docker runtime: services as containers, through the docker SDK."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from vepa.errors import RunError, SettingError
from vepa.files import canonical_json, sha256_of, write_atomic
from vepa.services.drivers import Endpoint
from vepa.services.environment import Environment
from vepa.services.places import Places, make_private, places
from vepa.services.runtimes import docker_plan as plan
from vepa.services.runtimes.base import Condition, Progress, RuntimeName, Slot
from vepa.services.runtimes.docker_errors import PortInUseError, told
from vepa.services.runtimes.docker_looks import (
    checks_of,
    death,
    known_ports,
    log_end,
    memory_of,
    published,
    remember_ports,
    watcher,
)
from vepa.services.runtimes.docker_office import Offices
from vepa.services.runtimes.docker_official import official_id
from vepa.services.runtimes.health import wait_healthy
from vepa.services.runtimes.images import (
    LABELS,
    build_image,
    connect,
    find_image,
    image_reference,
)
from vepa.services.runtimes.wheels import collect_wheels, wheels_fit

__all__ = ["DockerRuntime"]

_LOG = "service.log"


class DockerRuntime:
    """Runs services as containers (see `Runtime`)."""

    name: RuntimeName = "docker"

    def __init__(self, root: Places | None = None):
        self._places = root or places()
        self._offices = Offices(self._places.root)
        self._references: dict[Path, tuple[str, str]] = {}

    # --- the interface

    @told
    def ready(self, environments: Sequence[Environment], progress: Progress | None = None) -> None:
        """See `Runtime.ready`; images are built here, the official ones pulled."""
        self._sweep_lost()
        for environment in environments:
            if plan.form_of(environment) == "official":
                self._official_id(environment)
            else:
                self._build(environment, progress)

    @told
    def fingerprint(self, environment: Environment) -> str:
        """See `Runtime.fingerprint`."""
        if plan.form_of(environment) == "official":
            image = self._official_id(environment)
        else:
            image = self._reference(environment)[1]
        return sha256_of(canonical_json(["docker", image]))

    @told
    def has_snapshot(self, environment: Environment, key: str) -> bool:
        """See `Runtime.has_snapshot`."""
        return find_image(self._client, self._seed_image(environment, key)) is not None

    @told
    def start(self, slot: Slot, snapshot: str | None) -> Endpoint:
        """See `Runtime.start`."""
        make_private(slot.folder)
        endpoint = self._start(slot, snapshot, {})
        if snapshot is not None:
            seed = self._client.images.get(self._seed_image(slot.environment, snapshot))
            seed.tag(*plan.latest_seed(slot.environment))
        return endpoint

    @told
    def keep(self, slot: Slot, key: str) -> None:
        """See `Runtime.keep`."""
        container = self._container(slot)
        if plan.form_of(slot.environment) == "built":
            self._ask(slot, container, {"do": "keep"})
        container.stop(timeout=int(slot.environment.process.stop.seconds) + 1)
        repository, tag = self._seed_image(slot.environment, key).split(":")
        labels = {LABELS["environment"]: slot.name, LABELS["content"]: key}
        labels[LABELS["root"]] = self._offices.mark
        container.commit(repository=repository, tag=tag, conf={"Labels": labels})
        self.stop(slot)

    @told
    def drop_snapshot(self, environment: Environment, key: str) -> None:
        """See `Runtime.drop_snapshot`."""
        from docker.errors import ImageNotFound

        with suppress(ImageNotFound):
            self._client.images.remove(self._seed_image(environment, key), force=True)

    @told
    def restore(self, slot: Slot, key: str) -> Endpoint:
        """See `Runtime.restore`; where nothing in the container can do it, by a new container."""
        container = self._offices.find(slot)
        ports = published(slot, container) if container is not None else None
        running = ports is not None and container.status == "running"
        if not running or plan.form_of(slot.environment) == "official":
            if container is not None:
                container.remove(force=True, v=True)
            try:
                return self._start(slot, key, known_ports(slot))
            except PortInUseError:  # somebody has taken it meanwhile
                return self._start(slot, key, {})
        reset = slot.environment.reset
        if reset.how == "live":
            ask = {"do": "mirror", "paths": reset.paths, "signal": reset.signal}
            self._ask(slot, container, ask)
        else:
            self._ask(slot, container, {"do": "restart"})
            self._wait(slot, container, ports or {})
        return Endpoint(plan.HOST, ports or {})

    @told
    def condition(self, slot: Slot) -> Condition:
        """See `Runtime.condition`."""
        container = self._offices.find(slot)
        if container is None:
            return Condition("stopped")
        ports = published(slot, container)
        reason = death(container)
        if reason is not None or ports is None:
            reason = f"{reason or 'its ports are not published'}\n{log_end(container, 8)}".rstrip()
            return Condition("failed", reason=reason)
        return Condition("running", Endpoint(plan.HOST, ports), memory=memory_of(container))

    @told
    def logs(self, slot: Slot, lines: int) -> str:
        """See `Runtime.logs`."""
        container = self._offices.find(slot)
        if container is not None:
            return log_end(container, lines)
        kept = slot.folder / _LOG
        text = kept.read_text("utf-8", "replace") if kept.is_file() else ""
        return "\n".join(text.splitlines()[-lines:])

    @told
    def stop(self, slot: Slot) -> None:
        """See `Runtime.stop`; what is in the container is given up, its log is kept."""
        from docker.errors import APIError, NotFound

        container = self._offices.find(slot)
        if container is not None:
            with suppress(APIError):
                if slot.folder.is_dir():
                    write_atomic(slot.folder / _LOG, log_end(container, 10_000) + "\n")
            with suppress(NotFound):
                container.remove(force=True, v=True)
        self._offices.close(slot.office)

    @told
    def sweep(self, offices: Sequence[str]) -> list[str]:
        """See `Runtime.sweep`; where no engine answers nothing runs either.

        What such an engine still has of them goes with the next `ready`.
        """
        try:
            connect()
        except SettingError:
            return []
        return [item for office in offices for item in self._offices.sweep(office)]

    # --- the engine

    @property
    def _client(self) -> Any:
        return connect()

    def _sweep_lost(self) -> None:
        """Remove what is left of offices that have no folder any more."""
        for office in self._offices.known():
            if not self._places.office(office).is_dir():
                self._offices.sweep(office)

    # --- images

    def _official_id(self, environment: Environment) -> str:
        return official_id(self._client, environment, self._places.root)

    def _reference(self, environment: Environment) -> tuple[str, str]:
        """Name and content of its built image; files that change meanwhile make no other one."""
        known = self._references.get(environment.file)
        if known is None:
            known = image_reference(self._client, plan.recipe_of(environment))
            self._references[environment.file] = known
        return known

    def _build(self, environment: Environment, progress: Progress | None) -> str:
        recipe = plan.recipe_of(environment)
        reference, _ = self._reference(environment)
        if find_image(self._client, reference) is not None:
            return reference
        if recipe.packages and wheels_fit(self._client, recipe.base):
            kept = self._places.root / "wheels"
            wheels = collect_wheels(recipe.packages, recipe.constraints, kept, progress)
            recipe = replace(recipe, wheels=wheels)
        return build_image(self._client, recipe, progress)

    def _seed_image(self, environment: Environment, key: str) -> str:
        """Per cache folder: what else is known of a seed, its volatile values, is kept there."""
        return f"{plan.seed_repository(environment)}:{key[:16]}-{self._offices.mark}"

    def _image(self, environment: Environment, snapshot: str | None) -> str:
        if snapshot is not None:
            return self._seed_image(environment, snapshot)
        if plan.form_of(environment) == "official":
            return plan.official_reference(environment)
        return self._reference(environment)[0]

    # --- containers

    def _container(self, slot: Slot) -> Any:
        container = self._offices.find(slot)
        if container is None:
            raise RunError(f"{slot.name} does not run in office {slot.office!r}")
        return container

    def _start(self, slot: Slot, snapshot: str | None, fixed: Mapping[str, int]) -> Endpoint:
        image = self._image(slot.environment, snapshot)
        container = None
        try:
            container = self._client.containers.create(
                image,
                name=self._offices.container_name(slot),
                labels=self._offices.labels(slot, snapshot or image),
                network=self._offices.open(slot),
                **plan.settings_of(slot, fixed),
            )
            ports = self._run(slot, container, fresh=snapshot is None)
            self._wait(slot, container, ports)
        except BaseException:
            if container is not None:
                self.stop(slot)
            else:
                self._offices.close(slot.office)
            raise
        remember_ports(slot, ports)
        return Endpoint(plan.HOST, ports)

    def _run(self, slot: Slot, container: Any, *, fresh: bool) -> dict[str, int]:
        """Start a container, and its service once its ports are known."""
        official = plan.form_of(slot.environment) == "official"
        if official:
            container.put_archive("/", plan.official_archive(slot, fresh))
        container.start()
        container.reload()
        ports = published(slot, container)
        if ports is None:
            raise RunError(
                f"{slot.name}: {death(container) or 'its ports are not published'}\n"
                + log_end(container, 20)
            )
        if not official:
            container.put_archive("/", plan.office_archive(slot, ports, fresh))
        return ports

    def _wait(self, slot: Slot, container: Any, ports: Mapping[str, int]) -> None:
        wait_healthy(
            checks_of(slot),
            ports,
            slot.environment.health.seconds,
            watcher(container),
            name=slot.name,
            log=lambda: log_end(container, 20),
        )

    def _ask(self, slot: Slot, container: Any, request: Mapping[str, Any]) -> None:
        """Have the first process of a built container do something."""
        done = container.exec_run([*plan.ASK, json.dumps(request)])
        if done.exit_code != 0:
            raise RunError(
                f"{slot.name}: {request['do']} failed in its container: "
                f"{done.output.decode('utf-8', 'replace').strip()}\n{log_end(container, 8)}"
            )
