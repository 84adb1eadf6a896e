"""Mail: IMAP (imap-tools) for what lies in mailboxes, SMTP (smtplib) for what leaves them.

Settings (`drivers: {mail: ...}`)::

    imap: imap                      # names of ports
    smtp: smtp
    domain: company.test            # of the ids of new messages

Request: `{do: VERB, ...}`, see `VERBS`. A message is named by its `id`, the Message-ID without its
angle brackets, which stays when it moves. Reading never changes a flag.
"""

from __future__ import annotations

import imaplib
import smtplib
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from imap_tools import ImapToolsError, MailBoxUnencrypted
from imap_tools.errors import MailboxLoginError

from vepa.errors import InputError, Where
from vepa.services.drivers import mail_messages as messages
from vepa.services.drivers.base import (
    Answer,
    Caller,
    Deadline,
    Endpoint,
    Parcel,
    Unreachable,
    validated,
)
from vepa.services.drivers.mail_requests import Request

__all__ = ["VERBS", "MailDriver", "Settings"]


class Settings(Parcel):
    """Settings of the driver (the module's head shows them)."""

    imap: str = "imap"
    smtp: str = "smtp"
    domain: str


class _Refused(Exception):  # noqa: N818 - what the mail system says
    def __init__(self, status: int | str, text: str):
        super().__init__(text)
        self.answer = Answer(ok=False, status=status, data=None, text=text)


