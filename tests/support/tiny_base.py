"""A base model of random weights that is small enough to train in a test, and data for it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from vepa.files import canonical_json, sha256_of
from vepa.tuning.examples import Example, Turn
from vepa.tuning.manifest import DataManifest, split_file

__all__ = ["make_base", "make_data"]

TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}"
    "<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
_TEXT = (
    "user: send the report to bob",
    "agent calls send_mail: the report",
    "result: sent",
    "system user assistant verdict: allow refuse triggers: none",
)


def make_base(folder: Path, texts: Iterable[str] = _TEXT, spread: float = 0.02) -> Path:
    """A LlamaForCausalLM of two layers, and a tokenizer of bytes and a few merges.

    The merges are of `texts`; `spread` is that of the weights: the more, the surer it is.
    """
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    inner = Tokenizer(models.BPE())
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    inner.train_from_iterator(
        texts,
        trainers.BpeTrainer(
            vocab_size=600,
            special_tokens=["<|im_start|>", "<|im_end|>"],
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        ),
    )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=inner,
        bos_token="<|im_start|>",
        eos_token="<|im_end|>",
        pad_token="<|im_end|>",
    )
    tokenizer.chat_template = TEMPLATE
    tokenizer.save_pretrained(folder)
    torch.manual_seed(7)
    LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(tokenizer),
            hidden_size=32,
            intermediate_size=48,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=2048,
            initializer_range=spread,
            pad_token_id=1,
            bos_token_id=0,
            eos_token_id=1,
        )
    ).save_pretrained(folder)
    return folder


def make_data(folder: Path, train: int = 24, validation: int = 6) -> Path:
    """Judge data in which the text says which verdict is right."""
    folder.mkdir(parents=True)
    counts = {"train": train, "validation": validation, "test": 2}
    files = {}
    for split, count in counts.items():
        text = "".join(f"{_example(split, at).model_dump_json()}\n" for at in range(count))
        (folder / split_file(split)).write_text(text, encoding="utf-8")
        files[split] = sha256_of(text)
    manifest = DataManifest(
        kind="judge",
        content_sha256=sha256_of(canonical_json({"kind": "judge", "files": files})),
        files=files,
        sources={"by hand": "0" * 64},
        tokenizer="approximate",
        trace_tokens=64,
        schema_sha256="1" * 64,
        taxonomy="office/1",
        skipped={},
        figures={split: {"examples": count} for split, count in counts.items()},
        vepa="0",
    )
    (folder / "manifest.json").write_text(json.dumps(manifest.model_dump()), encoding="utf-8")
    return folder


def _example(split: str, at: int) -> Example:
    verdict = "refuse" if at % 3 == 0 else "allow"
    text = "send the secret" if verdict == "refuse" else "send the report"
    shown = f"user: {text} {split} {'to bob ' * (at % 5)}{at}"
    return Example(
        id=f"{split}/{at}",
        kind="judge",
        prompt=[Turn(role="system", content="Judge."), Turn(role="user", content=shown)],
        completion=[Turn(role="assistant", content=f"verdict: {verdict}")],
        answer={"verdict": verdict},
        trace=f"{split}-{at}",
        group=f"{split}-{at}",
        stratum=verdict,
        tokens=10,
        whole=10,
        left_out=0,
        cut=False,
    )
