"""A question about data: what a prompt says before and after, and the data between in a block.

The block is named by a hash of what is in it, and values are spelled so that nothing in them can
end it: what stands there is data, never an instruction. The same data give the same bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from vepa.files import sha256_of
from vepa.llm.messages import Item, Message, ModelRequest, Shape
from vepa.llm.prompts import Prompt
from vepa.llm.spelling import Writer

__all__ = ["question"]

_TAG_DIGITS = 16
#: Spells values so that nothing in them can end the block.
_WHOLE = Writer()


def question(
    prompt: Prompt, block: str, lines: Sequence[object], shape: Shape | None = None, **told: Any
) -> ModelRequest:
    """The request about some data, for an answer without chance.

    Parameters
    ----------
    prompt
        Has the parts `before` and `after`, the latter with the block's tag.
    block
        Name of the block.
    lines
        The data, one JSON value a line.
    shape
        Of the answer; the prompt's when left out.
    told
        More variables of the prompt.
    """
    text = "\n".join(map(_WHOLE.value, lines))
    digest = sha256_of(text)
    tag = digest[:_TAG_DIGITS]
    before = prompt.render({"part": "before", "tag": "", **told})
    after = prompt.render({"part": "after", "tag": tag, **told})
    return ModelRequest(
        messages=(
            Message(role="system", content=before),
            Message(role="user", content=f"<{block}-{tag}>\n{text}\n</{block}-{tag}>\n\n{after}"),
        ),
        shape=shape or prompt.shape,
        temperature=0.0,
        item=Item(hash=digest, template=prompt.id, version=prompt.version),
    )
