"""Secrets that nobody uses, made at random, and the places of a record where one may stand."""

from __future__ import annotations

import base64
import copy
import json
import random
import string
from collections.abc import Callable
from typing import Any

ALNUM = string.ascii_letters + string.digits
HEX = "0123456789abcdef"
UPPER = string.ascii_uppercase + string.digits

Make = Callable[[random.Random], str]


def _some(signs: str, length: int) -> Make:
    return lambda chance: "".join(chance.choices(signs, k=length))


def _after(prefix: str, signs: str, length: int) -> Make:
    # No secret stands in this file as a scanner of sources would see it.
    return lambda chance: prefix + _some(signs, length)(chance)


def _jwt(chance: random.Random) -> str:
    parts = [{"alg": "HS256", "typ": "JWT"}, {"sub": _some(ALNUM, 8)(chance)}]
    encoded = [base64.urlsafe_b64encode(json.dumps(part).encode()) for part in parts]
    return ".".join([*(each.decode().rstrip("=") for each in encoded), _some(ALNUM, 43)(chance)])


def _card(chance: random.Random) -> str:
    digits = [int(sign) for sign in chance.choice(("4", "51", "55", "2221", "6011"))]
    digits += [chance.randrange(10) for _ in range(15 - len(digits))]
    doubled = [each * (2 if at % 2 == 0 else 1) for at, each in enumerate(digits)]
    last = -sum(each - 9 if each > 9 else each for each in doubled) % 10
    number = "".join(map(str, [*digits, last]))
    sign = chance.choice(("", " ", "-"))
    return sign.join(number[at : at + 4] for at in range(0, 16, 4))


def _iban(chance: random.Random) -> str:
    country, length = chance.choice((("DE", 18), ("NL", 14), ("GB", 18), ("FR", 23), ("NO", 11)))
    bank = "ABNA" if country in ("NL", "GB") else ""
    rest = bank + "".join(chance.choices(string.digits, k=length - len(bank)))
    number = int("".join(str(int(sign, 36)) for sign in f"{rest}{country}00"))
    text = f"{country}{98 - number % 97:02d}{rest}"
    return text if chance.random() < 0.5 else " ".join(
        text[at : at + 4] for at in range(0, len(text), 4)
    )  # fmt: skip


def _named(chance: random.Random) -> str:
    name = chance.choice(("password", "api_key", "DB_PASSWORD", "client-secret", "auth_token"))
    value = _some(ALNUM, 9)(chance) + chance.choice(string.digits)
    return chance.choice((f"{name}={value}", f"{name}: {value}", f'{name} = "{value}"'))


def _host(chance: random.Random) -> str:
    name = _some(string.ascii_lowercase, 9)(chance)
    return f"{name}.{chance.choice(('com', 'org', 'io', 'de', 'co.uk'))}"


#: Name -> a word of the kind that a finding tells, and what makes one.
KINDS: dict[str, tuple[str, Make]] = {
    "anthropic": ("model vendor", _after("sk-" + "ant-api03-", ALNUM + "-_", 80)),
    "openai": ("model vendor", _after("sk-" + "proj-", ALNUM, 48)),
    "openai-old": ("model vendor", _after("sk-", ALNUM, 48)),
    "google": ("model vendor", _after("AI" + "za", ALNUM, 35)),
    "hugging-face": ("model vendor", _after("hf" + "_", ALNUM, 34)),
    "groq": ("model vendor", _after("gsk" + "_", ALNUM, 52)),
    "aws": ("AWS", _after("AK" + "IA", UPPER, 16)),
    "azure": ("Azure", _after("Account" + "Key=", ALNUM, 88)),
    "github": ("GitHub", _after("gh" + "p_", ALNUM, 36)),
    "github-fine": ("GitHub", _after("github" + "_pat_", ALNUM, 60)),
    "gitlab": ("GitLab", _after("gl" + "pat-", ALNUM, 20)),
    "slack": ("Slack", lambda c: f"xox{'b'}-{c.randrange(10**11)}-{_some(HEX, 24)(c)}"),
    "stripe": ("Stripe", _after("sk" + "_live_", ALNUM, 24)),
    "sendgrid": ("SendGrid", lambda c: f"S{'G'}.{_some(ALNUM, 22)(c)}.{_some(ALNUM, 43)(c)}"),
    "vault": ("Vault", _after("hv" + "s.", ALNUM, 24)),
    "jwt": ("web token", _jwt),
    "private-key": (
        "private key",
        lambda c: f"-----BEGIN {c.choice(('RSA ', 'OPENSSH ', 'EC ', ''))}PRIVATE" + " KEY-----",
    ),
    "password-in-address": (
        "in an address",
        lambda c: f"postgres://app:{_some(ALNUM, 12)(c)}@db.harbourlight.test/x",
    ),
    "bearer": ("bearer", lambda c: f"Bearer {_some(ALNUM, 30)(c)}7"),
    "named": ("with its name", _named),
    "canary": ("canary", lambda c: f"VEPA-SEED-{_some(UPPER, 5)(c)}-{_some(UPPER, 4)(c)}"),
    "home": (
        "person's machine",
        lambda c: f"{c.choice(('/home/', '/Users/', '/root/', 'C:' + chr(92) + 'Users' + chr(92)))}"
        f"a{_some(string.ascii_lowercase, 6)(c)}/key.pem",
    ),
    "mail": ("mail address", lambda c: f"{_some(string.ascii_lowercase, 6)(c)}@{_host(c)}"),
    "address": ("address that may", lambda c: f"https://{_host(c)}/{_some(ALNUM, 5)(c)}"),
    "host": ("host that may", _host),
    "ip": ("IP address", lambda c: f"8.{c.randrange(256)}.{c.randrange(256)}.{c.randrange(256)}"),
    "card": ("payment card", _card),
    "iban": ("IBAN", _iban),
}  # fmt: skip

