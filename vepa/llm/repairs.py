"""The one repair of a structured answer: what is asked the second time."""

from __future__ import annotations

from vepa.llm.messages import Message, ModelRequest

__all__ = ["repair_of"]

_REPAIR = (
    "Your last answer cannot be used: {fault}. Give the whole answer again, corrected: "
    "one JSON object that fits the schema, nothing else."
)


def repair_of(request: ModelRequest, text: str, fault: str, *, cut: bool) -> ModelRequest:
    """The request again, with the answer that did not fit and what is wrong with it.

    Parameters
    ----------
    request
        As it was asked.
    text
        The answer.
    fault
        In words, for the model.
    cut
        Whether the answer was cut at its limit of tokens.
    """
    if cut:
        fault = f"it was cut at the limit of tokens ({fault})"
    said = Message(role="assistant", content=text or "(no answer)")
    told = Message(role="user", content=_REPAIR.format(fault=fault))
    return request.model_copy(update={"messages": (*request.messages, said, told)})
