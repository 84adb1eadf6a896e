"""One process, one office's mail: IMAP (pymap, maildirs) and SMTP submission (aiosmtpd).

Both serve the accounts of one JSON file: `{"domain", "accounts": [{id, mail, password}],
"lists": {address: [id]}, "outbound": user}`. Mail to other domains has nowhere to go: it is kept
in the mailbox of the `outbound` account, where an administrator can see what left the office.
"""

from __future__ import annotations

import argparse
import email
import email.policy
import functools
import hmac
import importlib.metadata
import json
import mailbox
import os
import sys
import uuid
import warnings
from pathlib import Path
from typing import Any

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult

warnings.simplefilter("ignore")
# What is installed does not change while this runs; pysasl searches all of it at every connection.
importlib.metadata.entry_points = functools.cache(importlib.metadata.entry_points)

import pymap.main  # noqa: E402 - its imports warn
from pymap.backend.maildir import mailbox as backend  # noqa: E402
from pymap.backend.maildir.mailbox import MaildirMessage, Record, UidList  # noqa: E402
from pymap.backend.maildir.users import (  # noqa: E402
    GroupsFile,
    PasswordsFile,
    TokensFile,
    UsersFile,
)
from pysasl.hashing import BuiltinHash  # noqa: E402

#: The default of 500,000 costs a fifth of a second a login; these passwords protect nothing.
HASH_ROUNDS = 1000
MAX_BYTES = 5_000_000


async def copy_with_content(self: Any, uid: int, destination: Any, *, recent: bool = False) -> Any:
    """IMAP COPY; the one of pymap 0.36.7 copies only the metadata and leaves an empty message."""
    async with UidList.with_read(self._path) as uids:
        try:
            record = uids.get(uid)
        except KeyError:
            return None
    async with self.messages_lock.read_lock():
        try:
            message = MaildirMessage(self._maildir.get_message(record.key))
        except KeyError:
            return None
    message.set_subdir("new" if recent else "cur")
    async with destination.messages_lock.write_lock():
        name = destination._maildir.add(message) + ":" + message.get_info()
    async with UidList.with_write(destination._path) as uids:
        made = Record(uids.next_uid, record.fields, name)
        uids.next_uid += 1
        uids.set(made)
    return made.uid


class Office:
    """Who has a mailbox, and where mail to an address goes."""

    def __init__(self, config: dict[str, Any], data: Path):
        self.domain: str = config["domain"]
        self.passwords = {each["id"]: each["password"] for each in config["accounts"]}
        self.addresses = {each["mail"]: [each["id"]] for each in config["accounts"]}
        self.addresses |= config["lists"]
        self.own = {each["id"]: each["mail"] for each in config["accounts"]}
        self.outbound: str = config["outbound"]
        self.data = data

    def knows(self, user: str, password: str) -> bool:
        """Whether this is the account's password."""
        expected = self.passwords.get(user)
        return expected is not None and hmac.compare_digest(expected.encode(), password.encode())

    def may_send(self, user: str, address: str) -> bool:
        """Whether the account may send from an address: its own, or a list that it is on.

        The outbound account may use any: it hands in what other servers would.
        """
        return (
            user == self.outbound
            or self.own.get(user) == address
            or user in self.addresses.get(address, [])
        )

    def mailboxes(self, address: str) -> list[str]:
        """Users whose mailbox gets mail to an address; none for an unknown one of ours."""
        _, _, host = address.rpartition("@")
        return self.addresses.get(address, []) if host == self.domain else [self.outbound]

    def write_accounts(self) -> None:
        """The account files of pymap, in their own line ends."""
        hasher = BuiltinHash(rounds=HASH_ROUNDS)
        users = "".join(f"{user}:x::::{user}:\r\n" for user in self.passwords)
        hashes = "".join(
            f"{user}:{hasher.hash(password)}:::::::\r\n"
            for user, password in self.passwords.items()
        )
        for kind, text in (
            (UsersFile, users), (PasswordsFile, hashes), (GroupsFile, ""), (TokensFile, ""),
        ):  # fmt: skip
            path = self.data / kind.FILE_NAME
            if not path.exists():
                path.write_text(text, "utf-8", newline="")


class Submission:
    """Takes mail from accounts of the office."""

    def __init__(self, office: Office):
        self.office = office

    # ruff: noqa: ARG002 - aiosmtpd decides which arguments its handlers get

    def authenticate(self, server: Any, session: Any, envelope: Any, how: str, data: Any) -> Any:
        """SMTP AUTH."""
        user = data.login.decode()
        return AuthResult(
            success=self.office.knows(user, data.password.decode()), handled=False, auth_data=user
        )

    async def handle_MAIL(  # noqa: N802 - aiosmtpd's names
        self, server: Any, session: Any, envelope: Any, address: str, options: list[str]
    ) -> str:
        if not self.office.may_send(session.auth_data, address.lower()):
            return f"550 5.7.1 {session.auth_data} may not send as {address}"
        envelope.mail_from = address
        return "250 OK"

    async def handle_RCPT(  # noqa: N802
        self, server: Any, session: Any, envelope: Any, address: str, options: list[str]
    ) -> str:
        if not self.office.mailboxes(address.lower()):
            return f"550 5.1.1 {address}: no such mailbox here"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:  # noqa: N802
        message = email.message_from_bytes(envelope.content, policy=email.policy.SMTP)
        if message["Message-ID"] is None:
            message["Message-ID"] = f"<{uuid.uuid4().hex}@{self.office.domain}>"
        content = message.as_bytes()
        reached: set[str] = set()
        for address in envelope.rcpt_tos:
            for user in self.office.mailboxes(address.lower()):
                # A colleague on two lists gets one copy; what leaves is kept once a recipient.
                if user == self.office.outbound or user not in reached:
                    reached.add(user)
                    self._deliver(user, address, content)
        return "250 2.0.0 delivered"

    def _deliver(self, user: str, address: str, content: bytes) -> None:
        head = f"Delivered-To: {address}\r\n".encode()
        folder = mailbox.Maildir(self.office.data / user, create=True)
        folder.add(mailbox.MaildirMessage(head + content))


def main() -> None:
    """Serve until the process is ended."""
    options = argparse.ArgumentParser()
    for name in ("host", "imap-port", "smtp-port", "data", "accounts"):
        options.add_argument(f"--{name}", required=True)
    given = options.parse_args()
    config = json.loads(Path(given.accounts).read_text("utf-8"))
    office = Office(config, Path(given.data))
    os.umask(0o077)
    office.write_accounts()
    os.environ["FQDN"] = office.domain  # else pymap asks the DNS for its name, at every greeting
    backend.MailboxData.copy = copy_with_content
    submission = Submission(office)
    controller = Controller(
        submission,
        hostname=given.host,
        port=int(given.smtp_port),
        server_kwargs={
            "hostname": "localhost",
            "authenticator": submission.authenticate,
            "auth_require_tls": False,
            "auth_required": True,
            "enable_SMTPUTF8": True,
            "data_size_limit": MAX_BYTES,
        },
    )
    controller.start()
    sys.argv = [
        "pymap", "--host", given.host, "--port", given.imap_port, "--no-tls",
        "maildir", given.data,
    ]  # fmt: skip
    try:
        pymap.main.main()
    finally:
        controller.stop()


if __name__ == "__main__":
    main()
