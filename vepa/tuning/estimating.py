"""What a training will take, worked out before it starts: memory, arithmetic, time.

Memory: weights of the base at their precision (4 bits and a scale for 4bit), the adapter's weights,
gradients and both moments of AdamW in fp32, the activations that the backward pass needs, and
logits of the answers in fp32 with their gradient. Activations per layer and token follow the terms
of Korthikanti et al. 2022 (arXiv 2205.05198), section 4.1, with flash attention, so without the
quadratic term: about 34 bytes a hidden value at 16 bits. Checkpointing keeps one hidden value a
layer, and one layer's activations at a time.

Arithmetic: 2 operations a parameter and token forward, as many again for the gradients of what is
passed down (none of the frozen weights has one of its own), and forward once more with
checkpointing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil
from typing import Any

from vepa.errors import SettingError, Where
from vepa.tuning.recipe import Recipe

__all__ = ["CPU", "Estimate", "Machine", "ModelShape", "estimate"]

_OPTIMIZER = 4 * 4  # bytes a trained weight: itself, its gradient, two moments
_ACTIVATIONS = 17  # 16-bit values a hidden value and layer


@dataclass(frozen=True)
class Machine:
    """How fast a machine computes.

    Attributes
    ----------
    name
        For people.
    fp32, bf16
        Operations a second that training reaches.
    """

    name: str
    fp32: float
    bf16: float


#: Two cores of an AMD EPYC with AVX-512 BF16, measured with SmolLM2-135M on 2026-12-01: 208 tokens
#: a second forward and backward in fp32, 384 in bf16.
CPU = Machine("two cores, measured", fp32=208 * 4 * 134.5e6, bf16=384 * 4 * 134.5e6)


@dataclass(frozen=True)
class ModelShape:
    """The sizes of a model of the Llama family.

    Attributes
    ----------
    hidden, layers, heads, kv_heads, head_dim, inner, vocabulary
        As in its `config.json`.
    tied
        Whether input and output embeddings are one.
    """

    hidden: int
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    inner: int
    vocabulary: int
    tied: bool

    @classmethod
    def from_config(cls, config: Mapping[str, Any], file: str = "config.json") -> ModelShape:
        """Read it from a model's `config.json`.

        Raises
        ------
        SettingError
            When a size is missing.
        """

        def size(key: str, otherwise: int | None = None) -> int:
            value = config.get(key, otherwise)
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise SettingError(
                    "this size of the base model is not known",
                    where=Where(file, field=key),
                    remedy="an estimate takes the config.json of a model of the Llama family",
                )
            return value

        heads, hidden = size("num_attention_heads"), size("hidden_size")
        return cls(
            hidden=hidden,
            layers=size("num_hidden_layers"),
            heads=heads,
            kv_heads=size("num_key_value_heads", heads),
            head_dim=size("head_dim", hidden // heads),
            inner=size("intermediate_size"),
            vocabulary=size("vocab_size"),
            tied=bool(config.get("tie_word_embeddings", False)),
        )

    def linear(self) -> dict[str, tuple[int, int]]:
        """Name of each linear layer of a block -> values in and out."""
        query, key = self.heads * self.head_dim, self.kv_heads * self.head_dim
        return {
            "q_proj": (self.hidden, query),
            "k_proj": (self.hidden, key),
            "v_proj": (self.hidden, key),
            "o_proj": (query, self.hidden),
            "gate_proj": (self.hidden, self.inner),
            "up_proj": (self.hidden, self.inner),
            "down_proj": (self.inner, self.hidden),
        }

    @property
    def parameters(self) -> int:
        """All weights, norms included; biases are not counted."""
        block = sum(rows * columns for rows, columns in self.linear().values()) + 2 * self.hidden
        return self.layers * block + self.embeddings + self.hidden

    @property
    def embeddings(self) -> int:
        """Weights of the embeddings and of the output layer."""
        return self.vocabulary * self.hidden * (1 if self.tied else 2)


@dataclass(frozen=True)
class Estimate:
    """What it will take.

    Attributes
    ----------
    parameters, trained
        Weights of the base, and of the adapter.
    steps, tokens
        Steps, and tokens that are read in all of them.
    weights, adapter, activations, logits
        Bytes of each.
    operations
        Of all steps.
    seconds
        On the machine; None where nothing was measured.
    """

    parameters: int
    trained: int
    steps: int
    tokens: int
    weights: int
    adapter: int
    activations: int
    logits: int
    operations: float
    seconds: float | None

    @property
    def memory(self) -> int:
        """Bytes in all."""
        return self.weights + self.adapter + self.activations + self.logits


def estimate(
    recipe: Recipe,
    shape: ModelShape,
    *,
    examples: int,
    prompt_tokens: float,
    answer_tokens: float,
    machine: Machine | None = CPU,
) -> Estimate:
    """Estimate a training.

    Parameters
    ----------
    recipe
        How.
    shape
        Of the base.
    examples
        Of the train split.
    prompt_tokens, answer_tokens
        Of an example, on average.
    machine
        How fast it computes; None for one that nothing is known of.

    Raises
    ------
    SettingError
        When the recipe names a layer that such a model has not.
    """
    linear = shape.linear()
    unknown = [name for name in recipe.lora.targets if name not in linear]
    if unknown:
        raise SettingError(
            f"the base model has no layer {unknown[0]!r}",
            where=Where(field="lora.targets"),
            remedy=f"some of: {', '.join(linear)}",
        )
    blocks = min(recipe.lora.layers or shape.layers, shape.layers)
    trained = blocks * recipe.lora.rank * sum(sum(linear[name]) for name in recipe.lora.targets)
    a_step = recipe.batch * recipe.accumulation
    steps = recipe.steps or ceil((recipe.epochs or 1) * examples / a_step)
    length = prompt_tokens + answer_tokens
    tokens = round(steps * a_step * length)
    size = 2 if recipe.precision == "bf16" else 4
    held = 0.5625 if recipe.quantization == "4bit" else size  # a scale of 4.5 bits' worth each 64
    hidden = recipe.batch * length * shape.hidden * size
    kept = 1 + _ACTIVATIONS if recipe.gradient_checkpointing else blocks * _ACTIVATIONS
    activations = hidden * kept + (hidden * shape.layers if recipe.gradient_checkpointing else 0)
    passes = 2 + 2 * blocks / shape.layers + (2 if recipe.gradient_checkpointing else 0)
    operations = float(passes * shape.parameters * tokens)
    speed = None if machine is None else machine.bf16 if size == 2 else machine.fp32
    return Estimate(
        parameters=shape.parameters,
        trained=trained,
        steps=steps,
        tokens=tokens,
        # Embeddings and output stay at 16 bits when the rest is kept in 4.
        weights=round((shape.parameters - shape.embeddings) * held + shape.embeddings * size),
        adapter=trained * _OPTIMIZER,
        activations=round(activations),
        logits=round(recipe.batch * answer_tokens * shape.vocabulary * 4 * 2),
        operations=operations,
        seconds=None if speed is None else operations / speed,
    )
