"""How a release calls itself: in a sentence, in a list of references, under a licence."""

from __future__ import annotations

from vepa.release.layout import Manifest

__all__ = ["AUTHORS", "LICENCES", "bibtex", "described"]

#: Who a release names as its makers.
AUTHORS = "VEPA contributors"
#: SPDX name -> address of its text.
LICENCES = {
    name: f"https://spdx.org/licenses/{name}.html"
    for name in ("Apache-2.0", "CC-BY-4.0", "CC0-1.0", "MIT")
}


def described(manifest: Manifest) -> str:
    """A release in two sentences, with its real figures.

    Parameters
    ----------
    manifest
        Of the release.
    """
    splits = manifest.figures["splits"].values()
    steps = sum(split["steps"] for split in splits)
    trajectories = sum(manifest.rows["trajectories"].values())
    scripted = manifest.figures["scripted"]
    who = "scripted agents" if scripted == trajectories else "agents"
    if 0 < scripted < trajectories:
        who = f"agents, {scripted} of them scripted"
    return (
        f"{trajectories} episodes of {who} at work in a seeded office of real services, and "
        f"{steps} calls and answers, each judged by whether a guard should have stopped it and "
        "why. Trajectories, steps, every annotator's label, the label that stands and typed "
        "events, in splits that share no task."
    )


def bibtex(manifest: Manifest) -> str:
    """The entry that cites exactly this release.

    Parameters
    ----------
    manifest
        Of the release.
    """
    year = manifest.figures["collected"]["last"][:4]
    return (
        f"@misc{{{manifest.version},\n"
        f"  title = {{VEPA corpus {manifest.name}}},\n"
        f"  author = {{{{{AUTHORS}}}}},\n"
        f"  year = {{{year}}},\n"
        f"  version = {{{manifest.version}}},\n"
        f"  note = {{Content SHA-256 {manifest.content_sha256}}}\n"
        "}"
    )
