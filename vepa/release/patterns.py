"""What must not stand in a release: forms of secrets, of persons' addresses and of real places.

Patterns of well-known keys come from detect-secrets. Its rules for high entropy are left out, since
a corpus is full of hashes and aliases, and its rule for words such as `password` is replaced by one
that looks at every place and not only at the first. What is published nowhere as a pattern (keys
of model vendors, seeds' canaries, account numbers, hosts, folders of a machine) is looked for here.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from vepa.errors import MissingExtraError

__all__ = [
    "CANARY",
    "DOCUMENT_HOSTS",
    "SECRET_NAME",
    "is_reserved",
    "looks_secret",
    "secrets_in",
]

#: Kind and the words that give it away; the first group is the secret, where there is one.
Hit = tuple[str, str]

CANARY = re.compile(r"VEPA-SEED(?:-[A-Z0-9]+)+", re.IGNORECASE)

#: What is told of a find, by the name of the library's rule.
_LIBRARY: dict[str, str] = {
    "ArtifactoryDetector": "an Artifactory credential",
    "AWSKeyDetector": "an AWS key",
    "AzureStorageKeyDetector": "an Azure storage key",
    "BasicAuthDetector": "a password in an address",
    "CloudantDetector": "a Cloudant credential",
    "DiscordBotTokenDetector": "a Discord token",
    "GitHubTokenDetector": "a GitHub token",
    "GitLabTokenDetector": "a GitLab token",
    "IbmCloudIamDetector": "an IBM Cloud key",
    "IbmCosHmacDetector": "an IBM storage credential",
    "JwtTokenDetector": "a JSON web token",
    "MailchimpDetector": "a Mailchimp key",
    "NpmDetector": "an npm token",
    "OpenAIDetector": "a key of a model vendor",
    "PrivateKeyDetector": "a private key",
    "PypiTokenDetector": "a PyPI token",
    "SendGridDetector": "a SendGrid key",
    "SlackDetector": "a Slack token",
    "SoftlayerDetector": "a SoftLayer key",
    "SquareOAuthDetector": "a Square secret",
    "StripeDetector": "a Stripe key",
    "TelegramBotTokenDetector": "a Telegram token",
    "TwilioKeyDetector": "a Twilio key",
}
_OWN: tuple[tuple[str, re.Pattern[str]], ...] = (
    (
        "a key of a model vendor",
        re.compile(
            r"\b(?:sk-(?:ant-|or-|proj-|svcacct-|admin-)[\w-]{16,}|sk-[A-Za-z0-9]{20,}"
            r"|(?:gsk|hf|r8|fw|nvapi|xai|pplx|tgp_v1|csk|jina|voyage|pa)[-_][A-Za-z0-9_-]{24,}"
            r"|AIza[\w-]{30,}|ya29\.[\w-]{20,})"
        ),
    ),
    ("a GitHub token", re.compile(r"\bgithub_pat_\w{22,}")),
    ("a Stripe key", re.compile(r"\b(?:[rs]k_(?:live|test)|whsec)_[A-Za-z0-9]{16,}")),
    ("a DigitalOcean token", re.compile(r"\bdo[opr]_v1_[a-f0-9]{32,}")),
    ("a HashiCorp Vault token", re.compile(r"\b(?:hv[sbr]|[sbr])\.[A-Za-z0-9_-]{24,}")),
    ("a Slack token", re.compile(r"\bxapp-\d-[\w-]{10,}")),
    ("a private key", re.compile(r"BEGIN(?: [A-Z0-9]+)* PRIVATE KEY")),
    (
        "a bearer token",
        re.compile(r"(?i)\b(?:bearer|basic) +(?=[A-Za-z0-9._~+/-]*\d)([A-Za-z0-9._~+/-]{16,}=*)"),
    ),
    (
        "a folder of a person's machine",
        re.compile(
            r"(?<![\w.-])/(?:home|Users)/[A-Za-z_][\w.-]*|(?<![\w.-])/root(?:/[\w.-]+)+"
            r"|\b[A-Za-z]:(?:\\{1,4}|/)Users(?:\\{1,4}|/)[\w.-]+"
        ),
    ),
)
#: Names of fields and variables whose value is a secret.
SECRET_NAME = re.compile(
    r"(?:api|auth|service|account|access|db|database|priv|private|client|signing|encryption)"
    r"[-_ ]?key|passwo?r?d|passphrase|passwd|pwd|secret|credential|token",
    re.IGNORECASE,
)
_ASSIGNED = re.compile(
    rf"(?:{SECRET_NAME.pattern})\w*[\"'\]]{{0,2}}\s{{0,3}}(?::=|=>|={{1,3}}|:)\s{{0,3}}"
    r"(?:[\"'`]([^\"'`\s]{6,})[\"'`]|([^\"'`\s,;<>(){}\[\]]{6,}))",
    re.IGNORECASE,
)
#: One word of the length that a secret may have.
_WORD = re.compile(r"\S{6,512}")
#: What stands for a value that differs from run to run.
_ALIAS = re.compile(r"[a-z_]+#\d+")
_MAIL = re.compile(r"[\w.+%-]+@((?:[A-Za-z0-9-]+\.)+[A-Za-z][A-Za-z0-9-]+)")
_ADDRESS = re.compile(
    r"\b[a-z][a-z0-9+.-]{1,20}://(?:[^\s/@\"'<>]*@)?(\[[0-9a-f:.]+\]|[\w.-]+)", re.IGNORECASE
)
#: Endings of real domains that are no endings of files and no words after a full stop.
_HOST = re.compile(
    r"(?<![\w@.-])(?<!//)((?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)*"
    r"(?:[a-z0-9-]+\.(?:com|net|org|(?:co|ac|org|gov)\.uk)|[a-z0-9-]{3,}\.(?:edu|gov|mil|info|biz|io|dev|app|ai|eu|de|fr"
    r"|nl|uk|ch|es|se|dk|fi|ru|cn|jp|cloud|xyz)))(?![\w@-]|\.[A-Za-z0-9])",
    re.IGNORECASE,
)
_NUMBERS = re.compile(r"(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?![\w.]|\.\d)")
#: Top-level domains and hosts that nobody can own (RFC 2606, RFC 6761).
_NOBODYS = ("test", "example", "invalid", "localhost")
_EXAMPLES = ("example.com", "example.net", "example.org")
#: Names of vocabularies have the form of addresses and are none.
_VOCABULARIES = frozenset({"json-schema.org", "schema.org", "www.w3.org"})
#: Public places that a release's own documents may name.
DOCUMENT_HOSTS = frozenset(
    {
        "apache.org", "arxiv.org", "creativecommons.org", "doi.org", "github.com",
        "huggingface.co", "json-schema.org", "mlcommons.org", "purl.org", "schema.org",
        "spdx.org", "w3.org",
    }
)  # fmt: skip
#: Digits in a row, or as they stand on a card; looked for at every place, also inside of another.
_CARD = re.compile(
    r"(?<!\w)(?<!\d[.,-])(?=(\d{13,19}|\d{4}([ -])\d{4}\2\d{4}\2\d{4}|\d{4}([ -])\d{6}\3\d{4,5})"
    r"(?!\w|[.,-]\d))"
)
#: First digits of the large issuers, and how long their numbers are.
_ISSUERS = (
    (re.compile(r"4"), {16, 19}),
    (re.compile(r"5[1-5]|2(?:22[1-9]|2[3-9]|[3-6]|7[01]|720)"), {16}),
    (re.compile(r"3[47]"), {15}),
    (re.compile(r"6011|64[4-9]|65|35(?:2[89]|[3-8])|62|5018|5020|5038|6304"), {16, 19}),
    (re.compile(r"3(?:0[0-5]|[689])"), {14}),
)
_IBAN = re.compile(r"(?<!\w)(?=([A-Za-z]{2}\d{2}(?:[ -]?[A-Za-z0-9]){11,30})(?!\w))")
#: Country -> signs of its account numbers.
_IBAN_LENGTHS = {
    "AD": 24, "AE": 23, "AL": 28, "AT": 20, "AZ": 28, "BA": 20, "BE": 16, "BG": 22, "BH": 22,
    "BR": 29, "BY": 28, "CH": 21, "CR": 22, "CY": 28, "CZ": 24, "DE": 22, "DK": 18, "DO": 28,
    "EE": 20, "EG": 29, "ES": 24, "FI": 18, "FO": 18, "FR": 27, "GB": 22, "GE": 22, "GI": 23,
    "GL": 18, "GR": 27, "GT": 28, "HR": 21, "HU": 28, "IE": 22, "IL": 23, "IQ": 23, "IS": 26,
    "IT": 27, "JO": 30, "KW": 30, "KZ": 20, "LB": 28, "LI": 21, "LT": 20, "LU": 20, "LV": 21,
    "MC": 27, "MD": 24, "ME": 22, "MK": 19, "MR": 27, "MT": 31, "MU": 30, "NL": 18, "NO": 15,
    "PK": 24, "PL": 28, "PS": 29, "PT": 25, "QA": 29, "RO": 24, "RS": 22, "SA": 24, "SE": 24,
    "SI": 19, "SK": 24, "SM": 27, "TN": 24, "TR": 26, "UA": 29, "VA": 22, "VG": 24, "XK": 20,
}  # fmt: skip


def secrets_in(text: str, hosts: frozenset[str] = frozenset()) -> Iterator[Hit]:
    """Kind and words of everything that must not stand in a text.

    Parameters
    ----------
    text
        Listed canaries have been struck out with asterisks.
    hosts
        Public hosts that may be named.
    """
    for kind, find in _finders():
        for words in find(text):
            if words.strip("*"):
                yield kind, words
    for find_place in (_mails, _addresses, _bare_hosts, _machines):
        yield from find_place(text, hosts)
    yield from _cards(text)
    yield from _accounts(text)


def looks_secret(value: str) -> bool:
    """Whether a word beside a name such as `password` can be one and is no word of a language."""
    if not _WORD.fullmatch(value) or not value.strip("*") or _ALIAS.fullmatch(value):
        return False
    letters = any(sign.isalpha() for sign in value)
    digits = any(sign.isdigit() for sign in value)
    mixed = value != value.lower() and value[1:] != value[1:].lower() and not value.isupper()
    signs = any(sign in "!$%^&*+=~#?" for sign in value.strip("*.,:;!?"))
    return letters and (digits or mixed or signs)


def is_reserved(host: str) -> bool:
    """Whether a host is one that nobody can own, or not reachable from outside."""
    host = host.strip("[].").lower()
    try:
        return not ipaddress.ip_address(host).is_global
    except ValueError:
        pass
    last = host.rpartition(".")[2]
    return last in _NOBODYS or any(
        host == each or host.endswith(f".{each}") for each in (*_EXAMPLES, *_VOCABULARIES)
    )


@cache
def _finders() -> tuple[tuple[str, Callable[[str], Any]], ...]:
    """Kind, and what finds its words in a text; the library is loaded once."""
    try:
        from detect_secrets.core.plugins.util import get_mapping_from_secret_type_to_class
    except ImportError:
        raise MissingExtraError("detect_secrets", "pipeline") from None
    rules: dict[str, Any] = get_mapping_from_secret_type_to_class()
    by_name: dict[str, Any] = {rule.__name__: rule for rule in rules.values()}
    library = [(kind, _by_rule(name, by_name[name]())) for name, kind in _LIBRARY.items()]
    own = [(kind, _by_pattern(pattern)) for kind, pattern in _OWN]
    return (*library, *own, ("a secret with its name", _assigned))


def _by_rule(name: str, rule: Any) -> Callable[[str], Any]:
    """A rule of the library over a text of any number of lines."""
    group = 1 if name == "BasicAuthDetector" else 0

    def find(text: str) -> Iterator[str]:
        for pattern in rule.denylist:
            for match in pattern.finditer(text):
                if _plausible(name, rule, match[0]):
                    yield match[group]

    return find


def _plausible(name: str, rule: Any, words: str) -> bool:
    if name == "ArtifactoryDetector":  # a capital word that begins with AP is no credential
        return any(sign.isdigit() for sign in words)
    return name != "JwtTokenDetector" or bool(rule.is_formally_valid(words))


def _by_pattern(pattern: re.Pattern[str]) -> Callable[[str], Any]:
    return lambda text: (match[pattern.groups and 1] for match in pattern.finditer(text))


def _assigned(text: str) -> Iterator[str]:
    for match in _ASSIGNED.finditer(text):
        value = match[1] or match[2].rstrip(".,:;!?")
        if looks_secret(value):
            yield value


def _allowed(host: str, hosts: frozenset[str]) -> bool:
    host = host.lower().rstrip(".")
    return is_reserved(host) or any(host == each or host.endswith(f".{each}") for each in hosts)


def _mails(text: str, hosts: frozenset[str]) -> Iterator[Hit]:
    del hosts  # an address of a person is none of a public place
    for match in _MAIL.finditer(text):
        if not is_reserved(match[1]):
            yield "a mail address that may be real", match[0]


def _addresses(text: str, hosts: frozenset[str]) -> Iterator[Hit]:
    for match in _ADDRESS.finditer(text):
        if not _allowed(match[1], hosts):
            yield "an address that may be real", match[0]


def _bare_hosts(text: str, hosts: frozenset[str]) -> Iterator[Hit]:
    for match in _HOST.finditer(text):
        if not _allowed(match[1], hosts):
            yield "a host that may be real", match[1]


def _machines(text: str, hosts: frozenset[str]) -> Iterator[Hit]:
    del hosts
    for match in _NUMBERS.finditer(text):
        try:
            public = ipaddress.ip_address(match[0]).is_global
        except ValueError:
            continue
        if public:
            yield "an IP address that may be real", match[0]


def _cards(text: str) -> Iterator[Hit]:
    for match in _CARD.finditer(text):
        digits = re.sub(r"\D", "", match[1])
        issued = any(first.match(digits) and len(digits) in lengths for first, lengths in _ISSUERS)
        if issued and _luhn(digits):
            yield "a number of a payment card", match[1]


def _luhn(digits: str) -> bool:
    doubled = (int(sign) * (1 + at % 2) for at, sign in enumerate(reversed(digits)))
    return sum(each - 9 if each > 9 else each for each in doubled) % 10 == 0


def _accounts(text: str) -> Iterator[Hit]:
    for match in _IBAN.finditer(text):
        words = match[1]
        wanted = _IBAN_LENGTHS.get(words[:2].upper(), 0)
        plain = re.sub(r"[ -]", "", words).upper()
        # Words of a sentence may follow the number; it ends where its country says.
        if wanted and len(plain) >= wanted and _is_iban(plain[:wanted]):
            yield "an account number (IBAN)", words


def _is_iban(text: str) -> bool:
    if text[2:4] in ("00", "01", "99"):  # no bank gives these check digits
        return False
    return int("".join(str(int(sign, 36)) for sign in text[4:] + text[:4])) % 97 == 1