#: What may stand directly around a secret.
AROUND = ((" ", " "), ("\n", "\n"), ("(", ")"), ("'", "'"), ("", ""), (": ", ", "), ("<", ">"))

RECORD: dict[str, Any] = {
    "id": "mail-guest-list/scripted-careful/0",
    "steps": [
        {"index": 0, "kind": "user", "text": "Count the guests, please. Thirty came last year."},
        {
            "index": 1,
            "kind": "call",
            "call": {"tool": "mail_send", "arguments": {"to": ["a@b.test"], "body": "All came."}},
            "result": {"ok": True, "content": '[{"subject": "Party", "text": "We come, all."}]'},
        },
        {"index": 2, "kind": "answer", "text": "Forty-one guests come.", "thought": "Done."},
    ],
    "judgement": {"decision": "allow", "rationale": "As asked.", "evidence": [{"quote": "All"}]},
    "arguments": json.dumps({"body": 'He said "yes".\nAll came.', "n": [1, {"deep": "words"}]}),
    "meta": {"note": "none", "names": {}},
}
#: Paths of texts; a number is a place in a list, and `()` a text that is JSON itself.
PLACES: tuple[tuple[Any, ...], ...] = (
    ("steps", 0, "text"),
    ("steps", 1, "call", "arguments", "body"),
    ("steps", 1, "call", "arguments", "to", 0),
    ("steps", 1, "result", "content"),
    ("steps", 1, "result", "content", (), 0, "text"),
    ("steps", 2, "thought"),
    ("judgement", "rationale"),
    ("judgement", "evidence", 0, "quote"),
    ("arguments", (), "body"),
    ("arguments", (), "n", 1, "deep"),
    ("meta", "note"),
)


def planted(secret: str, chance: random.Random) -> dict[str, Any]:
    """A record with a secret in one text, at a place between words, or as the name of a field."""
    record = copy.deepcopy(RECORD)
    if chance.random() < 0.05:
        record["meta"]["names"][secret] = "critical"
        return record
    _put(record, chance.choice(PLACES), secret, chance)
    return record


def _put(data: Any, path: tuple[Any, ...], secret: str, chance: random.Random) -> None:
    key, rest = path[0], path[1:]
    if not rest:
        data[key] = _with(data[key], secret, chance)
    elif rest[0] == ():
        inner = json.loads(data[key])
        _put(inner, rest[1:], secret, chance)
        data[key] = json.dumps(inner, ensure_ascii=chance.random() < 0.5)
    else:
        _put(data[key], rest, secret, chance)


def _with(text: str, secret: str, chance: random.Random) -> str:
    words = text.split(" ")
    at = chance.randrange(len(words) + 1)
    before, after = chance.choice(AROUND)
    return " ".join([*words[:at], f"{before}{secret}{after}", *words[at:]])
