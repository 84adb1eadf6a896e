"""What a crash left behind, and how it goes."""

from __future__ import annotations

from vepa.services import records
from vepa.services.places import Places, places
from vepa.services.runtimes import make_runtime

__all__ = ["clean_up"]


def clean_up(root: Places | None = None) -> list[str]:
    """Sweep what a crash left: services and folders of offices whose owner is gone.

    Returns
    -------
    list of str
        What was stopped, in words.
    """
    root = root or places()
    with records.coming_and_going(root):
        dead = records.dead_offices(root)
        swept: list[str] = []
        for name in sorted(set(dead.values())):
            among = [office for office, runtime in dead.items() if runtime == name]
            swept += make_runtime(name, root).sweep(among)
        for office in dead:
            records.remove(root.office(office))
        records.remove_remains(root)
    return swept
