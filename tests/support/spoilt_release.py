"""Ways to spoil a release, signed anew or not, and what the check says of it then."""

from __future__ import annotations

import json

from small_release import CANARIES

from vepa.release.checking import check, write_sums
from vepa.release.frames import frame_of, parquet_of
from vepa.release.layout import MANIFEST, jsonl_path, parquet_path, version_of
from vepa.release.records import SPLITS
from vepa.release.sums import sums_of


def spoilt(path, at, mask=1):
    """Flip bits of one byte of a file."""
    data = bytearray(path.read_bytes())
    data[at] ^= mask
    path.write_bytes(data)


def full(split):
    """Whether the split of a release has records."""
    return split.read_text("utf-8").strip() != ""


def a_file(folder, table):
    """A file of a table that holds something, and its split."""
    for split in SPLITS:
        path = folder / jsonl_path(table, split)
        if full(path):
            return path, split
    raise AssertionError(table)


def rewrite(folder, table, change, *, parquet=True):
    """Change the records of a file as `change(list)` does, and sign everything anew.

    Whoever spoils a release so keeps hashes, manifest, version and parquet right; the folder gets
    the new version's name.
    """
    path, split = a_file(folder, table)
    records = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    change(records)
    text = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
    path.write_text(text, "utf-8")
    if parquet:
        (folder / parquet_path(table, split)).write_bytes(parquet_of(frame_of(table, records)))
    return signed(folder, {(table, split): len(records)})


def signed(folder, counts=None):
    """Make hashes, version, manifest and the folder's name right."""
    manifest = json.loads((folder / MANIFEST).read_text("utf-8"))
    found = sums_of(folder)
    files = {name: found[name] for name in found if name.endswith(".jsonl")}
    version, content = version_of(manifest["name"], files)
    for (table, split), count in (counts or {}).items():
        manifest["rows"][table][split] = count
    manifest |= {"version": version, "content_sha256": content, "files": files}
    (folder / MANIFEST).write_text(json.dumps(manifest), "utf-8")
    write_sums(folder)
    return folder.rename(folder.with_name(version))


def told(folder, canaries=CANARIES):
    """What is wrong with a release, as lines."""
    found = check(folder, canaries)
    return [f"{each.file}:{each.line}:{each.field}: {each.what}" for each in found.problems]
