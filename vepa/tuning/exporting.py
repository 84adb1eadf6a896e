"""An adapter merged into its base: one plain model, for programs that know no adapters."""

from __future__ import annotations

import shutil
from pathlib import Path
from tempfile import mkdtemp

from vepa.errors import SettingError, Where
from vepa.llm.local.adapters import open_adapter, read_notes

__all__ = ["merge"]


def merge(folder: str | Path, into: str | Path) -> Path:
    """Write base and adapter as one model (bfloat16), with the tokenizer.

    Parameters
    ----------
    folder
        That a training left.
    into
        A folder that is not there yet; it appears whole or not at all.

    Raises
    ------
    SettingError
        When `folder` holds no whole training, or `into` is there already.
    MissingExtraError
        When a package of the extra `train` is missing.
    """
    target = Path(into)
    if target.exists():
        raise SettingError(
            "this is there already", where=Where(str(target)), remedy="name a folder that is not"
        )
    local = open_adapter(read_notes(folder))
    import torch

    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    try:
        local.model.to(torch.bfloat16).save_pretrained(temporary)
        local.tokenizer.save_pretrained(temporary)
        temporary.chmod(0o755)
        temporary.rename(target)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return target
