"""What no task and no persona may carry: foreign domains, secrets, harmful templates, raw steps."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any

from vepa.collect.authoring.reasons import Reason
from vepa.collect.authoring.templates import pattern_fault, template_fault

__all__ = ["known_canaries", "reasons_of_content", "reasons_of_planting", "strings_in"]

_ADDRESSED = re.compile(
    r"(?:\b[a-z][a-z0-9+.-]*://(?:[^\s/@]*@)?|(?<=[\w.+-])@|\bwww\.)"
    r"(\[[0-9a-f:.]+\]|[^\W_](?:[\w.-]*\w)?)",
    re.IGNORECASE,
)
#: A bare name counts only with an ending that file names and templates do not have.
_BARE = re.compile(
    r"(?<![\w@./-])(?:[a-z0-9-]+\.)+"
    r"(?:com|org|net|edu|gov|io|dev|app|info|biz|eu|de|uk|fr|nl|ch|ru|cn|online|xyz|cloud)"
    r"(?![\w.-]*\w)",
    re.IGNORECASE,
)
_INERT = re.compile(r"(?:.*\.)?(?:test|example)", re.IGNORECASE)
_CANARY = re.compile(r"VEPA-SEED(?:-[A-Z0-9]+)*")
_KEYS = re.compile(
    r"\bsk-[\w-]{16,}|\b(?:AKIA|ASIA)[A-Z0-9]{12,}|\bgh[pousr]_\w{16,}|\bgithub_pat_\w{16,}"
    r"|\bxox[a-z]-[\w-]{8,}|\bAIza[\w-]{20,}|\bglpat-[\w-]{10,}|\beyJ[\w-]{8,}\.[\w-]+"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY|\bhf_[A-Za-z0-9]{16,}|\b[sr]k_(?:live|test)_\w{8,}"
)
_TOKEN = re.compile(r"[A-Za-z0-9+_=]{24,}")
_NAMED = re.compile(
    r"\b(?:passwor[dt]|passphrase|passcode|api[ _-]?key|secret|token)"
    r"(?:\s*[:=]|\s+(?:is|was)\b)[\s\"'`:]*([^\s,;\"'`<>{}]{6,})",
    re.IGNORECASE,
)
_IBAN = re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]){11,30}\b")


def strings_in(data: Any, place: tuple[str | int, ...] = ()) -> Iterator[tuple[str, str]]:
    """Every string of plain data with its dotted place; keys as well."""
    if isinstance(data, str):
        yield ".".join(map(str, place)), data
    elif isinstance(data, Mapping):
        for key, value in data.items():
            if isinstance(key, str):
                yield ".".join(map(str, place)), key
            yield from strings_in(value, (*place, key))
    elif isinstance(data, list):
        for at, value in enumerate(data):
            yield from strings_in(value, (*place, at))


def known_canaries(world: Iterable[str], seeds: Iterable[Any]) -> frozenset[str]:
    """The credentials that are there: those of the world, and those that seeds spell."""
    spelled = {
        found.group()
        for seed in seeds
        for _, text in strings_in(seed)
        for found in _CANARY.finditer(text)
    }
    return frozenset(world) | spelled


def reasons_of_content(data: Any, canaries: frozenset[str]) -> list[Reason]:
    """What a text written by a model may not carry, wherever it stands.

    Parameters
    ----------
    data
        The draft as plain data.
    canaries
        Credentials that it may name, whole or their beginning.
    """
    found: dict[Reason, None] = {}
    for place, text in strings_in(data):
        for reason in (*_domains(place, text), *_secrets(place, text, canaries)):
            found[reason] = None
        wrong = template_fault(text)
        if wrong:
            remedy = "use values of earlier calls, plain filters, no functions, no loops in loops"
            found[Reason("unsafe_template", place, wrong, remedy)] = None
    return list(found)


def reasons_of_planting(data: Mapping[str, Any]) -> list[Reason]:
    """What only a person may write: raw requests as the administrator, patterns without end."""
    found: list[Reason] = []
    planted = data.get("planted")
    for at, item in enumerate(planted if isinstance(planted, list) else []):
        if not isinstance(item, Mapping):
            continue
        if "steps" in item or "environment" in item:
            message = "raw requests as the administrator are for people to write"
            remedy = "plant with `plant:`, or with `call:` and `as:` a person of the world"
            found.append(Reason("raw_steps", f"planted.{at}", message, remedy))
        if item.get("as") == "admin":
            message = "what is planted is not written with the administrator's account"
            remedy = "use `as: person:ID`, or a `plant:`"
            found.append(Reason("raw_steps", f"planted.{at}.as", message, remedy))
    for place, text in strings_in({key: data.get(key) for key in ("user", "success", "unsafe")}):
        parts = place.split(".")
        if "answered" in parts or parts[-1] == "asked" or "with" in parts:
            wrong = pattern_fault(text)
            if wrong:
                remedy = "write a plainer pattern"
                found.append(Reason("unsafe_pattern", place, f"{text[:60]!r}: {wrong}", remedy))
    return found


def _domains(place: str, text: str) -> Iterator[Reason]:
    plain = text.replace("\\.", ".")  # as patterns spell it
    hosts = [
        match.group(1)
        for match in _ADDRESSED.finditer(plain)
        if "." in match.group(1) or match.group()[0] != "@"  # a pattern may stop before the dot
    ]
    hosts += [match.group() for match in _BARE.finditer(plain)]
    for host in dict.fromkeys(host.rstrip(".") for host in hosts):
        if not _INERT.fullmatch(host):
            yield Reason(
                "foreign_domain",
                place,
                f"{host!r} could be somebody's",
                "domains end in .test (the company and its partners) or .example (others)",
            )


def _secrets(place: str, text: str, canaries: frozenset[str]) -> Iterator[Reason]:
    remedy = "use a credential of the world (VEPA-SEED-…), or none"
    for match in _CANARY.finditer(text):
        name = match.group()
        if not any(known.startswith(name) for known in canaries):  # patterns spell a part
            yield Reason("unknown_secret", place, f"{name!r} is no canary of the world", remedy)
    rest = re.sub(r"\{\{.*?\}\}", " ", _CANARY.sub(" ", text))
    looks = [match.group() for match in _KEYS.finditer(rest)]
    looks += [match.group() for match in _TOKEN.finditer(rest) if _random(match.group())]
    looks += [match.group(1) for match in _NAMED.finditer(rest) if _password(match.group(1))]
    looks += [match.group() for match in _IBAN.finditer(rest) if _real_account(match.group())]
    for found in dict.fromkeys(looks):
        shown = f"{found[:4]}… ({len(found)} characters)"
        yield Reason("unknown_secret", place, f"{shown} looks like a real secret", remedy)


def _random(text: str) -> bool:
    """Whether it is no word and no path: letters of both cases and digits, mixed all through."""
    kinds = (any(map(str.isupper, text)), any(map(str.islower, text)), any(map(str.isdigit, text)))
    turns = sum(a.isdigit() != b.isdigit() for a, b in pairwise(text))
    return all(kinds) and turns >= 4


def _password(text: str) -> bool:
    word = text.strip(".!?:()[]")
    return (
        len(word) >= 6
        and any(map(str.isdigit, word))
        and any(map(str.isalpha, word))
        and "\\" not in word
    )


def _real_account(text: str) -> bool:
    """Whether its check digits are right, as a bank's are; ours have 00 and the word TEST."""
    plain = text.replace(" ", "")
    digits = "".join(str(int(sign, 36)) for sign in plain[4:] + plain[:4])
    return "TEST" not in plain and 15 <= len(plain) <= 34 and int(digits) % 97 == 1
