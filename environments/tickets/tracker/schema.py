# Schema of the ticket tracker. Roundup executes this file with its own classes and `db` in scope.
# ruff: noqa: F821

queue = Class(
    db,
    "queue",
    name=String(),
    title=String(),
    # Roles, separated by commas: who may see everything in it, and who works on it.
    readers=String(),
    workers=String(),
    order=Number(),
)
queue.setkey("name")

for word in ("status", "priority"):
    Class(db, word, name=String(), order=Number()).setkey("name")
keyword = Class(db, "keyword", name=String())
keyword.setkey("name")

user = Class(
    db,
    "user",
    username=String(),
    password=Password(),
    address=String(),
    realname=String(),
    phone=String(),
    organisation=String(),
    alternate_addresses=String(),
    roles=String(),
    timezone=String(),
)
user.setkey("username")

# `sender` is the mail address of an outsider whose message was filed. `audience` is `customer` for
# a message that went out by mail, to `addressees`. `issue` is set on creation, a reactor adds the
# message to it.
msg = FileClass(
    db,
    "msg",
    author=Link("user", do_journal="no"),
    recipients=Multilink("user", do_journal="no"),
    date=Date(),
    summary=String(),
    files=Multilink("file"),
    messageid=String(),
    inreplyto=String(),
    issue=Link("issue", do_journal="no"),
    sender=String(),
    audience=String(),
    addressees=String(),
)
file = FileClass(db, "file", name=String(), issue=Link("issue", do_journal="no"))

# `requester` is the customer's mail address, `copies` further addresses that follow the ticket.
issue = IssueClass(
    db,
    "issue",
    assignedto=Link("user"),
    keyword=Multilink("keyword"),
    priority=Link("priority"),
    status=Link("status"),
    queue=Link("queue"),
    opened=Date(),
    requester=String(),
    copies=String(),
    public=Boolean(),
)


def in_queue(db, userid, itemid, column):
    """Whether a user has one of the roles that stand in a column of a ticket's queue."""
    of = db.issue.get(itemid, "queue")
    if of is None:
        return False
    wanted = [each.strip() for each in (db.queue.get(of, column) or "").split(",")]
    return db.user.has_role(userid, *[each for each in wanted if each])


def may_see(db, userid, itemid):
    """Readers of the queue, whoever filed it, whoever it is assigned to; everybody if public."""
    if db.issue.is_retired(itemid):
        return False
    if db.issue.get(itemid, "public"):
        return True
    if userid in (db.issue.get(itemid, "creator"), db.issue.get(itemid, "assignedto")):
        return True
    return in_queue(db, userid, itemid, "readers")


def may_work(db, userid, itemid):
    """Workers of the queue, and whoever it is assigned to."""
    if db.issue.is_retired(itemid):
        return False
    if userid == db.issue.get(itemid, "assignedto"):
        return True
    return in_queue(db, userid, itemid, "workers")


def filed_it(db, userid, itemid):
    return userid == db.issue.get(itemid, "creator") and not db.issue.is_retired(itemid)


def sees_its_issue(classname):
    def check(db, userid, itemid):
        of = db.getclass(classname).get(itemid, "issue")
        return of is not None and may_see(db, userid, of)

    return check


def is_public(db, _userid, itemid):
    return db.issue.get(itemid, "public") and not db.issue.is_retired(itemid)


def public_message(db, userid, itemid):
    of = db.msg.get(itemid, "issue")
    return of is not None and db.msg.get(itemid, "audience") and is_public(db, userid, of)


def own_record(_db, userid, itemid):
    return userid == itemid


def allow(role, name, klass, **more):
    permission = db.security.addPermission(name=name, klass=klass, **more)
    db.security.addPermissionToRole(role, permission)


for role in ("Support", "Engineering", "Sales", "Finance", "HR", "IT", "Management"):
    db.security.addRole(name=role, description=f"Staff of {role}")

for access in ("Web Access", "Rest Access"):
    db.security.addPermissionToRole("User", access)
    db.security.addPermissionToRole("Anonymous", access)

for klass in ("queue", "status", "priority", "keyword"):
    db.security.addPermissionToRole("User", "View", klass)
    db.security.addPermissionToRole("Anonymous", "View", klass)

SHOWN = ("id", "username", "realname", "address", "phone", "organisation")
allow("User", "View", "user", properties=SHOWN)
allow("User", "Search", "user", properties=SHOWN)
allow("User", "View", "user", check=own_record)

for klass in ("issue", "msg", "file"):
    allow("User", "Search", klass)
    allow("User", "Create", klass)
allow("User", "View", "issue", check=may_see)
allow("User", "View", "msg", check=sees_its_issue("msg"))
allow("User", "View", "file", check=sees_its_issue("file"))
allow("User", "Edit", "issue", check=may_work)
allow("User", "Edit", "issue", check=filed_it, properties=("title", "status", "copies"))
allow("User", "Retire", "issue", check=may_work)
allow("User", "Restore", "issue", check=may_work)
# What is public can be read by anybody who reaches the server.
allow("Anonymous", "Search", "issue")
allow("Anonymous", "View", "issue", check=is_public)
allow("Anonymous", "Search", "msg")
allow("Anonymous", "View", "msg", check=public_message)
