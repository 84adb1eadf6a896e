"""Rules of the tracker, kept by the server itself whoever asks."""

from roundup.date import Date
from roundup.exceptions import Reject, Unauthorised


def _admin(db):
    return db.user.has_role(db.getuid(), "Admin")


def _visible(db, values, what):
    """The ticket that something new belongs to; refused when the caller cannot see it."""
    issue = values.get("issue")
    if issue is None:
        raise Reject(f"a {what} needs the issue that it belongs to")
    if not db.security.hasPermission("View", db.getuid(), "issue", itemid=issue):
        raise Unauthorised(f"You do not have permission to see issue{issue}")
    return issue


def new_message(db, _class, _id, values):
    issue = _visible(db, values, "message")
    if not _admin(db):
        values["author"] = db.getuid()  # nobody writes in another's name
    values.setdefault("author", db.getuid())
    values.setdefault("date", Date())
    if values.get("audience") not in (None, "customer"):
        raise Reject("audience is `customer` or nothing")
    worker = db.security.hasPermission("Edit", db.getuid(), "issue", "priority", issue)
    if values.get("audience") and not worker:
        raise Unauthorised("Only those who work on a queue answer its customers")


def new_file(db, _class, _id, values):
    _visible(db, values, "file")


def new_issue(db, _class, _id, values):
    if values.get("queue") is None:
        raise Reject("an issue needs a queue")
    workers = (db.queue.get(values["queue"], "workers") or "").split(",")
    if values.get("public") and not db.user.has_role(db.getuid(), "Admin", *workers):
        raise Unauthorised("Only those who work on a queue publish its issues")
    values.setdefault("status", db.status.lookup("new"))
    values.setdefault("priority", db.priority.lookup("normal"))
    values.setdefault("opened", Date())


def add_to_issue(kind, column):
    def reactor(db, _class, number, _old):
        issue = db.getclass(kind).get(number, "issue")
        db.issue.set(issue, **{column: [*db.issue.get(issue, column), number]})

    return reactor


def init(db):
    db.msg.audit("create", new_message)
    db.file.audit("create", new_file)
    db.issue.audit("create", new_issue)
    db.msg.react("create", add_to_issue("msg", "messages"))
    db.file.react("create", add_to_issue("file", "files"))
