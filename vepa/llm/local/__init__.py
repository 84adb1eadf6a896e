"""Language models on this machine: where a base lies, and how its chat becomes tokens."""

from vepa.llm.local.bases import PACKAGED, base_folder
from vepa.llm.local.chat import completion_ids, prompt_ids

__all__ = ["PACKAGED", "base_folder", "completion_ids", "prompt_ids"]