class MailDriver:
    """Speaks IMAP and SMTP to one service; one IMAP login an account."""

    def __init__(self, settings: Mapping[str, Any], endpoint: Endpoint):
        self._settings = validated(Settings, settings, "drivers.mail")
        for key in ("imap", "smtp"):
            port = getattr(self._settings, key)
            if port not in endpoint.ports:
                raise InputError(
                    f"drivers.mail: the service has no port {port!r}", where=Where(field=key)
                )
        self._endpoint = endpoint
        self._boxes: dict[str, MailBoxUnencrypted] = {}

    def request(self, request: Any, caller: Caller, deadline: Deadline) -> Answer:
        """See `Driver.request`."""
        wanted = validated(Request, request, "mail")
        names = (wanted.id, wanted.folder, wanted.target)
        if not all(name is None or name.isprintable() for name in names):
            return Answer(ok=False, status="BAD", text="a name with control characters")
        try:
            data = VERBS[wanted.do](self, wanted, caller, deadline)
        except _Refused as refused:
            return refused.answer
        except messages.Unsendable as error:
            return Answer(ok=False, status=501, text=str(error))
        except (imaplib.IMAP4.abort, OSError, smtplib.SMTPServerDisconnected) as error:
            self._forget(caller)
            raise Unreachable(_told(error)) from None
        except (imaplib.IMAP4.error, ImapToolsError) as error:
            return Answer(ok=False, status="NO", text=str(error))
        return Answer(ok=True, status="OK", data=data)

    def close(self) -> None:
        """See `Driver.close`."""
        for role in list(self._boxes):
            self._drop(role)

    # Connections

    def _box(self, caller: Caller, deadline: Deadline) -> MailBoxUnencrypted:
        box = self._boxes.get(caller.role)
        if box is None:
            port = self._endpoint.ports[self._settings.imap]
            box = MailBoxUnencrypted(self._endpoint.host, port, timeout=deadline.left())
            try:
                box.login(caller.user, caller.password, initial_folder=None)
            except MailboxLoginError as error:
                box.client.shutdown()
                raise _Refused("NO", f"the login as {caller.user} was refused: {error}") from None
            except BaseException:
                box.client.shutdown()
                raise
            self._boxes[caller.role] = box
        box.client.sock.settimeout(deadline.left())
        return box

    def _forget(self, caller: Caller) -> None:
        self._drop(caller.role)

    def _drop(self, role: str) -> None:
        box = self._boxes.pop(role, None)
        if box is not None:
            with suppress(OSError, imaplib.IMAP4.error, ImapToolsError):
                box.client.sock.settimeout(1.0)
                box.logout()
            with suppress(OSError):
                box.client.shutdown()

    # Verbs

    def _folders(self, _: Request, caller: Caller, deadline: Deadline) -> Any:
        box = self._box(caller, deadline)
        found = []
        for name in self._names(box):
            status = box.folder.status(name, ["MESSAGES", "UNSEEN"])
            found.append({"name": name, "messages": status["MESSAGES"], "unread": status["UNSEEN"]})
        return found

    def _search(self, wanted: Request, caller: Caller, deadline: Deadline) -> Any:
        box = self._box(caller, deadline)
        names = [self._existing(box, wanted.folder)] if wanted.folder else self._names(box)
        # Not IMAP SEARCH: this server would look into encoded bytes, and compare days of arrival.
        found = [
            messages.summary(message, name)
            for name in names
            for message in self._fetch(box, name, "ALL")
            if messages.matches(message, name, wanted)
        ]
        found.sort(key=lambda each: (each["date"], each["id"]), reverse=True)
        return found if wanted.limit is None else found[: wanted.limit]

    def _read(self, wanted: Request, caller: Caller, deadline: Deadline) -> Any:
        box = self._box(caller, deadline)
        message, folder = self._find(box, wanted)
        return messages.whole(message, folder)

    def _thread(self, wanted: Request, caller: Caller, deadline: Deadline) -> Any:
        box = self._box(caller, deadline)
        everything = [
            messages.whole(message, name)
            for name in self._names(box)
            for message in self._fetch(box, name, "ALL")
        ]
        start, _ = self._find(box, wanted)
        return messages.thread(everything, messages.identity(start))

    def _dump(self, _: Request, caller: Caller, deadline: Deadline) -> Any:
        box = self._box(caller, deadline)
        return {
            name: sorted(
                (messages.whole(message, name) for message in self._fetch(box, name, "ALL")),
                key=lambda each: (each["date"], each["id"], str(each)),
            )
            for name in self._names(box)
        }

    def _prints(self, _: Request, caller: Caller, deadline: Deadline) -> Any:
        box = self._box(caller, deadline)
        found = {}
        for name in self._names(box):
            _, (count, *_) = box.folder.set(name)
            said = box.client.uid("FETCH", "1:*", "(FLAGS BODY.PEEK[])")[1] if int(count) else []
            found[name] = messages.prints(said)
        return found

    def _send(self, wanted: Request, caller: Caller, deadline: Deadline) -> Any:
        made = messages.build(wanted, self._settings.domain)
        recipients = [*wanted.to, *wanted.cc, *wanted.bcc]
        if not recipients:
            raise _Refused(554, "no recipient")
        port = self._endpoint.ports[self._settings.smtp]
        # With a name of its own: smtplib would ask the DNS for one, before every message.
        with smtplib.SMTP(
            self._endpoint.host, port, local_hostname="localhost", timeout=deadline.left()
        ) as client:
            try:
                client.login(caller.user, caller.password)
                plain = [messages.plain_address(each) for each in recipients]
                sender = messages.plain_address(wanted.sender)
                refused = client.send_message(made, sender, plain)
            except smtplib.SMTPRecipientsRefused as error:
                raise _Refused(*_said(*next(iter(error.recipients.values())))) from None
            except smtplib.SMTPResponseException as error:
                raise _Refused(*_said(error.smtp_code, error.smtp_error)) from None
            except smtplib.SMTPNotSupportedError as error:
                raise _Refused(553, str(error)) from None
        if wanted.keep:
            self._put(made, wanted.keep, ("\\Seen",), caller, deadline)
        # The others have got it by now, so this is no refusal of the whole.
        told = {address: " ".join(map(str, _said(*why))) for address, why in refused.items()}
        return {"id": messages.identity_of(made["Message-ID"]), "refused": told}

    def _append(self, wanted: Request, caller: Caller, deadline: Deadline) -> Any:
        made = messages.build(wanted, self._settings.domain)
        self._put(made, wanted.folder or "INBOX", tuple(wanted.flags), caller, deadline)
        return {"id": messages.identity_of(made["Message-ID"])}

    def _put(
        self, made: Any, folder: str, flags: tuple[str, ...], caller: Caller, deadline: Deadline
    ) -> None:
        box = self._box(caller, deadline)
        box.append(made.as_bytes(), folder, flag_set=list(flags))

    def _move(self, wanted: Request, caller: Caller, deadline: Deadline) -> Any:
        box = self._box(caller, deadline)
        message, folder = self._find(box, wanted)
        target = self._existing(box, str(wanted.target))
        if target != folder:
            box.move([str(message.uid)], target)
        return {"id": messages.identity(message), "from": folder, "folder": target}

    def _delete(self, wanted: Request, caller: Caller, deadline: Deadline) -> Any:
        box = self._box(caller, deadline)
        message, folder = self._find(box, wanted)
        box.delete([str(message.uid)])
        return {"deleted": messages.identity(message), "folder": folder}

    def _mark(self, wanted: Request, caller: Caller, deadline: Deadline) -> Any:
        box = self._box(caller, deadline)
        message, folder = self._find(box, wanted)
        for flag, on in (("\\Seen", wanted.seen), ("\\Flagged", wanted.flagged)):
            if on is not None:
                box.flag([str(message.uid)], flag, on)
        again, _ = self._find(box, wanted.model_copy(update={"folder": folder}))
        return messages.summary(again, folder)

    def _make_folder(self, wanted: Request, caller: Caller, deadline: Deadline) -> Any:
        box = self._box(caller, deadline)
        if wanted.folder in self._names(box):
            raise _Refused("NO", f"there is a folder {wanted.folder!r} already")
        box.folder.create(str(wanted.folder))
        return {"folder": wanted.folder}

    def _drop_folder(self, wanted: Request, caller: Caller, deadline: Deadline) -> Any:
        box = self._box(caller, deadline)
        box.folder.delete(self._existing(box, str(wanted.folder)))
        return {"deleted": wanted.folder}

    # What the verbs share

    def _names(self, box: MailBoxUnencrypted) -> list[str]:
        names = [each.name for each in box.folder.list() if "\\Noselect" not in each.flags]
        return sorted(names, key=lambda name: (name != "INBOX", name))

    def _existing(self, box: MailBoxUnencrypted, folder: str) -> str:
        if folder not in self._names(box):
            raise _Refused("NO", f"there is no folder {folder!r}")
        return folder

    def _fetch(self, box: MailBoxUnencrypted, folder: str, criteria: Any) -> list[Any]:
        box.folder.set(folder)
        return list(box.fetch(criteria, mark_seen=False, bulk=True, charset="UTF-8"))

    def _find(self, box: MailBoxUnencrypted, wanted: Request) -> tuple[Any, str]:
        """The message of an id, with its folder, which stays selected."""
        names = [self._existing(box, wanted.folder)] if wanted.folder else self._names(box)
        for name in names:
            for message in self._fetch(box, name, messages.having_id(str(wanted.id))):
                if messages.identity(message) == wanted.id:
                    return message, name
        place = f"the folder {wanted.folder}" if wanted.folder else "this mailbox"
        raise _Refused("NO", f"there is no message {wanted.id!r} in {place}")


Verb = Callable[[MailDriver, Request, Caller, Deadline], Any]

#: What a request may `do`.
VERBS: dict[str, Verb] = {
    "folders": MailDriver._folders,
    "search": MailDriver._search,
    "read": MailDriver._read,
    "thread": MailDriver._thread,
    "dump": MailDriver._dump,
    "prints": MailDriver._prints,
    "send": MailDriver._send,
    "append": MailDriver._append,
    "move": MailDriver._move,
    "delete": MailDriver._delete,
    "mark": MailDriver._mark,
    "make_folder": MailDriver._make_folder,
    "drop_folder": MailDriver._drop_folder,
}


def _said(code: int, text: bytes | str) -> tuple[int, str]:
    return code, text if isinstance(text, str) else text.decode("utf-8", "replace")


def _told(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "no answer within the time limit"
    return f"no answer: {str(error) or type(error).__name__}"
