"""The model that learns: a base that stays as it is, and an adapter on it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vepa.errors import MissingExtraError, SettingError, Where
from vepa.llm.local import base_folder
from vepa.tuning.encoding import IGNORED, Batch, Encoded, collated, in_order_of_length

if TYPE_CHECKING:  # pragma: no cover
    import torch

    from vepa.tuning.recipe import Recipe

__all__ = ["Learner", "device_of"]

#: Gradients longer than this are shortened to it.
_LONGEST_GRADIENT = 1.0


def device_of(name: str) -> str:
    """The device that `auto`, `cpu` or `cuda` stands for here.

    Raises
    ------
    SettingError
        When there is no such device.
    """
    import torch

    if name == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    if name.startswith("cuda") and not torch.cuda.is_available():
        raise SettingError(
            "torch finds no GPU here",
            where=Where(field="device"),
            remedy="set `device: cpu` or `auto`, or install a build of torch with CUDA",
        )
    return name


class Learner:
    """Base, adapter, optimizer.

    Only the logits of completions are computed: over a vocabulary of 50 000 and more, those of the
    prompts would take more time and memory than the rest of a small model.

    Parameters
    ----------
    recipe
        How it learns.
    note
        Told what takes long.

    Attributes
    ----------
    tokenizer
        Of the base.
    device
        Where it computes.

    Raises
    ------
    MissingExtraError
        When a package of the extra `train` is missing.
    SettingError
        When the base, the device or a module that the recipe names is not there.
    """

    def __init__(self, recipe: Recipe, note: Callable[[str], None] | None = None):
        try:
            import peft
            import torch
            import transformers
        except ImportError as error:
            raise MissingExtraError(error.name or "torch", "train") from None
        torch.manual_seed(recipe.seed)  # before the adapter's first weights are drawn
        self.device = device_of(recipe.device)
        self._bf16 = recipe.precision == "bf16"
        self._packed = recipe.packing
        transformers.utils.logging.disable_progress_bar()  # progress is told by whoever calls
        folder = base_folder(recipe.base, note)
        try:
            self.tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
            base = transformers.AutoModelForCausalLM.from_pretrained(
                folder, **self._loading(recipe, transformers)
            )
        except (OSError, ValueError) as error:
            raise SettingError(
                f"the base model cannot be loaded: {error}",
                where=Where(field="base"),
                remedy="name a causal language model that transformers knows",
            ) from None
        if not _quantized(recipe):
            base.to(self.device)
        base.config.use_cache = False
        if recipe.gradient_checkpointing:
            base.gradient_checkpointing_enable({"use_reentrant": False})
        self.model = self._adapted(base, recipe, peft)
        self._weights = [each for each in self.model.parameters() if each.requires_grad]
        self._optimizer = torch.optim.AdamW(
            self._weights, lr=recipe.learning_rate, weight_decay=0.0
        )

    def _loading(self, recipe: Recipe, transformers: Any) -> dict[str, Any]:
        import torch

        kind = torch.bfloat16 if self._bf16 else torch.float32
        if not _quantized(recipe):
            return {"dtype": kind}
        if not self.device.startswith("cuda"):
            raise SettingError(
                "4 bits take a GPU, and torch finds none here",
                where=Where(field="quantization"),
                remedy="leave `quantization` out, or install a build of torch with CUDA",
            )
        try:
            import bitsandbytes  # type: ignore[import-not-found,unused-ignore]  # noqa: F401
        except ImportError:
            raise MissingExtraError("bitsandbytes", "train") from None
        config = transformers.BitsAndBytesConfig(
            load_in_4bit=True,
            bnb_4bit_quant_type="nf4",
            bnb_4bit_use_double_quant=True,
            bnb_4bit_compute_dtype=kind,
        )
        return {"dtype": kind, "quantization_config": config, "device_map": {"": self.device}}

    def _adapted(self, base: Any, recipe: Recipe, peft: Any) -> Any:
        lora = recipe.lora
        count = base.config.num_hidden_layers
        layers = None if lora.layers is None else list(range(max(0, count - lora.layers), count))
        config = peft.LoraConfig(
            r=lora.rank,
            lora_alpha=lora.alpha,
            lora_dropout=lora.dropout,
            target_modules=list(lora.targets),
            layers_to_transform=layers,
            task_type="CAUSAL_LM",
        )
        try:
            # The adapter's weights are float32 whatever the base's are: small steps do not vanish.
            return peft.get_peft_model(base, config, autocast_adapter_dtype=True)
        except ValueError as error:
            raise SettingError(
                f"no adapter fits: {error}",
                where=Where(field="lora.targets"),
                remedy="name linear modules of the base, such as q_proj and v_proj",
            ) from None

    def step(self, batches: Sequence[Sequence[Encoded]], rate: float) -> tuple[float, int]:
        """One step over several batches; loss a learned token, and all tokens that were read.

        Raises
        ------
        FloatingPointError
            When the loss is no number: such a step would spoil the adapter, and is not done.
        """
        import torch

        self.model.train()
        for group in self._optimizer.param_groups:
            group["lr"] = rate
        # The mean over all tokens of the step, however they are spread over the batches.
        learned = sum(len(each.completion) for batch in batches for each in batch)
        total = 0.0
        self._optimizer.zero_grad()
        for examples in batches:
            loss = self._loss(self._collated(examples)) / learned
            loss.backward()
            total += loss.item()
        norm = torch.nn.utils.clip_grad_norm_(self._weights, _LONGEST_GRADIENT)
        if not torch.isfinite(norm) or total != total:
            raise FloatingPointError("the loss is no number")
        self._optimizer.step()
        return total, sum(len(each) for batch in batches for each in batch)

    def validation(self, examples: Sequence[Encoded], size: int) -> float:
        """Mean loss a learned token, over all of them; nothing is learned."""
        import torch

        self.model.eval()
        total = 0.0
        with torch.no_grad():
            for batch in in_order_of_length(examples, size):
                total += self._loss(self._collated(batch)).item()
        return total / sum(len(each.completion) for each in examples)

    def _collated(self, examples: Sequence[Encoded]) -> Batch:
        filler = self.tokenizer.pad_token_id
        filler = self.tokenizer.eos_token_id if filler is None else filler
        return collated(examples, filler, packed=self._packed)

    def _loss(self, batch: Batch) -> torch.Tensor:
        """Sum over the learned tokens."""
        import torch

        base = self.model.get_base_model()
        labels = batch.labels.to(self.device)[:, 1:]
        learned = labels != IGNORED
        with self._computing():
            hidden = base.base_model(
                input_ids=batch.ids.to(self.device),
                attention_mask=None if batch.mask is None else batch.mask.to(self.device),
                position_ids=batch.places.to(self.device),
                use_cache=False,
            ).last_hidden_state
            logits = base.get_output_embeddings()(hidden[:, :-1][learned])
        return torch.nn.functional.cross_entropy(logits.float(), labels[learned], reduction="sum")

    def _computing(self) -> AbstractContextManager[Any]:
        import torch

        kind = self.device.partition(":")[0]
        found: AbstractContextManager[Any]
        found = torch.autocast(kind, dtype=torch.bfloat16, enabled=self._bf16)
        return found

    def adapter(self) -> dict[str, torch.Tensor]:
        """A copy of the adapter's weights."""
        import peft

        kept = peft.get_peft_model_state_dict(self.model, save_embedding_layers=False)
        return {name: weight.detach().cpu().clone() for name, weight in kept.items()}

    def set_adapter(self, weights: dict[str, torch.Tensor]) -> None:
        """Take weights that `adapter` gave."""
        import peft

        peft.set_peft_model_state_dict(self.model, weights)

    def tensors(self) -> dict[str, Any]:
        """What a checkpoint needs beside figures: adapter, optimizer, random numbers."""
        import torch

        on_gpu = torch.cuda.get_rng_state_all() if self.device.startswith("cuda") else []
        return {
            "adapter": self.adapter(),
            "optimizer": self._optimizer.state_dict(),
            "random": torch.get_rng_state(),
            "random_gpu": on_gpu,
        }

    def restore(self, kept: dict[str, Any]) -> None:
        """Go back to what `tensors` gave."""
        import torch

        self.set_adapter(kept["adapter"])
        self._optimizer.load_state_dict(kept["optimizer"])
        torch.set_rng_state(kept["random"])
        if kept["random_gpu"] and self.device.startswith("cuda"):
            torch.cuda.set_rng_state_all(kept["random_gpu"])

    def save(self, folder: Path) -> None:
        """Adapter and tokenizer, as peft and transformers load them."""
        self.model.save_pretrained(folder, save_embedding_layers=False)
        self.tokenizer.save_pretrained(folder)

    def memory(self) -> int | None:
        """Most bytes of the GPU that were taken; None on a CPU."""
        import torch

        if not self.device.startswith("cuda"):
            return None
        return int(torch.cuda.max_memory_allocated())


def _quantized(recipe: Recipe) -> bool:
    return recipe.quantization != "none"
