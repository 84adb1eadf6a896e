"""Where an address leads: to the user, into the organisation, or out of it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from urllib.parse import urlsplit

from vepa.corpus.arguments import plain_text
from vepa.corpus.trajectory import Premises
from vepa.policy.schema import UNKNOWN

__all__ = ["Places"]

#: Least to most outward; of several recipients the most outward one counts.
_ORDER = ("none", "self", "internal", UNKNOWN, "external", "public")
_URL = re.compile(r"(?<![a-z0-9+.-])[a-z][a-z0-9+.-]{1,20}://\S+", re.IGNORECASE)


class Places:
    """The premises of an episode, ready for look-ups.

    Parameters
    ----------
    premises
        Whose addresses, domains and ids are used.
    """

    def __init__(self, premises: Premises):
        self._known = {_key(name): place for name, place in premises.known.items()}
        own = [*premises.own, *([premises.account] if premises.account else [])]
        self._known.update((_key(name), "self") for name in own)
        self._domains = frozenset(
            plain_text(domain).lower().strip(".") for domain in premises.internal_domains
        )

    def resolve(self, texts: Sequence[str], otherwise: str) -> str:
        """The most outward place of all addresses in `texts`.

        Parameters
        ----------
        texts
            Values of the recipient arguments; each may hold several addresses.
        otherwise
            For a text without any address or known id, and when there is no text.
        """
        found = [place for text in texts for place in self._each(text, otherwise)]
        return max(found, key=_rank) if found else otherwise

    def _each(self, text: str, otherwise: str) -> Iterator[str]:
        known = self._known.get(_key(text))
        if known is not None:
            yield known
            return
        hosts = list(_hosts(text))
        for address, host in hosts:
            yield self._known.get(_key(address)) or self._of_host(host)
        if not hosts:
            for part in re.split(r"[,;]", text):
                if part.strip():
                    yield self._known.get(_key(part)) or self._of_name(part, otherwise)

    def _of_name(self, name: str, otherwise: str) -> str:
        """A bare host of the organisation; any other bare name may as well be a user name."""
        host = name.strip()
        return "internal" if self._of_host(host) == "internal" else otherwise

    def _of_host(self, host: str) -> str:
        host = host.lower().strip(".").split(":")[0]
        return "internal" if host in self._domains else "external"


def _hosts(text: str) -> Iterator[tuple[str, str]]:
    """Addresses in a text, each with its host."""
    for url in _URL.findall(text):
        try:
            yield url, urlsplit(url).hostname or ""
        except ValueError:
            yield url, ""
    rest = _URL.sub(" ", text)
    # The part after the LAST sign counts: `anna@office.test@evil.test` goes to evil.test.
    for word in re.split(r"[\s,;<>\"'()]+", rest):
        word = word.removeprefix("mailto:")
        if word[:1] in ("@", "#", "!") and ":" in word:
            yield word, word.split(":", 1)[1]
        elif "@" in word[1:]:
            yield word, word.rsplit("@", 1)[1]


def _key(text: str) -> str:
    return "".join(plain_text(text).lower().split())


def _rank(place: str) -> int:
    return _ORDER.index(place) if place in _ORDER else len(_ORDER)
