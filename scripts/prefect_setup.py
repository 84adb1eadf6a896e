"""Bring work pools, limits, automations and the deployments of prefect.yaml to a Prefect server.

    PREFECT_API_URL=http://127.0.0.1:4200/api python scripts/prefect_setup.py

A second call changes only what is new; limits that were changed on the server are kept unless they
are given here. What follows `--` goes to `prefect deploy` in place of `--all`.
"""

from __future__ import annotations

import argparse
import os
import runpy
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

if TYPE_CHECKING:
    from prefect.client.orchestration import SyncPrefectClient

ROOT = Path(__file__).resolve().parents[1]
#: `default` runs everything; `gpu` waits for a worker on a machine that has one.
POOLS = {"default": "Everything but training.", "gpu": "Training; its workers have a GPU."}
#: Tasks that ask a provider's models at once, over all runs.
LIMITS = {"openai": 4, "anthropic": 4, "gemini": 4}


def make_pools(client: SyncPrefectClient) -> None:
    """Work pools of type process."""
    from prefect.client.schemas.actions import WorkPoolCreate
    from prefect.exceptions import ObjectAlreadyExists

    for name, description in POOLS.items():
        try:
            client.create_work_pool(
                WorkPoolCreate(name=name, type="process", description=description)
            )
        except ObjectAlreadyExists:
            continue
        print(f"work pool {name}")


def make_limits(client: SyncPrefectClient, wanted: dict[str, int]) -> None:
    """One global limit a provider; those that are there change only when they are asked for."""
    from prefect.client.schemas.actions import GlobalConcurrencyLimitCreate
    from prefect.exceptions import ObjectAlreadyExists

    from vepa.lifecycle.limits import PREFIX

    for provider, limit in {**LIMITS, **wanted}.items():
        name = PREFIX + provider
        if provider in wanted:
            client.upsert_global_concurrency_limit_by_name(name, limit)
        else:
            try:
                client.create_global_concurrency_limit(
                    GlobalConcurrencyLimitCreate(name=name, limit=limit)
                )
            except ObjectAlreadyExists:
                continue
        print(f"limit {name}: {limit}")


def make_automations(client: SyncPrefectClient) -> None:
    """Those of flows/automations.yaml, each once."""
    from prefect.events.schemas.automations import AutomationCore

    held: list[dict[str, Any]] = client.request("POST", "/automations/filter", json={}).json()
    known = {each["name"]: each["id"] for each in held}
    for each in yaml.safe_load((ROOT / "flows/automations.yaml").read_text())["automations"]:
        body = AutomationCore.model_validate(each).model_dump(mode="json", exclude_unset=True)
        if each["name"] in known:
            place = {"id": known[each["name"]]}
            client.request("PUT", "/automations/{id}", path_params=place, json=body)
        else:
            client.request("POST", "/automations/", json=body)
            print(f"automation {each['name']}")


def limit(text: str) -> tuple[str, int]:
    """`PROVIDER=N`."""
    provider, _, number = text.partition("=")
    if not provider or not number.isdigit():
        raise argparse.ArgumentTypeError(f"{text!r} is no limit; write openai=4")
    return provider, int(number)


def main() -> None:
    """Bring everything to the server, then hand over to `prefect deploy`."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument(
        "--limit",
        type=limit,
        action="append",
        default=[],
        metavar="PROVIDER=N",
        help="tasks that may ask a provider's models at once",
    )
    parser.add_argument("deploy", nargs="*", help="for prefect deploy, after --")
    given = parser.parse_args()
    if "PREFECT_API_URL" not in os.environ:
        sys.exit(
            "PREFECT_API_URL is not set.\nRemedy: export it, for example http://127.0.0.1:4200/api"
        )
    os.environ.setdefault("VEPA_CHECKOUT", str(ROOT))
    os.chdir(ROOT)
    from prefect.client.orchestration import get_client

    with get_client(sync_client=True) as client:
        make_pools(client)
        make_limits(client, dict(given.limit))
        make_automations(client)
    sys.argv = ["prefect", "--no-prompt", "deploy", *(given.deploy or ["--all"])]
    runpy.run_module("prefect", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
