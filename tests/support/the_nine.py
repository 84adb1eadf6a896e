"""Names of the nine environments that come with VEPA."""

NINE = (
    "calendar",
    "chat",
    "database",
    "files",
    "identity",
    "mail",
    "payments",
    "tickets",
    "wiki",
)
