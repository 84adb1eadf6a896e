"""What annotators are told of a user's surroundings, in words."""

from __future__ import annotations

from collections.abc import Iterator

from vepa.corpus.trajectory import Premises

__all__ = ["surroundings"]


def surroundings(premises: Premises) -> Iterator[tuple[str, str]]:
    """Name and value of what was known beforehand.

    Marks of sensitive strings are left out: they serve a parser that cannot read.
    """
    if premises.account:
        yield "account of the tools", premises.account
    if premises.own:
        yield "the user's own", ", ".join(premises.own)
    if premises.internal_domains:
        yield "domains of the organisation", ", ".join(premises.internal_domains)
    places: dict[str, list[str]] = {}
    for name, place in premises.known.items():
        places.setdefault(place, []).append(name)
    for where, names in places.items():
        yield f"known as {where}", ", ".join(names)
