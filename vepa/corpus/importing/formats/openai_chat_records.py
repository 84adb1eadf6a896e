"""What records of the OpenAI chat completions API hold."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from vepa.corpus.importing.exchange import LOGGED
from vepa.corpus.importing.report import Foreign, keys

__all__ = ["Answer", "Asked", "Message", "Parameters", "Part", "Preference"]

_SETTINGS = keys(
    "audio frequency_penalty function_call logit_bias logprobs max_completion_tokens max_tokens "
    "modalities moderation n parallel_tool_calls prediction presence_penalty prompt_cache_key "
    "prompt_cache_options prompt_cache_retention reasoning_effort response_format "
    "safety_identifier seed service_tier stop store stream_options system_fingerprint temperature "
    "tool_choice top_logprobs top_p usage user verbosity web_search_options"
)


class Function(Foreign):
    """Name and arguments of a call, or a tool's definition."""

    unused: ClassVar[frozenset[str]] = keys("strict parsed_arguments")

    name: str
    arguments: Any = None
    description: str | None = None
    parameters: Any = None


class Custom(Foreign):
    """A call of a tool that takes free text, or that tool's definition."""

    unused: ClassVar[frozenset[str]] = frozenset({"format"})

    name: str
    input: str | None = None
    description: str | None = None


class ToolCall(Foreign):
    """A call; older logs leave the type out."""

    unused: ClassVar[frozenset[str]] = frozenset({"index", "type"})

    id: str | None = None
    function: Function | None = None
    custom: Custom | None = None


class Part(Foreign):
    """A part of a message's content."""

    unused: ClassVar[frozenset[str]] = frozenset(
        {"annotations", "cache_control", "input_audio", "prompt_cache_breakpoint"}
    )

    type: str
    text: str | None = None
    refusal: str | None = None
    image_url: Any = None
    file: Any = None


class Message(Foreign):
    """One message."""

    unused: ClassVar[frozenset[str]] = keys(
        "annotations cache_control id parsed prefix provider_specific_fields reasoning_details "
        "thinking_blocks"
    )

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: str | list[Part] | None = None
    name: str | None = None
    refusal: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    tool_calls: list[ToolCall] | None = None
    function_call: Function | None = None
    tool_call_id: str | None = None
    audio: Any = None
    weight: int | float | None = None


class Tool(Foreign):
    """A tool that was offered."""

    unused: ClassVar[frozenset[str]] = frozenset({"type", "cache_control"})

    function: Function | None = None
    custom: Custom | None = None


class Choice(Foreign):
    """One answer of the API."""

    unused: ClassVar[frozenset[str]] = frozenset(
        {"index", "logprobs", "content_filter_results", "stop_reason", "native_finish_reason"}
    )

    message: Message
    finish_reason: str | None = None


class Answer(Foreign):
    """An answer of the API."""

    unused: ClassVar[frozenset[str]] = LOGGED | _SETTINGS | {"prompt_filter_results"}

    choices: list[Choice]
    id: str | None = None
    model: str | None = None
    metadata: Any = None


class Parameters(Foreign):
    """What LiteLLM's logs keep of a request beside its messages."""

    unused: ClassVar[frozenset[str]] = LOGGED | _SETTINGS

    tools: list[Tool] | None = None
    functions: list[Function] | None = None


class Asked(Parameters):
    """The body of a request, with what a log writes into it."""

    messages: list[Message]
    id: str | int | None = None
    custom_id: str | None = None
    model: str | None = None
    metadata: Any = None
    request_tags: Any = None
    model_parameters: Parameters | None = None
    choices: Any = None
    response: Any = None
    response_body: Any = None
    error: Any = None
    error_str: str | None = None


class Preference(Foreign):
    """A line of a fine-tuning file of preferences."""

    input: Asked
    preferred_output: list[Message]
    non_preferred_output: list[Message]
