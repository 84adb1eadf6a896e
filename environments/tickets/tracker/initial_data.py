# What a new tracker has before its seed: the two accounts that Roundup itself needs, and words.
# ruff: noqa: F821

from roundup.password import Password

for order, name in enumerate(("new", "open", "waiting", "solved", "closed"), 1):
    db.status.create(name=name, order=order)
for order, name in enumerate(("urgent", "high", "normal", "low"), 1):
    db.priority.create(name=name, order=order)
secret = Password(adminpw, config=db.config)
db.user.create(username="admin", password=secret, address=admin_email, roles="Admin")
db.user.create(username="anonymous", roles="Anonymous")
