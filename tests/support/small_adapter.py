"""A real, small, untrained network with an adapter, as a training leaves them."""

from __future__ import annotations

import json
from pathlib import Path

import yaml
from tiny_base import make_base

from vepa.policy.schema import Schema

__all__ = ["small_adapter"]


def small_adapter(folder: Path, schema: Schema) -> Path:
    """An adapter whose weights are not those of its base, and all that lies beside one."""
    import torch
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM, AutoTokenizer

    words = [f"{each.name}: {value}\n" for each in schema.fields for value in each.values]
    base = make_base(folder / "base", words, spread=0.3)
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
