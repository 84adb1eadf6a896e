"""What a small local model is shown of a trace, and the form of what it answers."""

from vepa.parsing.lora.chat import KINDS, Kind, answer_of, event_answer, prompt_of, verdict_answer
from vepa.parsing.lora.shortening import LEAST_TOKENS, Shown, shorten
from vepa.parsing.lora.tokenizing import Approximate, Tokenizer, open_tokenizer

__all__ = [
    "KINDS",
    "LEAST_TOKENS",
    "Approximate",
    "Kind",
    "Shown",
    "Tokenizer",
    "answer_of",
    "event_answer",
    "open_tokenizer",
    "prompt_of",
    "shorten",
    "verdict_answer",
]
