"""One tool of an environment: what a model sees of it, what it does, and what is known of it."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, model_validator

from vepa.corpus.tools import Effect, ToolEvent, ToolMetadata
from vepa.services.environment.base import Name, Part, Seconds
from vepa.services.environment.parts import Step

__all__ = ["Limits", "Tool"]


class Limits(Part):
    """Bounds of one call.

    Attributes
    ----------
    seconds
        Time for the whole call, all its requests together.
    characters
        Length of the answer that a model sees; what is longer is cut and says so.
    """

    seconds: Seconds = 20.0
    characters: Annotated[int, Field(ge=200, le=1_000_000)] = 20_000


class Tool(ToolEvent):
    """A tool; `event`, `origin`, `decisive` and `carries` stand beside the keys below.

    Attributes
    ----------
    name
        Unique over all environments: the environment's name, an underscore, a verb.
    description
        For the model.
    effect
        `read`, `write` or `destroy`: whether the state may have changed afterwards.
    parameters
        JSON schema of the arguments, OpenAI style; always an object.
    steps
        Requests; as the caller's account unless a step says otherwise.
    result
        An expression over the saved answers: what the model sees. Without one, the last answer.
    volatile
        Kinds of volatile values in its answers.
    limits
        Bounds of one call.
    examples
        Arguments that work on the seed; the contract test calls the tool with the first.
    account
        Role whose account the contract test uses.
    """

    name: Name
    description: str = Field(min_length=10)
    effect: Effect
    parameters: dict[str, Any]
    steps: list[Step] = Field(min_length=1)
    result: str | None = None
    volatile: list[Name] = []
    limits: Limits = Limits()
    examples: list[dict[str, Any]] = Field(min_length=1)
    account: Name = "employee"

    @model_validator(mode="after")
    def _arguments_are_a_closed_object(self) -> Tool:
        schema = self.parameters
        if schema.get("type") != "object" or not isinstance(schema.get("properties"), dict):
            raise ValueError("parameters: a JSON schema of `type: object` with `properties`")
        if schema.get("additionalProperties") is not False:
            raise ValueError("parameters: `additionalProperties: false` keeps typing errors out")
        required = schema.get("required", [])
        if not isinstance(required, list) or not all(isinstance(name, str) for name in required):
            raise ValueError("parameters: `required` is a list of names of properties")
        unknown = set(required) - set(schema["properties"])
        if unknown:
            raise ValueError(f"parameters: required, but not among the properties: {unknown}")
        return self

    def metadata(self, environment: str) -> ToolMetadata:
        """The record that goes into trajectories."""
        return ToolMetadata(
            name=self.name,
            environment=environment,
            description=self.description,
            parameters=self.parameters,
            effect=self.effect,
            event=self.event,
            origin=self.origin,
            decisive=self.decisive,
            carries=self.carries,
        )

    def openai(self) -> dict[str, Any]:
        """The tool as chat-completion APIs take it."""
        return {
            "type": "function",
            "function": {
                "name": self.name,
                "description": self.description,
                "parameters": self.parameters,
            },
        }
