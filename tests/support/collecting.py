"""A collection over the tiny project, as a process of its own that can be killed.

Run as `python collecting.py PROJECT CACHE FOLDER MODEL API_BASE`.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tiny_tasks import materials_of

from vepa.collect.collecting import Collection
from vepa.collect.orders import orders_of
from vepa.collect.pool import OfficePool
from vepa.collect.settings import CollectSettings
from vepa.llm import ModelSettings
from vepa.services import Office
from vepa.services.places import Places


def main(project: str, cache: str, folder: str, model: str, api_base: str) -> int:
    tasks, materials = materials_of(Path(project))
    settings = CollectSettings(
        models=[model],
        offices=1,
        seeds=2,
        model_settings={model: ModelSettings(api_base=api_base, max_tokens=200)}
        if api_base
        else {},
    )
    orders = orders_of(tasks, settings, materials)
    environments = list(materials.environments.values())
    with Office.start(environments, materials.world_file, root=Places(Path(cache))) as office:
        pool = OfficePool([], materials.world_file, offices=[office])
        result = Collection(folder).collect(
            orders,
            materials,
            settings,
            pool,
            lambda order, episode, kept: _say(f"{order.id} {kept}"),
        )
    return 0 if result.whole else 1


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
