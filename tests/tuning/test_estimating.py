"""The estimate against counts by hand, and against what a training was measured to take."""

from __future__ import annotations

import pytest

from vepa.errors import SettingError
from vepa.project import Project
from vepa.tuning.estimating import ModelShape, estimate
from vepa.tuning.recipe import Lora, load_recipe

CONFIG = {
    "hidden_size": 576, "num_hidden_layers": 30, "num_attention_heads": 9,
    "num_key_value_heads": 3, "head_dim": 64, "intermediate_size": 1536, "vocab_size": 49152,
    "tie_word_embeddings": True,
}  # fmt: skip
SMOLLM2 = ModelShape.from_config(CONFIG)
SMOKE = load_recipe(Project(), "smoke")


def of(recipe, **changes):
    given = {"examples": 678, "prompt_tokens": 250, "answer_tokens": 95, **changes}
    return estimate(recipe, SMOLLM2, **given)


def test_every_weight_is_counted():
    assert SMOLLM2.parameters == 134_515_008


def test_the_adapter_is_counted():
    # q: 576 to 576; k, v: 576 to 192; o: 576 to 576; gate, up: 576 to 1536; down: 1536 to 576.
    sides = (576 + 576) * 2 + (576 + 192) * 2 + (576 + 1536) * 3
    assert of(SMOKE).trained == 30 * 16 * sides == 4_884_480
    few = SMOKE.model_copy(update={"lora": Lora(rank=4, alpha=8, targets=["q_proj"], layers=10)})
    assert of(few).trained == 10 * 4 * 1152


def test_steps_and_tokens():
    assert (of(SMOKE).steps, of(SMOKE).tokens) == (58, 58 * 8 * 345)
    whole = SMOKE.model_copy(update={"steps": None, "epochs": 2.0, "accumulation": 2})
    assert of(whole).steps == 85  # 1,356 examples, 16 a step
    little = SMOKE.model_copy(update={"steps": None, "epochs": 0.1})
    assert of(little, examples=5).steps == 1


def test_what_makes_it_smaller_or_faster_does():
    plain = of(SMOKE)
    kept = of(SMOKE.model_copy(update={"gradient_checkpointing": True}))
    assert kept.activations < plain.activations / 5
    assert kept.operations > plain.operations
    assert of(SMOKE.model_copy(update={"quantization": "4bit"})).weights < plain.weights / 2
    last = SMOKE.model_copy(update={"lora": SMOKE.lora.model_copy(update={"layers": 10})})
    assert of(last).seconds < plain.seconds
    assert of(SMOKE.model_copy(update={"precision": "fp32"})).seconds > plain.seconds
    assert of(SMOKE, machine=None).seconds is None


def test_it_is_near_what_was_measured():
    # 60 steps of 8 examples of 307 tokens took 451 s on two cores. Four examples of at most 384
    # tokens in fp32 took 1.8 GB at most; memory is to be guessed on the high side.
    was = of(SMOKE.model_copy(update={"steps": 60}), prompt_tokens=212, answer_tokens=95)
    assert was.seconds == pytest.approx(451, rel=0.2)
    full = SMOKE.model_copy(update={"precision": "fp32", "batch": 4})
    assert 1.8e9 < of(full, prompt_tokens=284, answer_tokens=100).memory < 1.5 * 1.8e9


@pytest.mark.parametrize("missing", ["hidden_size", "intermediate_size", "vocab_size"])
def test_a_size_that_is_missing_is_named(missing):
    config = {name: value for name, value in CONFIG.items() if name != missing}
    with pytest.raises(SettingError) as caught:
        ModelShape.from_config(config)
    assert caught.value.where.field == missing


def test_a_layer_that_is_not_there_is_named():
    odd = SMOKE.model_copy(update={"lora": Lora(rank=4, alpha=8, targets=["c_attn"])})
    with pytest.raises(SettingError, match="c_attn"):
        of(odd)
