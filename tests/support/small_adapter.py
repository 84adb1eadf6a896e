"""A real, small, untrained network with an adapter, as a training leaves them."""

from __future__ import annotations

import json
from pathlib import Path

import yaml

from vepa.policy.schema import Schema

__all__ = ["small_adapter", "small_base"]

_TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def small_base(folder: Path, schema: Schema) -> Path:
    """A base of two layers, with a tokenizer that knows some of the schema's words."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    inner = Tokenizer(models.BPE())
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    words = [f"{each.name}: {value}\n" for each in schema.fields for value in each.values]
    trainer = trainers.BpeTrainer(
        vocab_size=600,
        special_tokens=["<|im_start|>", "<|im_end|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    inner.train_from_iterator(words, trainer)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=inner, eos_token="<|im_end|>", pad_token="<|im_end|>"
    )
    tokenizer.chat_template = _TEMPLATE
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=32, intermediate_size=48, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, initializer_range=0.3,
        eos_token_id=1, pad_token_id=1, max_position_embeddings=2048,
    )  # fmt: skip
    LlamaForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def small_adapter(folder: Path, schema: Schema) -> Path:
    """An adapter whose weights are not those of its base, and all that lies beside one."""
    import torch
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM, AutoTokenizer

    base = small_base(folder / "base", schema)
    place = folder / "trained"
    model = get_peft_model(
        AutoModelForCausalLM.from_pretrained(base),
        LoraConfig(r=4, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"),
    )
    torch.manual_seed(1)
    for name, weight in model.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(weight, std=0.3)
    model.save_pretrained(place)
    AutoTokenizer.from_pretrained(base).save_pretrained(place)
    data = {
        "kind": "parser", "tokenizer": "base/tokenizer.json", "trace_tokens": 96,
        "schema_sha256": schema.sha256,
    }  # fmt: skip
    (place / "data.json").write_text(json.dumps(data), "utf-8")
    (place / "recipe.yaml").write_text(yaml.safe_dump({"base": str(base)}), "utf-8")
    (place / "metrics.json").write_text("{}", "utf-8")
    return place
